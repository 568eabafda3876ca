"""Writes the comparison as pages: index.html with the ranking, one page a pair."""

from pathlib import Path

from grader.base.errors import GraderError
from grader.reports.pages.pages import render
from grader.reports.pages.place import require_own_folder, write_page
from grader.reports.similar.compare import Comparison
from grader.reports.similar.fingerprints import GRAM
from grader.reports.similar.passages import shared_pieces
from grader.reports.similar.ranking import Pair

STYLES, SCRIPTS = ("similar.css",), ()
# Tells a folder of ours, whose old pages may be removed, from any other.
MARKER = ".grader-similar"


def write_pages(comparison: Comparison, out: Path) -> Path:
    """Write the pages to the folder `out`, replacing earlier ones; returns the path of index.html.

    Raises:
        GraderError: `out` holds other things, or cannot be written.
    """
    require_own_folder(out, MARKER, "comparison")
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MARKER).touch()
        for old in out.glob("pair-*.html"):
            old.unlink()
        rare = comparison.rare()
        for rank, pair in enumerate(comparison.pairs, start=1):
            write_page(out / _page(rank), _pair_page(comparison, pair, rank, rare))
        write_page(out / "index.html", _index_page(comparison))
    except OSError as problem:
        raise GraderError(
            f"The pages cannot be written to {out}/: {problem.strerror or problem}."
        ) from None
    return out / "index.html"


def _page(rank: int) -> str:
    return f"pair-{rank:03d}.html"


def _percent(pair: Pair) -> int:
    # Rounded down: 100 % is kept for what is shared whole.
    return int(100 * pair.score + 1e-6)


def _index_page(comparison: Comparison) -> str:
    n_students = len(comparison.texts)
    rows = [
        {
            "page": _page(rank),
            "first": comparison.texts[pair.first].student,
            "second": comparison.texts[pair.second].student,
            "percent": _percent(pair),
            "shared": pair.shared,
            "only_these": pair.only_these,
        }
        for rank, pair in enumerate(comparison.pairs, start=1)
    ]
    return render(
        "similar.html.j2",
        STYLES,
        SCRIPTS,
        rows=rows,
        problems=comparison.problems,
        n_students=n_students,
        n_pairs=f"{n_students * (n_students - 1) // 2:,}",
        gram=GRAM,
    )


def _pair_page(comparison: Comparison, pair: Pair, rank: int, rare: frozenset[bytes]) -> str:
    prints = comparison.prints
    sides = [
        {
            "student": comparison.texts[own].student,
            "pieces": shared_pieces(comparison.texts[own].code, prints[own], prints[other], rare),
        }
        for own, other in ((pair.first, pair.second), (pair.second, pair.first))
    ]
    return render(
        "pair.html.j2",
        STYLES,
        SCRIPTS,
        first=sides[0],
        second=sides[1],
        rank=rank,
        percent=_percent(pair),
        shared=pair.shared,
        only_these=pair.only_these,
        gram=GRAM,
    )
