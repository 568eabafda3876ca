"""`python -m examples OUT`: write the whole sample class, correct and wrong, into a folder."""

import sys
from pathlib import Path

from grader.authoring.sample_class import write_class
from grader.base.errors import GraderError


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("python -m examples OUT writes the sample class into OUT, an empty or new folder.")
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        folder = write_class(Path(arguments[0]))
    except (GraderError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2
    print(f"{len(list(folder.iterdir()))} submissions in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
