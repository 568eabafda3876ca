# Generated from solution/serving.py by `make assignment`; a change belongs there.
"""Part 12: many requests, one cache: each gets the logits that it would get alone.

Rows of different length are packed one behind the other, (1, N, d), and not padded: everything but
attention treats each token alone, and attention runs row by row over what the row's sequence holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .paged_cache import PagedKVCache
from .rope import apply_rope
from .transformer import Transformer


def ragged_prefill(
    model: Transformer, rows: Sequence[np.ndarray], cache: PagedKVCache, sequences: Sequence[int]
) -> np.ndarray:
    """Run prompts of different length, append their keys and values, return each one's last logits.

    A sequence that already holds positions is continued: the first token of its row takes position
    cache.length(sequence), so a long prompt can be read in chunks. Whatever a batch is made of, no
    row sees another's tokens, nor any padding.

    Args:
        rows: int (T_i,), T_i >= 1, one for each of `sequences`.
        sequences: R different numbers that `cache` gave.

    Returns:
        Logits (R, V).

    Raises:
        ValueError: the cache has too few free blocks.

    Source: Yu et al. 2022 §4 (selective batching); Agrawal et al. 2023 §4 (chunked prefill).
    """
    raise NotImplementedError("Part 12.2 ragged_prefill: see PART12.md §12.2")


def ragged_decode_step(
    model: Transformer, tokens: np.ndarray, cache: PagedKVCache, sequences: Sequence[int]
) -> np.ndarray:
    """Run one new token of each sequence, whatever its length: positions differ from row to row.

    Args:
        tokens: int (R,), row r at position cache.length(sequences[r]).
        sequences: R different numbers that `cache` gave.

    Returns:
        Logits (R, V) for the tokens after them.

    Raises:
        ValueError: the cache has too few free blocks.

    Source: Yu et al. 2022 §4.
    """
    raise NotImplementedError("Part 12.3 ragged_decode_step: see PART12.md §12.3")


def speculative_step(
    model: Transformer, token: int, draft: np.ndarray, cache: PagedKVCache, sequence: int
) -> list[int]:
    """Check a draft of k tokens in one forward, keep what greedy decode would have made.

    Args:
        token: the newest token of the sequence, not yet in the cache.
        draft: int (k,), k >= 1: what somebody guesses to come after it.

    Returns:
        The tokens that greedy decode makes after `token`: those of the draft up to the first wrong
        one, and the one that belongs behind them; 1 to k + 1. The cache then holds all but the last
        of them, `token` included, and nothing of the draft that was wrong.

    Raises:
        ValueError: the cache has too few free blocks for 1 + k positions.

    Source: Leviathan et al. 2023 §2; Stern et al. 2018 §3.
    """
    raise NotImplementedError("Part 12.5 speculative_step: see PART12.md §12.5")


class Engine:
    """Greedy decoding of many requests that come and go, step by step (continuous batching).

    Attributes:
        running: numbers of the requests that hold blocks, in the order of their admission.
        waiting: numbers of those that do not, first in line first.

    Source: Yu et al. 2022 §3-4; Kwon et al. 2023 §4.5; Agrawal et al. 2023 §4.
    """

    def __init__(
        self, model: Transformer, cache: PagedKVCache, token_budget: int, max_running: int
    ) -> None:
        """An engine without requests; `cache` is empty and used by nobody else.

        Args:
            token_budget: how many tokens a step runs through the model at most.
            max_running: how many requests run at the same time at most.

        Raises:
            ValueError: token_budget is less than max_running, so that not all could decode.
        """
        raise NotImplementedError("Part 12.4 Engine.__init__: see PART12.md §12.4")

    def submit(self, prompt: np.ndarray, max_new_tokens: int, eos: int | None = None) -> int:
        """Put a request at the end of the line; its number: 0, 1, 2, …

        Args:
            prompt: int (T,), T >= 1.
            max_new_tokens: it ends with that many tokens made, 1 or more, ...
            eos: ... or with this token, which counts as made.

        Raises:
            ValueError: even alone it would not fit into the cache.
        """
        raise NotImplementedError("Part 12.4 Engine.submit: see PART12.md §12.4")

    def tokens(self, request: int) -> list[int]:
        """The tokens made for a request so far, also after its end."""
        raise NotImplementedError("Part 12.4 Engine.tokens: see PART12.md §12.4")

    def cancel(self, request: int) -> None:
        """End a request that is running or waiting; its blocks are free at once.

        Raises:
            ValueError: it has ended.
        """
        raise NotImplementedError("Part 12.4 Engine.cancel: see PART12.md §12.4")

    def fork(self, request: int, token: int) -> int:
        """A second request with the same text, but `token` in place of the newest one.

        It runs from now on as the last admitted, ends as the first one would, and shares the blocks
        of what both have read.

        Raises:
            ValueError: the request is not running or has made no token yet, or max_running are
                running.
        """
        raise NotImplementedError("Part 12.4 Engine.fork: see PART12.md §12.4")

    def step(self) -> tuple[list[int], np.ndarray]:
        """Run the model once; each request whose whole text has been read makes a token (argmax).

        What is run is chosen in this order, and never more than token_budget tokens:

        1. each running request with one token left to read, which most have: that token;
        2. each other running one, in the order of admission: its next chunk, as much as is left of
           the budget;
        3. while budget is left, fewer than max_running run, nobody was preempted in this step, and
           the blocks that are still free hold its whole text: the first in line is admitted, with
           its first chunk.

        Where blocks run out in 1 or 2, the youngest (the last admitted) is preempted until they
        suffice: its blocks are free, it goes to the head of the line, and once it is admitted again
        its prompt and the tokens that it has made are read anew. Who ends gives its blocks back in
        the same step.

        Returns:
            The requests that made a token, and the logits (R, V) that each made it by.
        """
        raise NotImplementedError("Part 12.4 Engine.step: see PART12.md §12.4")
