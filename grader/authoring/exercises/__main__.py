"""Write golden/answers.json; with --check only say whether it is stale (exit code 1)."""

import sys

from . import ANSWERS_FILE, all_questions, is_stale, write


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        stale = is_stale()
        if stale:
            print(f"golden/{ANSWERS_FILE.name} is stale: run python -m grader.authoring.exercises")
        return int(stale)
    write()
    print(f"golden/{ANSWERS_FILE.name}: {len(all_questions())} numbers")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
