"""Part 11's numbers: read without guessing, judged by their digits, stored without a spoiler."""

from __future__ import annotations

import json
import math
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import solution.exercises
from assignment.harness import exercises as harness
from assignment.harness import words
from assignment.harness.compare import Mismatch
from assignment.harness.exercises import (
    ANSWERS_FILE,
    check_answer,
    explanation,
    questions,
    what_is_wrong,
)
from assignment.harness.parts import PARTS
from assignment.harness.plugin import whole_parts
from assignment.harness.quantity import MAX_TEXT, Unreadable, read, shown
from assignment.harness.student import NotStarted, Student
from assignment.harness.units import UNITS
from grader.authoring import exercises
from grader.authoring.exercises import FORMULAS, all_questions
from grader.authoring.exercises import questions as questions_file
from grader.authoring.in_words import questions as questions_in_words
from grader.authoring.skeleton import ASSIGNMENT

PART = next(part for part in PARTS if part.module == "exercises")
BY_NAME = {question.name: question for question in all_questions()}
TESTS = (ASSIGNMENT / "test_part11_exercises.py").read_text(encoding="utf-8")
CHINESE = re.compile("[\u4e00-\u9fff]")
BASE_UNIT = {"FLOP": "FLOP"}


def verdict(name: str, answer: object) -> str | None:
    """What a student is told; None: right."""
    try:
        return what_is_wrong(questions()[name], answer)
    except Unreadable as problem:
        return str(problem)


def written(name: str, value: float, digits: int = 7) -> str:
    """A value as an answer in the base unit."""
    return f"{value:.{digits - 1}e} {BASE_UNIT.get(BY_NAME[name].kind, '')}"


class Answers:
    """A backend whose functions return these."""

    def __init__(self, answers: dict[str, object]) -> None:
        self._answers = answers

    def call(self, name: str, args: tuple, kwargs: dict):
        if name not in self._answers:
            raise NotImplementedError(f"{name} is a stub")
        return self._answers[name], []


# --- the questions --------------------------------------------------------------------------------


def test_functions_and_tests_agree():
    assert {*BY_NAME, *FORMULAS} == {*PART.functions} and tuple(BY_NAME) == tuple(questions())
    assert tuple(BY_NAME) == tuple(name for name in PART.functions if name in BY_NAME)
    tested = re.findall(r'check_answer\(student, "(\w+)"\)|oracle\("exercises/(\w+)"\)', TESTS)
    assert tuple(number or formula for number, formula in tested) == PART.functions
    sections = re.findall(r'graded\("([\d.]+)", ([\d.]+)(, once=True)?\)', TESTS)
    assert [s for s, *_ in sections] == [PART.section_of(name) for name in PART.functions]
    assert sum(float(points) for _, points, _ in sections) == 10
    assert [bool(once) for *_, once in sections] == [name in FORMULAS for name in PART.functions]


def test_numbers_that_can_be_found_by_trying_are_worth_little():
    points = dict(re.findall(r'graded\("([\d.]+)", ([\d.]+)', TESTS))
    assert sum(float(points[PART.section_of(name)]) for name in BY_NAME) <= 2


def test_data_and_values_have_the_same_names():
    assert set(questions_file.VALUES) == set(questions_file.read_data("questions"))
    told = {name for values in questions_file.VALUES.values() for name, _ in values.mistakes}
    told |= {name for formula in FORMULAS.values() for name in formula.mistakes}
    assert told == set(questions_file.mistakes()), "a text without a value, or the other way"


@pytest.mark.parametrize("name", BY_NAME)
def test_the_documents_own_answer_is_right(name):
    assert verdict(name, BY_NAME[name].printed) is None


@pytest.mark.parametrize("name", BY_NAME)
def test_the_true_value_and_the_solution_are_right(name):
    value, exact = BY_NAME[name].value, BY_NAME[name].exact
    for digits in (4, 7, 15) if exact else (3, 4, 7, 15):
        assert verdict(name, written(name, value, digits)) is None
    check_answer(Student(Answers({name: getattr(solution.exercises, name)()})), name)


@pytest.mark.parametrize("name", BY_NAME)
def test_each_mistake_is_wrong_and_explained(name):
    for mistake, value in BY_NAME[name].mistakes:
        for language in ("en", "zh"):
            words.speak(language)
            try:
                assert verdict(name, written(name, value)).endswith(explanation(mistake))
            finally:
                words.speak(None)


@pytest.mark.parametrize("name", questions_file.mistakes())
def test_explanations_are_in_both_languages_and_tell_no_answer(name):
    why = questions_file.mistakes()[name]
    assert CHINESE.search(why.zh) and not CHINESE.search(why.en)
    for question in all_questions():
        number = re.match(r"[\d,.]+", question.printed)[0]
        assert not re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d.,]*\d)", why.en)


@pytest.mark.parametrize("name", BY_NAME)
def test_each_stub_alone_is_missed(name):
    """As tests/test_known_bugs.py proves it of the functions with cases."""
    answers = {other: getattr(solution.exercises, other)() for other in BY_NAME}
    del answers[name]
    reached = []
    for other in BY_NAME:
        try:
            check_answer(Student(Answers(answers)), other)
        except NotStarted as stub:
            reached.append((other, stub.function))
    assert reached == [(name, name)]


# --- right and wrong ------------------------------------------------------------------------------

FLOPS, FIRST = "l2_3_einsum_flops", "d3_7_first_of_the_output"


@pytest.mark.parametrize(
    "answer",
    ["80,640 FLOP", "80640", 80640, "8.064e4 flops", "80.64 kFLOP", "8.064 万次", (80.64, "kFLOP"),
     np.float64(80640.0), np.int32(80640), ["80.640", "kFLOP"], "0.080640 MFLOP", "８０６４０"],
)  # fmt: skip
def test_right_answers(answer):
    assert verdict(FLOPS, answer) is None


@pytest.mark.parametrize(
    "answer",
    ["80600 FLOP", "80.6 kFLOP", "8.06e4", "80,650", "80,641", "80640.5", 80639.99999, "80.64001 K",
     "8.0640e4 + 0", "80.7 kFLOP"],
)  # fmt: skip
def test_an_exact_answer_is_compared_exactly(answer):
    assert verdict(FLOPS, answer) is not None


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        (FLOPS, "80600 FLOP", "this answer is compared exactly: every digit counts"),
        (FLOPS, "80.6 kFLOP", "this answer is compared exactly: every digit counts"),
        (FLOPS, 80640.01, "this answer is compared exactly: every digit counts"),
        (FLOPS, "8e4", "too few significant digits: 1, where 3 are asked for\nit is right as far"),
        (FLOPS, "80.64 MFLOP", "the number is right, its unit is not: K, M, G, T, P are powers"),
        (FLOPS, "82,000", "close, within 3 %"),
        (FLOPS, "20160", "too small by a factor of 4"),
        (
            FLOPS,
            "80,640 B",
            '"B" measures a number of bytes; a number of floating-point operations',
        ),
        (FLOPS, "80,640 FLOP/s", '"FLOP/s" measures a speed'),
        (FLOPS, "80,640 km", '"km" is no unit that is known here'),
        (FLOPS, "2e4", "is not the answer"),
        (FLOPS, "777", "no known mistake gives this"),
        (FLOPS, "-80640", "the answer is more than 0"),
        (FIRST, 0.0, "the answer is more than 0"),
        (FIRST, None, "got None (is a return missing?)"),
        (FIRST, np.zeros(3), 'something of type ndarray; a plain number is asked for, as in "36"'),
        (FIRST, "0.65", "close, within 3 %"),
        (FIRST, "6.4", "off by a power of ten"),
        (FIRST, "0.6", "too few significant digits: 1, where 2 are asked for"),
    ],
)
def test_wrong_answers_are_told_what_is_wrong(name, answer, says):
    assert says in verdict(name, answer)


@pytest.mark.parametrize("name", [name for name, q in BY_NAME.items() if not q.exact])
def test_the_true_value_rounded_is_right_and_the_next_number_is_not(name):
    question = BY_NAME[name]
    digits = max(question.digits, 3)
    rounded = f"{question.value:.{digits - 1}e}"
    unit = BASE_UNIT.get(question.kind, "")
    assert verdict(question.name, f"{rounded} {unit}") is None
    mantissa, _, power = rounded.partition("e")
    step = 2 * 10.0 ** (1 - digits)
    for other in (float(mantissa) + step, float(mantissa) - step):
        assert verdict(question.name, f"{other:.{digits - 1}f}e{power} {unit}") is not None


@given(st.floats(1e-6, 1e17), st.integers(1, 15), st.integers(1, 4))
@example(68.625, 4, 3)
@settings(deadline=None)
def test_an_answer_covers_half_a_unit_of_its_last_digit(true, digits, wanted):
    """For any true value, where both can be computed without digests."""
    question = harness.Question(
        "any", "count", wanted, harness.digest("any", harness.place_of(true)), None, {}
    )
    got = read(f"{true:.{digits - 1}e}", "count")
    assert abs(got.value - true) <= got.half_a_digit(wanted) + 1e-12 * true
    if digits >= wanted:
        assert what_is_wrong(question, f"{true:.{digits - 1}e}") is None
    # Two units away, and more than the tolerance, is wrong.
    away = true * 1.0025 + 2 * got.half_a_digit(wanted)
    assert what_is_wrong(question, f"{away:.14e}") is not None


def test_a_message_shows_an_answer_in_one_harmless_line():
    with pytest.raises(Mismatch) as caught:
        check_answer(Student(Answers({FLOPS: "\x1b[2J\n513 KiB\u202e"})), FLOPS)
    assert str(caught.value).splitlines()[0].isprintable()
    assert shown("x" * 10**6) == f'"{"x" * MAX_TEXT}…"'


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("17.44 billion", "FLOP", 17.44e9),
        ("174.4 亿次", "FLOP", 17.44e9),
        ("1.5 万亿", "FLOP", 1.5e12),
        ("6.42e13 FLOP", "FLOP", 6.42e13),
        ("64.2 TFLOP", "FLOP", 6.42e13),
        ("64.2 tflops", "FLOP", 6.42e13),
        ("1,480", "count", 1480),
        ("1 480", "count", 1480),
        ("~1480 次", "FLOP", 1480),
        ("约为 1480 个", "count", 1480),
        ("approximately 1480", "count", 1480),
        ("25_500", "count", 25500),
        ("１，４８０", "count", 1480),
        ("1.5 × 10⁹", "count", 1.5e9),
        ("1.5*10**9", "count", 1.5e9),
        ("1.5 x 10^-3", "count", 1.5e-3),
        (".5", "count", 0.5),
        ("+3", "count", 3),
        ("−3", "count", -3),
    ],
)
def test_numbers_and_units_are_read(text, kind, value):
    assert read(text, kind).value == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "digits", "sure"),
    [("512", 3, 3), ("500", 3, 1), ("0.050", 2, 2), ("1,480", 4, 3), ("5e2", 1, 1),
     ("5.00e2", 3, 3), ("007", 1, 1), ("0", 1, 1), ("6 万", 1, 1), ("6.0 万", 2, 2),
     ("100.0", 4, 4)],
)  # fmt: skip
def test_significant_digits(text, digits, sure):
    got = read(text, "count")
    assert (got.digits, got.sure_digits) == (digits, sure)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("17,44", "the comma in"),
        ("0,246", "the comma in"),
        ("nan", "does not begin with a number"),
        ("inf", "does not begin with a number"),
        ("", "does not begin with a number"),
        ("٣", "does not begin with a number"),
        ("__import__('os')", "does not begin with a number"),
        ("2*3", '"2*3" looks like a calculation'),
        ("1e999", "too large or too small"),
        ("1e-999", "too large or too small"),
        ("1e" + "9" * 70, "too large or too small"),
        ("9" * 75, "too large or too small"),
        ("9" * 10**6, "at most 80 characters"),
        ("ﷺ" * MAX_TEXT, "does not begin with a number"),
        (float("nan"), "is not a finite number"),
        (math.inf, "is not a finite number"),
        (10**100_000, "at most 80 characters"),
        (True, "something of type bool"),
        (b"3", "something of type bytes"),
        ({"a": 1}, "something of type dict"),
        ((1, 2, 3), "something of type tuple"),
        ((None, "GB"), "does not begin with a number"),
        (3 + 4j, "something of type complex"),
        (np.array(["3"]), "something of type ndarray"),
    ],
    ids=lambda value: str(value)[:12] if not isinstance(value, int) else "int",
)
def test_what_is_no_answer_is_refused_in_no_time(answer, says):
    started = time.process_time()
    with pytest.raises(Unreadable) as caught:
        read(answer, "count")
    assert says in str(caught.value)
    assert len(str(caught.value)) < 400
    assert time.process_time() - started < 1  # a regular expression run wild takes minutes


@given(
    st.text(max_size=2 * MAX_TEXT) | st.text("0123456789.,_ eE+-x×*^()%KMGTi万亿倍B", max_size=90)
)
@settings(deadline=None)
def test_any_text_is_read_or_refused_in_words(text):
    for kind in UNITS:
        try:
            assert math.isfinite(read(text, kind).value)
        except Unreadable as problem:
            assert str(problem)


@given(st.integers(1, 10**17), st.sampled_from(sorted(UNITS["FLOP"])))
def test_a_number_in_any_unit_is_that_number_of_units(number, unit):
    got = read(f"{number} {unit}", "FLOP")
    assert got.number == number and got.factor == UNITS["FLOP"][unit]
    assert read(f"{number:,}{unit}", "FLOP") == got


# --- what students are given ----------------------------------------------------------------------


def test_the_answers_are_what_the_reference_computes(tmp_path):
    assert not exercises.is_stale()
    changed = tmp_path / "answers.json"
    changed.write_text(ANSWERS_FILE.read_text(encoding="utf-8").replace("answer", "answers", 1))
    assert exercises.is_stale(changed)
    assert exercises.is_stale(tmp_path / "missing.json")


def test_no_answer_stands_in_the_open():
    """Neither in the file of digests nor in what part 11 says; the course documents print them."""
    chapter = re.compile(
        r"^## (?:Part 11|第 11 部分).*?^## (?:The last step|最后一步)", re.M | re.S
    )
    texts = [ANSWERS_FILE.read_text(encoding="utf-8"), TESTS]
    texts.append((ASSIGNMENT / "exercises.py").read_text(encoding="utf-8"))
    for name in ("COMPANION.md", "COMPANION.zh.md"):
        texts.append((ASSIGNMENT / name).read_text(encoding="utf-8"))
    for name in ("README.md", "README.zh.md"):
        texts.append(chapter.search((ASSIGNMENT / name).read_text(encoding="utf-8"))[0])
    for question in all_questions():
        number = re.match(r"[\d,.]+", question.printed)[0]
        for text in texts:
            numbers = re.findall(r"(?<![\w.,])\d[\d,.]*\d(?![\w])", text)
            assert number not in numbers, question.name


def test_equal_answers_have_other_digests():
    """No second one of a kind is read off the first."""
    content = json.loads(ANSWERS_FILE.read_text(encoding="utf-8"))["questions"]
    digests = [entry["answer"] for entry in content.values()]
    digests += [key for entry in content.values() for key in entry["mistakes"]]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(("page", "text"), [("COMPANION.md", "en"), ("COMPANION.zh.md", "zh")])
def test_questions_in_words_stand_in_the_companion(page, text):
    content = " ".join((ASSIGNMENT / page).read_text(encoding="utf-8").split())
    for number, question in enumerate(questions_in_words(), start=1):
        line = f"{number}. **({question.points}; {question.source})** {getattr(question, text)}"
        assert " ".join(line.split()) in content


def test_each_of_the_seventeen_exercises_is_asked_and_the_table_says_where():
    chapter = (ASSIGNMENT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:L2|D3) \d+) \|([^|]*)\|([^|]*)\|$", chapter, re.M)
    expected = [f"L2 {n}" for n in range(1, 11)] + [f"D3 {n}" for n in range(1, 8)]
    assert [name for name, _, _ in rows] == expected
    in_words = [q.source.replace(" 自测", "").replace(" 练习", "") for q in questions_in_words()]
    for name, numbers, words_ in rows:
        prefix = name.lower().replace(" ", "_") + "_"
        functions = [f for f in PART.functions if f.startswith(prefix)]
        assert re.findall(r"[\d.]+", numbers) == [PART.section_of(f) for f in functions]
        asked = [str(n) for n, source in enumerate(in_words, start=1) if source == name]
        assert re.findall(r"\d+", words_) == asked
        assert functions or asked
    told = re.findall(r"11\.\d+", "".join(re.findall(r"^\| (?:L2|D3).*", chapter, re.M)))
    assert told == [PART.section_of(function) for function in PART.functions]


def test_points_of_a_rubric_are_those_of_its_question():
    for question in questions_in_words():
        assert sum(int(line.partition(":")[0]) for line in question.rubric) == question.points
        assert CHINESE.search(question.zh)


# --- part 11 and part 1 ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keyword", "expected"),
    [
        ("part1", "test_part1_"),
        ("part11", "test_part11_"),
        ("Part1 or part7", "test_part1_ or test_part7_"),
        ("decode and not part4", "decode and not test_part4_"),
        ("test_part1", "test_part1_"),
        ("test_part1_attention", "test_part1_attention"),
        ("rope", "rope"),
        ("", ""),
    ],
)
def test_part_1_is_not_part_11(keyword, expected):
    assert whole_parts(keyword) == expected


def test_a_question_that_is_changed_makes_the_file_stale(monkeypatch):
    """The digests depend on value, kind and digits."""
    first = all_questions()[0]
    for changed in (replace(first, value=first.value * 1.01), replace(first, digits=2)):
        monkeypatch.setattr(
            "grader.authoring.exercises.answers.all_questions",
            lambda c=changed: (c, *all_questions()[1:]),
        )
        assert exercises.is_stale()
