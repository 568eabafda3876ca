"""The catalogue of known bugs: one TOML file a part, see docs/known-bugs.md.

A bug serves three times: as proof that the tests catch it, as a signature by which a submission
that computes the same is told so, and as documentation.
"""

from .bug import Bug, Text
from .catalogue import CatalogueProblem, all_bugs, bug_named
from .patch import PatchProblem, patched_modules
from .variant import Conflict, Variant, make_variant, noting_calls

__all__ = [
    "Bug",
    "CatalogueProblem",
    "Conflict",
    "PatchProblem",
    "Text",
    "Variant",
    "all_bugs",
    "bug_named",
    "make_variant",
    "noting_calls",
    "patched_modules",
]
