"""The text a real model writes with a submission's decode; see assignment.harness.real_text.

Nothing is graded here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assignment.harness.real_text import greedy, right_text, text_of


@dataclass(frozen=True)
class PublicText:
    """What the reference writes after the prompt, and how to write it with other functions."""

    tokenizer: Path
    expected: str

    def of(self, student: Any, config: dict, params: Any) -> str:
        """Greedy text of a student's prefill and decode_step; "" where it breaks off or is slow."""
        try:
            return self.decode(greedy(student, config, params))
        except Exception:  # whatever a submission raises: its tests have told about that already
            return ""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids, the prompt before it."""
        return text_of(self.tokenizer, tokens)


def prepare(folder: Path) -> PublicText | None:
    """The public text of the model in `folder`, or None without the package tokenizers."""
    if find_spec("tokenizers") is None:
        return None
    tokenizer = folder / "tokenizer.json"
    return PublicText(tokenizer, text_of(tokenizer, right_text().tokens))
