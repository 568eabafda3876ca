"""The catalogue of known bugs: one small file each, found by name.

A bug serves three times: as proof that the tests catch it, as a signature by which a submission
that computes the same is told so, and as documentation.
"""

from .bug import Bug, Text
from .catalogue import all_bugs, bug_named
from .variant import Variant, make_variant

__all__ = ["Bug", "Text", "Variant", "all_bugs", "bug_named", "make_variant"]
