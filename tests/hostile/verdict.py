"""Compares the record of a submission with what the corpus says of it."""

from grader.base.notes import in_words
from grader.results.record import SubmissionResult, TestResult

from .attack import Attack

MARKER = "GOT IT"  # what a submission prints that got what it was after


def problems(attack: Attack, result: SubmissionResult) -> list[str]:
    """Where the record differs from the verdict, in words; none when all is well."""
    found = []
    if result.state not in attack.state.split(" or "):
        found.append(f"state {result.state}, expected {attack.state}: {result.reason}")
    told = told_by(result)
    found += [f"nowhere said: {words!r}" for words in attack.says if words not in told]
    if MARKER in told:
        at = told.index(MARKER)
        found.append(f"an attempt succeeded: {told[at : at + 200]!r}")
    if attack.state != "missing":
        found += _points(attack, result)
    elif result.total or not result.tests:
        found.append("a missing submission has points, or no list of tests")
    return found


def told_by(result: SubmissionResult) -> str:
    """Every text of a record that a submission can influence."""
    tests = [text for test in result.tests for text in (test.message, test.own_message)]
    facts = [diagnosis.fact for diagnosis in result.diagnoses]
    notes = [in_words(note) for note in result.notes]
    return "\n".join([result.reason, *tests, *facts, *notes, result.output_tail])


def _points(attack: Attack, result: SubmissionResult) -> list[str]:
    found = []
    sections = {test.section for test in result.tests}
    for section in sorted(sections):
        earned, most = _sum(result.tests, section)
        allowed = _fraction(attack, section)
        if any(_is_in(section, name) for name in attack.full):
            if earned != most:
                lost = [t for t in result.tests if t.section == section and t.points < t.max_points]
                words = "; ".join(f"{t.id}: {t.message[:200]}" for t in lost[:3])
                found.append(f"section {section} has {earned} of {most} points: {words}")
        elif earned > allowed * most:
            right = [t.id for t in result.tests if t.section == section and t.points]
            limit = f"at most {allowed:.0%} of {most}"
            found.append(f"section {section} has {earned} points, {limit} expected: {right}")
    names = {t.id.partition("::")[2].partition("[")[0] for t in result.tests if t.points}
    found += [f"{name} has points" for name in attack.lost if name in names]
    return found


def _sum(tests: tuple[TestResult, ...], section: str) -> tuple[float, float]:
    of_section = [test for test in tests if test.section == section]
    return sum(t.points for t in of_section), sum(t.max_points for t in of_section)


def _fraction(attack: Attack, section: str) -> float:
    fits = [most for name, most in attack.some.items() if _is_in(section, name)]
    return max(fits, default=0.0)


def _is_in(section: str, name: str) -> bool:
    """Whether a section is the named one or one of the named part: "11.1" is not in "1"."""
    return f"{section}.".startswith(f"{name}.")
