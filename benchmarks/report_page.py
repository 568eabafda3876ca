"""How long `grader report` takes for a large class, and how soon its class page is open.

    python benchmarks/report_page.py [--students 900] [--runs 5]

The records are made up, 138 tests each. "Open" is the time from the start of the navigation to the
first frame after the page's load event, by the page's own clock, in a fresh headless Chromium.
Promised for 900 students: at most 2 s and 3 MB.
"""

import argparse
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from report_support import dump_dom, make_class

from grader.grades.policy_file import Policy
from grader.reports.pages.site import build_report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=900)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_class(folder / "results", options.students)
        started = time.perf_counter()
        site = build_report(folder / "results", folder / "report", Policy.load())
        seconds = time.perf_counter() - started
        print(f"{options.students} students: report written in {seconds:.1f} s")
        print(f"index.html: {site.index.stat().st_size / 1e6:.2f} MB")
        pages = [path.stat().st_size for path in (folder / "report" / "students").iterdir()]
        print(f"a student's page: {statistics.median(pages) / 1e3:.0f} kB")
        opened = [_open_ms(site.index) for _ in range(options.runs)]
        print(f"open after (ms): median {statistics.median(opened):.0f}, all {sorted(opened)}")


def _open_ms(page: Path) -> int:
    for _ in range(10):
        html, _ = dump_dom(page, "", "--timeout=10000")
        # The browser may write the document out before the frame that is waited for.
        if found := re.search(r'data-opened-ms="(\d+)"', html):
            return int(found[1])
    sys.exit("The page did not say when it was open; see the browser's log.")


if __name__ == "__main__":
    main()
