"""Libraries that take seconds to import and that few tests need: imported where one uses them.

Every process of a test run collects all files; what no test of its share asks for stays unread.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

import pytest


def late(name: str, reason: str = "") -> Any:
    """The module `name`, imported when it is first asked for something.

    Skips the file that calls this where the module's library is not installed; says why in one
    line, `reason`.
    """
    library = name.partition(".")[0]
    if find_spec(library) is None:
        pytest.skip(reason or f"{library} is not installed", allow_module_level=True)
    return _Late(name)


class _Late:
    """Stands for a module, to read from; monkeypatch is given the module's name instead."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest looks for its own marks on all that a file holds
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)
