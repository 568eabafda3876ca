"""GIVEN: runs the tests again on each save, and shows where you are.

    python -m assignment.watch

Keys: h shows the next hint, a runs all parts, q quits. It is faster with fork, so not on Windows,
and nicer with `pip install rich watchfiles`.
"""

from __future__ import annotations

import sys

from .harness.watch.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
