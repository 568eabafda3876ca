"""The README's pictures: `make pictures`, or `python docs/site/pictures.py [RESULTS]`.

Each is taken of the real thing, in headless Chromium: a student's terminal after `pytest
assignment/` on a submission of the sample class, the page of that class, and a page of the
playground. RESULTS are the class's, if it was graded before. PNG files in docs/pictures/.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import make_site
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from grader.authoring.sample_class import write_class
from grader.grades.policy_file import Policy
from grader.reports.pages.site import build_report

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs" / "pictures"
STUDENT = "bug-position-zero"
LINES = 35  # of the terminal
GROUND, INK, RED, GREEN = (20, 23, 27), (231, 233, 235), (240, 123, 116), (140, 190, 130)
THEME = TerminalTheme(GROUND, INK, [GROUND, RED, GREEN, *[INK] * 5])
TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #14171b; color: #e7e9eb; padding: 22px 26px; font-size: 15px; }}
pre {{ margin: 0; font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
{stylesheet}</style><pre>$ pytest assignment/
{code}</pre>"""


def main(arguments: list[str]) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        sys.exit("Chromium is not installed, and the pictures are taken with it.")
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        write_class(work / "class")
        results = Path(arguments[0]) if arguments else graded(work)
        build_report(results, work / "report", Policy.load(None))
        _photograph(browser, terminal(work), "terminal", 1064, 706)
        _photograph(
            browser, f"{(work / 'report' / 'index.html').as_uri()}#heat", "class", 1280, 590
        )
        _photograph(browser, playground_page(work), "playground", 1280, 985)


def graded(work: Path) -> Path:
    """The results of the sample class."""
    command = [sys.executable, "-m", "grader", "run", work / "class", "--results", work / "results"]
    subprocess.run(command, check=True)
    return work / "results"


def terminal(work: Path) -> str:
    """What a student with one bug reads, as a page."""
    shutil.copytree(ROOT / "assignment", work / "assignment")
    for file in (work / "class" / STUDENT).glob("*.py"):
        shutil.copy(file, work / "assignment")
    command = [sys.executable, "-m", "pytest", "assignment/", "--color=yes"]
    words = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "112"}
    done = subprocess.run(command, cwd=work, env=words, capture_output=True, text=True)
    console = Console(record=True, width=112, file=(work / "log").open("w"))
    console.print(Text.from_ansi("\n".join(done.stdout.splitlines()[:LINES])))
    page = work / "terminal.html"
    page.write_text(console.export_html(theme=THEME, code_format=TERMINAL), encoding="utf-8")
    return page.as_uri()


def playground_page(work: Path) -> str:
    """Prefill and decode, with a bug, in the fifth step."""
    make_site.build(ROOT, work / "site")
    return f"{(work / 'site' / 'play-decode.html').as_uri()}#step=5&bug=%22position%22"


def _photograph(browser: str, address: str, name: str, width: int, height: int) -> None:
    with tempfile.TemporaryDirectory() as profile:
        frame = Path(profile) / "frame.html"  # in which the page can be scrolled to its anchor
        frame.write_text(
            "<!doctype html><style>body { margin: 0 } iframe { border: 0 }</style>"
            f'<iframe src="{address}" width="{width}" height="{height}"></iframe>',
            encoding="utf-8",
        )
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--virtual-time-budget=4000",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            f"--screenshot={OUT / name}.png",
            frame.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    print(OUT / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
