"""What the grader says can be said in Chinese: pages, tables, notes, titles of hidden tests."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
import typer
from report_support import HIDDEN_SECRET, failed_decode, make_record, make_test
from typer.testing import CliRunner
from words_support import (
    CHINESE,
    Said,
    calls,
    invented,
    not_chinese,
    said_in_sources,
    said_in_templates,
    shortened,
    titles,
)

from assignment.harness import told
from assignment.harness.diagnosis import Diagnosis
from assignment.harness.known_bugs import known_bugs
from assignment.harness.parts import PARTS, STUDENT_MODULES
from grader.base import notes, words
from grader.base.notes import Note, in_words, note
from grader.base.places import ASSIGNMENT, GRADER, HIDDEN_TESTS
from grader.bench import picture
from grader.cli.main import app
from grader.grades.lateness import Late
from grader.grades.policy import score
from grader.grades.policy_file import Minimum, Policy
from grader.grading import charges, suite
from grader.grading.suite import Suite, collect
from grader.integrations.export import gradescope
from grader.integrations.export.gradescope import results_json
from grader.integrations.nbgrader import cells, course
from grader.integrations.nbgrader.handout import part_texts
from grader.integrations.release.notebook import homework_notebook
from grader.reports.pages.classroom import Classroom
from grader.reports.pages.student import student_page
from grader.reports.pages.text import moment, said_by_script
from grader.reports.similar.compare import Comparison
from grader.reports.similar.fingerprints import fingerprints
from grader.reports.similar.ranking import Pair
from grader.reports.similar.site import write_pages
from grader.reports.similar.texts import Text
from grader.results.record import DiagnosisRecord, read_record, write_record

SOURCES = [
    path
    for path in sorted(GRADER.rglob("*.py"))
    if path.name != "words.py" and "known_bugs" not in path.parts
]
HIDDEN = sorted(HIDDEN_TESTS.glob("test_*.py"))
# The grader's own, and with the homework's.
DICTIONARY = tomllib.loads((GRADER / "base" / "zh.toml").read_text(encoding="utf-8"))
BOTH = words.DICTIONARY.chinese
TEMPLATES = sorted((GRADER / "reports" / "pages" / "templates").glob("*.j2"))
SCRIPTS = ("class.js",)
# Texts that `spoken` looks up by a name.
LOOKED_UP = {
    *("graded", "partial", "missing", "error", "public", "hidden"),
    *("passed", "failed", "not started", "waiting", "out of time"),
    *("solution", "naive", "bound"),  # what a ratio is taken to
    # The doctor's checks.
    *("test suite", "sandbox", "bubblewrap program", "memory bound", "seccomp filter"),
    *("secret seed file", "real model", "cores and memory", "disk"),
    *gradescope._WHY.values(),
    *(charges.RIGHT, charges.WRONG, cells.HIDDEN_FAILED, cells.HIDDEN_ONLY_FAILED),
    *notes.SENTENCES.values(),
    *notes.REFUSALS.values(),
}
# Verdicts on what was handed in: a student reads them. The grader's own errors, and nbgrader's, are
# the instructor's and in English.
SINKS = {"NothingToGrade": 0, "Refused": 0, "BudgetExhausted": 0, "WorkerTimeout": 0}


@pytest.fixture(autouse=True)
def english_again():
    yield
    words.speak(None)


@pytest.fixture
def chinese():
    words.speak("zh")


def said() -> list[Said]:
    return [*said_in_templates(TEMPLATES), *said_in_sources(SOURCES)]


def every_text() -> set[str]:
    in_scripts = {text for name in SCRIPTS for text in said_by_script(name)}
    return {text for text, _ in said()} | in_scripts | titles(HIDDEN) | LOOKED_UP


def test_every_text_has_a_translation_and_none_is_left_over():
    assert len(every_text()) > 350 and len(titles(HIDDEN)) >= 6
    assert sorted(every_text() - BOTH.keys()) == []
    assert sorted(DICTIONARY.keys() - every_text()) == []


def test_a_translation_uses_what_its_text_is_given():
    assert invented(said(), DICTIONARY) == []
    assert shortened(DICTIONARY, DICTIONARY) == []


def test_elements_of_a_text_are_those_of_its_translation():
    """A page's translation may not open what it does not close, nor bring elements of its own."""
    for english, text in BOTH.items():
        elements = re.findall(r"<[^>]*>", text)
        assert not Counter(elements) - Counter(re.findall(r"<[^>]*>", english)), text
        opened = [element.strip("<>").partition(" ")[0] for element in elements]
        assert sorted(f"/{e}" for e in opened if e[0] != "/") == sorted(
            e for e in opened if e[0] == "/"
        )


def test_translations_are_chinese():
    signs_and_numbers = {
        ", ",
        "{student}: {why}.",
        "{check}: ",
        "{students}: {file}",
        "{moment}.",
        ": {n}",
        "{bin} {unit}: {n}",
        "{submissions}, {where}, {model}",
    }
    signs_and_numbers |= {"{shard}, {where}", "{section} {title} ({kind})"}
    signs_and_numbers |= {"{student}: {why}", "{what} ({who}): {text}", "{why} ({n}): {names}."}
    signs_and_numbers |= {
        "{file}: {problem}",
        "{name}, {day}",
        "{id} {day} {by}: {student}, {what}: {text}",
    }
    assert not_chinese(DICTIONARY, signs_and_numbers) == []


def test_pages_have_no_words_around_the_one_function():
    """Text between elements, and attributes that are read out, in the templates themselves."""
    statement = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)
    for path in TEMPLATES:
        text = statement.sub("", path.read_text(encoding="utf-8"))
        attributes = re.findall(
            r'(?:aria-label|title|placeholder|aria-roledescription)="([^"]+)"', text
        )
        between = re.findall(r">([^<>]+)<", text)
        plain = [t for t in (*attributes, *between) if re.search(r"[A-Za-z]{2}", t)]
        assert plain == [], path.name


def test_verdicts_do_not_go_around_the_one_function():
    for path in SOURCES:
        for name, call in calls(path, *SINKS) if path.parent.name != "nbgrader" else ():
            said = call.args[SINKS[name]]
            literals = [n.value for n in ast.walk(said) if isinstance(n, ast.Constant)]
            is_literal = isinstance(said, ast.JoinedStr | ast.Constant)
            spelled = [t for t in literals if isinstance(t, str) and re.search("[A-Za-z]", t)]
            assert not (is_literal and spelled), f"{path.name}:{call.lineno}: {spelled}"


# ------------------------------------------------------------------------------------- pages


def a_title(part: int) -> str:
    """A title of the part's own tests."""
    source = next((ASSIGNMENT).glob(f"test_part{part}_*.py"))
    return min(titles([source]))


def record_of_a_class(student: str):
    """What was graded in Chinese, and shows all that a student's page has."""
    titles = {part: a_title(part) for part in (1, 4, 5, 6, 7)}
    in_chinese = "logits：形状 (6, 2, 37) 和 dtype float64 都对，数值不对"
    found = (("position-zero",),)
    seen, unseen = failed_decode(message=in_chinese), failed_decode("hidden", HIDDEN_SECRET)
    undone = {"state": "not_started", "message": "7.1 还没有实现"}
    tests = (
        make_test(4, "4.3", titles[4], "decode", "public", variant="mha", **seen),
        make_test(4, "4.3", titles[4], "decode", "hidden", variant="mha", **unseen),
        make_test(5, "5.1", titles[5], "grouped", "public", with_trusted_parts=True),
        make_test(6, "6.1", titles[6], "long", "hidden", state="failed", message=HIDDEN_SECRET),
        make_test(7, "7.1", titles[7], "t", "public", **undone),
        make_test(1, "1.1", titles[1], "softmax", "public"),
    )  # fmt: skip
    # The run that found the bug spoke English: the page can say it in Chinese all the same.
    fact = told.fact(Diagnosis(4, found, 7, 9e-16))
    return make_record(
        student,
        tests,
        diagnoses=(DiagnosisRecord(part=4, bugs=found, n_tests=7, error=9e-16, fact=fact),),
        notes=(note("same_id", name="bob"),),
        generated_text="一个不同的结尾",
        expected_text="一个结尾",
    )


# Names, code and what Chinese course staff say in English, too.
SAME_WORDS = frozenset(
    "ana zoe mia mha test case float64 float32 SmolLM2-135M Llama KV cache decode prefill bug "
    "token query key value prompt UTC Enter FILE JavaScript grader run report bubblewrap logits "
    "softmax RoPE GQA MLA dtype batch L2 D3 pytest assignment position-zero decode_step winnowing "
    "log Schleimer Wilkerson Aiken P1 P4 P5 P6 P7".split()
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]+")


def english_left(html: str) -> list[str]:
    """Labels without a Chinese sign, and two English words in a row, of what a reader reads."""
    body = re.sub(r"<(style|script|code|pre)\b.*?</\1>", " ", html, flags=re.DOTALL)
    read_out = re.findall(r'(?:aria-label|title|placeholder|data-light)="([^"]*)"', body)
    left = []
    for text in (*read_out, *re.sub(r"<[^>]*>", "\n", body).splitlines()):
        unknown = [word not in SAME_WORDS for word in _WORD.findall(text)]
        in_a_row = re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", _WORD.sub(_unknown, text))
        if in_a_row or (any(unknown) and not CHINESE.search(text)):
            left.append(text.strip())
    return left


def _unknown(match: re.Match) -> str:
    return "·" if match[0] in SAME_WORDS else match[0]


def test_no_english_is_left_on_a_student_s_page():
    record = record_of_a_class("ana")
    policy = Policy(late=Late(due=datetime(2026, 10, 5, tzinfo=UTC), percent_per_day=10.0))
    scored = score(record, policy, datetime(2026, 10, 6, 12, tzinfo=UTC))
    english = student_page(record, scored, policy)
    assert len(english_left(english)) > 20, "the check sees English where there is some"
    words.speak("zh")
    scored = score(record, policy, datetime(2026, 10, 6, 12, tzinfo=UTC))
    page = student_page(record, scored, policy)
    assert english_left(page) == []
    assert '<html lang="zh-Hans">' in page and '<html lang="en">' in english
    bug = known_bugs()["position-zero"]
    assert bug.explanation.zh in page and bug.summary.zh in page
    assert all(hint.zh in page for hint in bug.hints)
    assert "bob" not in page and HIDDEN_SECRET not in page


@pytest.mark.parametrize("state", ["error", "missing", "partial"])
def test_no_english_is_left_on_the_page_of_another_state(chinese, state):
    record = make_record("ana", state=state, reason="评不了。" if state == "missing" else "")
    page = student_page(record, score(record, Policy()), Policy())
    assert english_left(page) == []


def class_page(policy: Policy) -> str:
    records = [record_of_a_class("ana"), make_record("zoe", state="error", reason="进程结束了")]
    records.append(make_record("mia", state="missing", reason="什么也没有"))
    classroom = Classroom(policy)
    for record in records:
        classroom.add(record, score(record, policy))
    return classroom.page()


def test_no_english_is_left_on_the_class_page():
    policy = Policy(
        points={1: 10.0, 4: 50.0},
        late=Late(due=datetime(2026, 10, 5, tzinfo=UTC), percent_per_day=10.0, grace_minutes=5),
        minimum=Minimum(parts={4: 50.0}, otherwise="cap"),
    )
    assert len(english_left(class_page(policy))) > 40
    words.speak("zh")
    page = class_page(policy)
    assert english_left(page) == []
    for text in said_by_script("class.js"):
        assert words.spoken(text) in page


def test_no_english_is_left_on_the_pages_of_shared_code(chinese, tmp_path):
    texts = [Text("ana", "x = 1\n"), Text("mia", "x = 1\n")]
    prints = [fingerprints(text.code) for text in texts]
    pair = Pair(0, 1, 0.5, 3, 2)
    write_pages(Comparison(texts, prints, [pair], ["没有比较"]), tmp_path / "out")
    for page in (tmp_path / "out").glob("*.html"):
        assert english_left(page.read_text(encoding="utf-8")) == [], page.name


def test_what_is_filled_in_stays_text(chinese):
    """The same in Chinese: a translation brings elements, what a student wrote does not."""
    hostile = "<img src=x onerror=alert(1)>\x1b"
    bug = (("position-zero",),)
    record = make_record(
        hostile,
        [make_test(4, "4.3", hostile, "decode", "public", state="failed", message=hostile)],
        diagnoses=(DiagnosisRecord(part=4, bugs=bug, n_tests=1, error=0.0, fact=hostile),),
        notes=(note("words", text=hostile),),
        generated_text=hostile,
        expected_text="x",
    )
    classroom = Classroom(Policy())
    classroom.add(record, score(record, Policy()))
    for page in (student_page(record, score(record, Policy()), Policy()), classroom.page()):
        assert "<img" not in page and "\x1b" not in page and "&lt;img src=x" in page


def test_gradescope_s_words_follow_the_language_and_its_keys_do_not(chinese):
    record, policy = record_of_a_class("ana"), Policy()
    told_of = results_json(record, score(record, policy), policy)
    assert {test["status"] for test in told_of["tests"]} == {"passed", "failed"}
    assert all(CHINESE.search(test["name"]) for test in told_of["tests"])
    assert known_bugs()["position-zero"].summary.zh in told_of["output"]
    assert {"隐藏", "公开"} & {tag for test in told_of["tests"] for tag in test["tags"]} == set()


def test_the_moment_is_written_as_in_the_language():
    when = datetime(2026, 11, 30, 14, 5, tzinfo=UTC)
    assert moment(when) == "30 November 2026, 14:05 UTC"
    words.speak("zh")
    assert moment(when) == "2026 年 11 月 30 日 14:05 UTC"


# ------------------------------------------------------------------------ what the words carry


A_FIELD_OF_EACH = {"n": 3, "files": ("gqa.py", "mla.py"), "name": "bob; both are graded"}


def test_every_kind_of_note_has_its_words():
    assert set(get_args(notes.Kind)) == notes.SENTENCES.keys() | notes._FIELDS_OF_OTHERS.keys()


@pytest.mark.parametrize("kind", notes.SENTENCES)
def test_a_note_is_said_in_the_language_of_its_reader(kind):
    about = {name: A_FIELD_OF_EACH.get(name, f"<{name}>") for name in notes._fields_of(kind)}
    kept = Note.model_validate_json(note(kind, **about).model_dump_json())
    assert kept == note(kind, **about)
    english = in_words(kept)
    words.speak("zh")
    chinese = in_words(kept)
    assert not CHINESE.search(english) and CHINESE.search(chinese)
    for value in about.values():
        named = value if isinstance(value, tuple) else (str(value),)
        assert all(name in english and name in chinese for name in named)


@pytest.mark.parametrize(
    ("kind", "about"),
    [
        ("same_id", {}),
        ("same_id", {"name": "bob", "more": "x"}),
        ("link", {"id": "bob"}),
        ("made_up", {}),
        ("same_id", {"name": 1.5}),
        ("earlier_record", {"file": "ana.json", "why": "made_up", "problem": ""}),
    ],
)
def test_a_note_has_the_fields_of_its_kind(kind, about):
    with pytest.raises(ValueError):
        Note(kind=kind, fields=about)


def test_the_words_of_a_note_are_bounded():
    long = note("another_notebook", other="o" * 10**6, chosen="c" * 10**6)
    assert len(in_words(long)) == notes.MAX_NOTE and in_words(long).endswith("…")
    assert in_words(note("link", file="\ud800")) == "? is a symbolic link and was ignored"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_damaged_record_is_told_without_the_words_around(language, tmp_path):
    words.speak(language)
    (tmp_path / "ana.json").write_text("{", encoding="utf-8")
    _, refusal = read_record(tmp_path, "ana")
    inner = notes.why_refused(refusal)
    assert inner.startswith("ana.json ") and inner in in_words(refusal) != inner


def test_a_title_keeps_its_variant(chinese):
    title = next(title for title in titles(HIDDEN))
    assert words.spoken_title(title, "float32") == f"{DICTIONARY[title]} (float32)"
    assert words.spoken_title("A made-up title", "x") == "A made-up title (x)"
    for part in PARTS:
        assert CHINESE.search(words.spoken_title(a_title(part.number))), part.number


# ----------------------------------------------------------------------------------- commands


def run(*arguments: object, locale: str = "C.UTF-8") -> str:
    done = CliRunner().invoke(
        app, [str(a) for a in arguments], env={"LC_ALL": locale, "COLUMNS": "200"}
    )
    assert done.exit_code == 0, done.output
    return done.output


def test_the_commands_take_a_language_or_the_locale_s(tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    write_record(results, record_of_a_class("ana"))
    shown = run("show", "ana", "--results", results, "--lang", "zh")
    assert "第 4 部分" in shown and "已评分" in shown
    assert "Part 4" in run("show", "ana", "--results", results)
    assert "成绩" in run("scores", "--results", results, "--lang", "zh")
    run("report", "--results", results, "--out", tmp_path / "report", "--lang", "zh")
    index = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert "班级报告" in index and "Class report" not in index
    run(
        "export", "--to", "csv", "--results", results, "--write", tmp_path / "s.csv", "--lang", "zh"
    )
    table = (tmp_path / "s.csv").read_text(encoding="utf-8-sig")
    assert table.startswith("student,submission,state,")


@pytest.mark.parametrize(
    "command",
    [
        ["run", "x"],
        ["report"],
        ["show", "ana"],
        ["scores"],
        ["similar", "x"],
        ["bench", "x"],
        ["export", "--to", "csv"],
        ["nbgrader", "autograde", "x"],
    ],
    ids=lambda command: command[0],
)
def test_another_language_is_refused_with_a_sentence(command):
    done = CliRunner().invoke(app, [*command, "--lang", "xx"])
    assert done.exit_code == 2
    output = re.sub(r"[\s│]+", " ", done.output)
    assert "'xx' is not one of 'en', 'zh'" in output


def test_a_run_speaks_to_the_submission_s_process_and_its_record(tmp_path):
    """One submission with a file that is no Python and one that is not there."""
    submission = tmp_path / "ana"
    submission.mkdir()
    (submission / "attention.py").write_text("def softmax(x, axis=-1)\n    return x\n")
    out, secret = tmp_path / "results", tmp_path / "secret.hex"
    options = ["--out", out, "--secret-file", secret, "--no-real-model", "--sandbox", "none"]
    assert "1 份提交：1 份已评分" in run("run", submission, *options, "--lang", "zh")
    record, _ = read_record(out, "ana")
    messages = {test.message.partition("\n")[0] for test in record.tests}
    assert any(m.startswith("ImportError: attention.py 第 1 行不是合法的 Python") for m in messages)
    assert "3.1 rope_frequencies 还没有实现" in messages
    assert any(in_words(note).startswith("没有交，按未完成评分") for note in record.notes)
    titles = {test.title for test in record.tests}
    assert not any(CHINESE.search(title) for title in titles), "records keep titles in English"


def test_help_names_the_commands_that_speak_english_only():
    group = typer.main.get_command(app)
    commands = {n: c for n, c in group.commands.items() if not hasattr(c, "commands")}
    english = {n for n, c in commands.items() if "lang" not in {p.name for p in c.params}}
    assert english == set(re.findall(r"`(\w+)`", group.epilog))


def test_where_the_harness_goes_its_words_go():
    """Into nbgrader's courses and into the hash of the suite; for the bundle see test_release."""
    assignment = ASSIGNMENT
    data = set((assignment / "harness").glob("*.toml"))
    assert {path.stem for path in data} == {"zh", "hints"}
    assert data <= {path for p in course.PACKAGE_PATTERNS for path in assignment.glob(p)}
    assert data <= set(suite._sources())


def test_collecting_tests_keeps_the_language(chinese):
    collect(Suite(hidden_cases=Path(), real_model=None, hash=""))
    assert words.language() == "zh"


def test_a_picture_is_in_english_where_no_font_has_chinese_signs(chinese, monkeypatch):
    monkeypatch.setattr(picture, "_installed_chinese_fonts", lambda: ())
    with picture._readable(Path("plot.png")):
        assert words.language() == "en"
    with picture._readable(Path("plot.svg")):
        assert words.language() == "zh", "its text stays text: the reader's system has the font"
    monkeypatch.setattr(picture, "_installed_chinese_fonts", lambda: ("SimHei",))
    with picture._readable(Path("plot.png")):
        assert words.language() == "zh"


# ---------------------------------------------------------------------------------- notebooks


def test_the_chinese_handout_is_cut_as_the_english_one():
    english, chinese_texts = part_texts("en"), part_texts("zh")
    assert english.keys() == chinese_texts.keys() >= {part.number for part in PARTS}
    for number, text in chinese_texts.items():
        assert text.sections.keys() == english[number].sections.keys(), number
        assert bool(text.closing) == bool(english[number].closing), number
        for whole in (text, english[number]):
            assert "pytest assignment/ -k" not in whole.opening, f"part {number}: of no use here"
        assert CHINESE.search(text.opening)


def test_the_notebook_of_the_release_can_be_chinese(chinese):
    stubs = {m: (ASSIGNMENT / f"{m}.py").read_text("utf-8") for m in STUDENT_MODULES}
    cells_of = json.loads(homework_notebook(stubs))["cells"]
    texts = ["".join(cell["source"]) for cell in cells_of if cell["cell_type"] == "markdown"]
    assert [text[:60] for text in texts if not CHINESE.search(text)] == []
    words.speak("en")
    english = json.loads(homework_notebook(stubs))["cells"]
    code = [[c["source"] for c in cs if c["cell_type"] == "code"] for cs in (cells_of, english)]
    assert code[0] == code[1]


def test_nbgrader_s_notebooks_can_be_chinese(chinese):
    pytest.importorskip("nbformat", reason="nbformat is not installed (extra `nbgrader`)")
    from grader.integrations.nbgrader.notebooks import _notebook

    def first_part() -> list:
        """Without its tests, whose collection takes long."""
        return _notebook(PARTS[0], part_texts(words.language())[1], []).cells

    spoken = first_part()
    words.speak("en")
    pairs = list(zip(spoken, first_part(), strict=True))
    assert [one.metadata for one, _ in pairs] == [other.metadata for _, other in pairs]
    texts = [one.source for one, _ in pairs if one.cell_type == "markdown" and not one.metadata]
    assert len(texts) > 5 and [t[:60] for t in texts if not CHINESE.search(t)] == []
