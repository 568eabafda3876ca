"""`python -m grader`."""

import sys
from pathlib import Path


def _trust_only_our_folder() -> None:
    """Take the current folder off the import path unless it is the project's own.

    `python -m` puts it first: run in a class folder, a student's numpy.py would be imported here.
    """
    home = Path(__file__).resolve().parents[1]
    sys.path[:] = [
        entry
        for entry in sys.path
        if Path(entry).resolve() == home or Path(entry).resolve() != Path.cwd().resolve()
    ]


if __name__ == "__main__":
    _trust_only_our_folder()
    from grader.cli.main import main

    main()
