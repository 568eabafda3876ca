"""What people decided, as sections of a student's page: their words, and the written answers."""

from assignment.harness.page.document import listed, section
from assignment.harness.page.markup import Child, Element, element
from assignment.harness.page.sections import of_all
from grader.authoring.in_words import questions
from grader.base.words import language, tr
from grader.grades.judgement import decision_in_words
from grader.grades.policy import Answer, Score


def decided_by_people(score: Score) -> list[Child]:
    """The sections; nobody's name is in them."""
    said = [decision_in_words(decided, with_name=False) for decided in score.judged]
    return [
        section("judged", tr("What your instructor decided"), listed(said)) if said else None,
        _written(score.written.answers) if score.written else None,
    ]


def _written(answers: tuple[Answer, ...]) -> Element:
    if all(answer.points is None for answer in answers):
        none = tr("None of your written answers is marked so far.")
        return section("written", tr("Written answers"), element("p", none))
    asked = {
        question.id: (number, question.zh if language() == "zh" else question.en)
        for number, question in enumerate(questions(), start=1)
    }
    rows = [_row(answer, *asked[answer.question]) for answer in answers if answer.question in asked]
    head = element(
        "thead",
        element(
            "tr",
            element("th", tr("Question"), scope="col"),
            element("th", tr("Points"), scope="col", class_="number"),
        ),
    )
    table = element("table", head, element("tbody", rows), class_="tests")
    return section("written", tr("Written answers"), table)


def _row(answer: Answer, number: int, asked: str) -> Element:
    told = element("div", answer.comment, class_="small muted") if answer.comment else None
    if answer.points is None:
        earned: Child = tr("not marked")
    else:
        earned = of_all(answer.points, answer.max_points)
    lost = answer.points is not None and answer.points < answer.max_points
    return element(
        "tr",
        element("th", f"{number}. {asked}", told, scope="row"),
        element("td", earned, class_="number lost" if lost else "number"),
    )
