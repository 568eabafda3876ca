"""Run by the tree that makes the homework: lays out one section of it in a folder.

    python lay_out.py variants|hostile FOLDER OUT

`OUT` is where the results of the hostile corpus will be: some of it would write there.
"""

import sys
from pathlib import Path


def variants(folder: Path, out: Path) -> None:
    """Each correct variant as a submission of its own."""
    from tests.test_correct_variants import VARIANTS, handed_in, write

    for name in VARIANTS:
        write(handed_in((name,)), folder / name)


def hostile(folder: Path, out: Path) -> None:
    """Every attack, and honest submissions beside them."""
    from tests.hostile import arena

    arena.lay_out(folder, out)


if __name__ == "__main__":
    {"variants": variants, "hostile": hostile}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
