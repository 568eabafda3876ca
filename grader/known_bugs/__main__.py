"""python -m grader.known_bugs: the catalogue, by part."""

from assignment.harness.parts import PART_BY_NUMBER

from . import all_bugs


def main() -> None:
    part = 0
    for bug in all_bugs():
        if bug.part != part:
            part = bug.part
            print(f"\nPart {part}: {PART_BY_NUMBER[part].title}")
        cites = f"  [{', '.join(bug.cites)}]" if bug.cites else ""
        print(f"  {bug.name:36} {bug.summary.en}{cites}")


if __name__ == "__main__":
    main()
