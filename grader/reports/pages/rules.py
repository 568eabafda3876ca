"""A policy in sentences, for the class page."""

from grader.base.words import tr, tr_n
from grader.grades.policy import days_text
from grader.grades.policy_file import Policy


def policy_in_words(policy: Policy) -> list[tuple[str, str]]:
    """The rules that made the scores, each in a sentence."""
    counts = {
        "best": tr("Of several attempts of one student, the best counts."),
        "last": tr("Of several attempts of one student, the last counts."),
    }
    shown = {
        "scores": tr("Students see title, points and state of hidden tests, never a message."),
        "nothing": tr("Students see nothing of hidden tests; sums contain their points."),
    }
    again = tr("Work handed in again is another attempt.")
    attempts = [counts[policy.attempts], *([again] if policy.resubmissions == "attempt" else [])]
    return [
        (tr("Attempts"), tr(" ").join(attempts)),
        *_total_in_words(policy),
        *_written_in_words(policy),
        *_late_in_words(policy),
        *_minimum_in_words(policy),
        (tr("Hidden tests"), shown[policy.visibility.hidden]),
        (tr("Rounding"), tr("{n} digits after the point, halves up.", n=policy.decimals)),
    ]


def _total_in_words(policy: Policy) -> list[tuple[str, str]]:
    if policy.total is None:
        return []
    return [(tr("Total"), tr("All parts are scaled to {n:g} points.", n=policy.total))]


def _written_in_words(policy: Policy) -> list[tuple[str, str]]:
    if policy.written:
        return []
    return [(tr("Written answers"), tr("They do not count."))]


def _late_in_words(policy: Policy) -> list[tuple[str, str]]:
    late = policy.late
    if late.due is None:
        return [(tr("Lateness"), tr("There is no due date: nothing is late."))]
    rules = [(tr("Due"), tr("{moment}.", moment=late.shown(late.aware(late.due))))]
    if late.grace_minutes:
        time = days_text(late.grace_minutes / 1440)
        rules.append((tr("Grace"), tr("Up to {time} are not late.", time=time)))
    if late.percent_per_day:
        of = {"score": tr("the score"), "maximum": tr("the maximum")}[late.percent_of]
        rule = tr(
            "{percent:g} % of {of} for each day begun, at most {cap:g} %.",
            percent=late.percent_per_day,
            of=of,
            cap=late.cap_percent,
        )
        rules.append((tr("Lateness"), rule))
    if late.drop_dead:
        moment = late.shown(late.aware(late.drop_dead))
        rules.append((tr("Last date"), tr("From {moment} on, 0.", moment=moment)))
    if n := len(policy.due_of):
        has = tr_n(n, "1 student has one.", "{n} students have one.")
        rules.append((tr("Extensions"), has))
    return rules


def _minimum_in_words(policy: Policy) -> list[tuple[str, str]]:
    minimum = policy.minimum
    if not minimum.parts:
        return []
    needed = tr(", ").join(
        tr("part {part}: {percent:g} %", part=part, percent=percent)
        for part, percent in sorted(minimum.parts.items())
    )
    if minimum.otherwise == "cap":
        rule = tr(
            "{needed}; else the total counts at most {cap:g} %.",
            needed=needed,
            cap=minimum.cap_percent,
        )
    else:
        rule = tr("{needed}; else a note says so.", needed=needed)
    return [(tr("Minimum"), rule)]
