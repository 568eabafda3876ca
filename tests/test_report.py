"""`grader report`: what stands on the pages, and what must not."""

import base64
import hashlib
import itertools
import json
import math
import re
from datetime import datetime, timedelta, timezone
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from report_support import (
    HIDDEN_SECRET,
    OUTPUT_SECRET,
    failed_decode,
    make_class,
    make_record,
    make_test,
)
from typer.testing import CliRunner

from assignment.harness import real_text
from assignment.harness.compare import MAX_STEPS, Mismatch, check_array
from assignment.harness.difference import Difference
from assignment.harness.known_bugs import known_bugs
from assignment.harness.page.document import document, heading, own_files, section
from assignment.harness.page.markup import element, marked, rendered
from assignment.harness.page.plots import error_plot, in_words, power
from grader.base import words
from grader.base.errors import GraderError
from grader.base.notes import note
from grader.base.places import ASSIGNMENT
from grader.cli.main import app
from grader.grades.policy import score
from grader.grades.policy_file import Policy
from grader.grading import result, submission
from grader.grading.real_model import PublicText
from grader.reports.pages.classroom import Classroom
from grader.reports.pages.place import page_names
from grader.reports.pages.plots import histogram
from grader.reports.pages.site import build_report
from grader.reports.pages.student import model_text, student_page
from grader.reports.pages.text import excerpt, visible, without_paths
from grader.results.record import DiagnosisRecord, read_record, write_record

SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"{SCRIPT}<img src=x onerror=alert(1)> \x1b[31mred\x1b[0m ‮gnp.exe =cmd|' /C calc'!A0 \x00"
# What of HOSTILE may never stand in a page as it is.
RAW = ("<script>alert", "<img src=x", "\x1b", "‮", "\x00")
VOID = {"meta", "br", "input", "img", "link", "hr"}


class Page(HTMLParser):
    """A page's elements in order: (tag, attributes, text inside), and what is wrong in it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict, list[str]]] = []
        self.problems: list[str] = []
        self._open: list[int] = []
        self.feed(html)
        self.close()
        self.problems += [f"{self.elements[i][0]} is not closed" for i in self._open]

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.elements.append((tag, dict(attributes), []))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attributes: list) -> None:
        self.elements.append((tag, dict(attributes), []))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self.elements[self._open[-1]][0] != tag:
            self.problems.append(f"</{tag}> closes nothing")
            return
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for index in self._open:
            self.elements[index][2].append(data)

    def all(self, tag: str) -> list[tuple[dict, str]]:
        """(attributes, text) of the elements of one kind."""
        return [(given, "".join(text)) for name, given, text in self.elements if name == tag]

    def text(self) -> str:
        """What a reader reads: the body without script and data."""
        [body] = [words for tag, _, words in self.elements if tag == "body"]
        hidden = {"".join(words) for tag, _, words in self.elements if tag == "script"}
        return "".join(part for part in body if part not in hidden)


def page_of(record, policy: Policy | None = None, submitted_at: datetime | None = None) -> str:
    policy = policy or Policy.load()
    return student_page(record, score(record, policy, submitted_at), policy)


def class_of(*records, policy: Policy | None = None, problems=()) -> str:
    policy = policy or Policy.load()
    classroom = Classroom(policy)
    for record in records:
        classroom.add(record, score(record, policy))
    return classroom.page(problems)


def policy_from(tmp_path: Path, text: str) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return Policy.load(path)


@pytest.fixture(scope="module")
def position_zero():
    """A record with everything a page can show."""
    public = make_test(4, "4.3", "Every step is right", "decode", "public", **failed_decode())
    hidden = make_test(
        4,
        "4.3",
        "Every step is right",
        "decode",
        "hidden",
        **failed_decode("hidden", HIDDEN_SECRET),
    )
    kept = make_test(
        5, "5.1", "A grouped decode", "grouped", "public",
        with_trusted_parts=True, own_message="wrong with the student's own",
    )  # fmt: skip
    only_hidden = make_test(
        6, "6.1", "Long contexts", "long", "hidden", state="failed", message=HIDDEN_SECRET
    )
    bug = known_bugs()["position-zero"]
    fact = f"Part 4 equals, in 7 tests to 9e-16, {bug.summary.en}."
    return make_record(
        "ana",
        (public, hidden, kept, only_hidden, make_test(1, "1.1", "softmax", "softmax", "public")),
        diagnoses=(
            DiagnosisRecord(part=4, bugs=(("position-zero",),), n_tests=7, error=9e-16, fact=fact),
        ),
        notes=(note("words", text="helpers.py was taken"), note("same_id", name="bob")),
        output_tail=OUTPUT_SECRET,
        generated_text="Once upon a time, a wise and wise and wise",
        expected_text="Once upon a time, a wizard lived",
    )


# ------------------------------------------------------------------------------------ the student


def test_a_failure_is_explained_by_the_known_bug_with_its_hints(position_zero):
    text = Page(page_of(position_zero)).text()
    bug = known_bugs()["position-zero"]
    assert position_zero.diagnoses[0].fact in text
    assert bug.explanation.en in text
    assert all(hint.en in text for hint in bug.hints)
    assert "first wrong at step 1, batch 0, token 0" in text
    assert "pytest assignment/test_part4.py::test_decode" in text


def test_the_error_of_each_step_is_plotted_with_the_tolerance(position_zero):
    page = Page(page_of(position_zero))
    [plot] = [a["aria-label"] for a, _ in page.all("svg") if a.get("role") == "img"]
    assert "step 1 is the first that is wrong" in plot
    titles = [text for _, text in page.all("title")]
    assert "step 0: error 3.1e-16" in titles and "step 4: error 0.44" in titles
    assert "tolerance 10⁻⁹" in page.text()


def test_the_model_s_text_stands_beside_the_right_one(position_zero):
    page = Page(page_of(position_zero))
    assert [text for _, text in page.all("mark")] == ["wise and wise and wise"]
    assert [text for _, text in page.all("ins")] == ["wizard lived"]


def test_a_student_page_leaks_nothing(position_zero):
    html = page_of(position_zero)
    for secret in (HIDDEN_SECRET, OUTPUT_SECRET, "bob", "/work", str(Path.cwd()), "hidden-case"):
        assert secret not in html
    assert "wrong with the student's own" not in html
    assert len(Page(html).all("article")) == 1 and "pytest assignment/hidden" not in html


def test_hidden_tests_are_listed_or_not_as_the_policy_says(position_zero, tmp_path):
    nothing = policy_from(tmp_path, '[visibility]\nhidden = "nothing"\n')
    assert "Long contexts" in page_of(position_zero)
    page = page_of(position_zero, nothing)
    assert "Long contexts" not in page
    assert "0 of 2" in page  # the sum of part 4 still holds the hidden point


def test_trusted_parts_are_told_and_drawn(position_zero):
    page = Page(page_of(position_zero))
    assert "5.1 A grouped decode (1 point)" in page.text()
    assert any(given.get("class") == "given" for given, _ in page.all("rect"))


def test_lateness_and_minimum_are_shown(position_zero, tmp_path):
    policy = policy_from(
        tmp_path,
        "[late]\ndue = 2026-10-05T23:59:00+02:00\npercent_per_day = 10\n"
        '[minimum]\notherwise = "cap"\n[minimum.parts]\n4 = 50\n',
    )
    late = datetime(2026, 10, 7, 12, tzinfo=timezone(timedelta(hours=2)))
    text = " ".join(Page(page_of(position_zero, policy, late)).text().split())
    scored = score(position_zero, policy, late)
    assert scored.penalty > 0 and scored.minimum_loss == 0
    assert f"Late−{scored.penalty:.2f}".rstrip("0").rstrip(".") in text.replace("Late −", "Late−")
    assert "days late: 20 % of the score taken off" in text
    assert "below the minimum" in text


def test_an_error_is_no_zero_and_tells_the_student_nothing_of_the_machine():
    record = make_record(
        "ana", state="error", reason="OSError in /srv/grader/running/pool.py, bob's box"
    )
    page = Page(page_of(record)).text()
    assert "no grade yet" in page and "not a zero" in page
    assert "pool.py" not in page and " of 0 points" not in page and "grader run" not in page


def test_missing_and_partial_say_why():
    missing = make_record("ana", state="missing", reason="No attention.py in /home/x/sub/ana.zip.")
    assert "No attention.py in …/ana.zip." in Page(page_of(missing)).text()
    slow = make_test(7, "7.3", "top_p", "top_p", "public", state="out_of_time", message="5 s")
    assert "ran out of time" in Page(page_of(make_record("ana", [slow], state="partial"))).text()


def test_an_old_record_without_steps_and_text_still_renders(tmp_path, position_zero):
    path = write_record(tmp_path, position_zero)
    data = json.loads(path.read_text(encoding="utf-8"))
    for name in ("generated_text", "expected_text"):
        del data[name]
    for test in data["tests"]:
        del test["error_by_step"]
    path.write_text(json.dumps(data), encoding="utf-8")
    old, why = read_record(tmp_path, "ana")
    assert old is not None, why
    page = Page(page_of(old))
    assert not [a for a, _ in page.all("svg") if a.get("role") == "img"]
    assert "real model" not in page.text() and "Every step is right" in page.text()


def test_the_model_s_text_says_what_happened():
    passed = make_test(5, "5.1", "real", "decode_of_a_real_model", "hidden")
    passed = passed.model_copy(update={"file": "test_real_model.py"})
    right = make_record("a", [passed], expected_text="a b c")
    assert model_text(right).is_right
    stopped = make_record("a", expected_text="a b c")
    assert model_text(stopped).own == "" and not model_text(stopped).is_right
    assert model_text(make_record("a")) is None
    split = model_text(make_record("a", generated_text="a bx", expected_text="a by"))
    assert (split.shared, split.own, split.expected) == ("a ", "bx", "by")


# ------------------------------------------------------------------------------- untrusted text


def hostile_record(student: str = "ana"):
    test = make_test(4, "4.3", HOSTILE, "decode", "public", state="failed", message=HOSTILE)
    bug = (("position-zero", HOSTILE),)
    return make_record(
        student,
        [test],
        notes=(note("words", text=HOSTILE),),
        generated_text=HOSTILE,
        expected_text="Once",
        diagnoses=(DiagnosisRecord(part=4, bugs=bug, n_tests=1, error=0.0, fact=HOSTILE),),
    )


def test_hostile_text_stays_text_on_the_student_s_page():
    html = page_of(hostile_record(HOSTILE))
    assert not [raw for raw in RAW if raw in html]
    assert html.count(escape(SCRIPT)) >= 5  # name twice, message, fact, text, note
    assert "�[31mred" in html
    assert not Page(html).problems


def test_hostile_text_stays_text_on_the_class_page():
    broken = make_record(f"b{HOSTILE}", state="error", reason=HOSTILE)
    html = class_of(hostile_record(HOSTILE), broken, problems=[HOSTILE])
    assert not [raw for raw in RAW if raw in html]
    assert not Page(html).problems
    [data] = [text for given, text in Page(html).all("script") if given.get("id") == "data"]
    names = {student[0] for student in json.loads(data)["students"]}
    assert visible(HOSTILE) in names


def test_nothing_can_forget_to_escape():
    """Whatever an element has in it is made visible and escaped: there is no other way in."""
    inside = element("span", [HOSTILE, [None, HOSTILE]], title=HOSTILE, data_x=f'"{HOSTILE}')
    html = rendered(element("p", inside, marked("<code>{x}</code>, {x}", x=HOSTILE)))
    html = document(HOSTILE, heading(HOSTILE, HOSTILE), section("x", HOSTILE, HOSTILE), html)
    assert not [raw for raw in RAW if raw in html]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("File '/opt/grader/x/kv_cache.py', line 3", "File '…/kv_cache.py', line 3"),
        (r"C:\Users\ana\rope.py broke", "…/rope.py broke"),
        ("/home/ana/", "…/"),
        ("1/2 and/or d_h/2", "1/2 and/or d_h/2"),
        ("see https://x.org/a/b", "see https://x.org/a/b"),
    ],
)
def test_paths_are_cut_to_their_last_name(text, shown):
    assert without_paths(text) == shown


def test_a_message_is_cut():
    assert len(excerpt("x" * 10_000)) <= 1_600
    assert excerpt("line\n" * 100).count("\n") <= 14


# ------------------------------------------------------------------------------------------ names


def test_page_names_are_safe_and_never_collide():
    ids = ["ana", "Ana", "ANA", "ana_1", "王明", "王明2", "..", ".", "../../etc/passwd", "a/b",
           "a\\b", "con", "CON", "nul.txt", "-rf", "x" * 300, "x" * 299, "a b", "a%20b", "é",
           "e\u0301", "a.html", "\ud800", SCRIPT, "", "ana-", "index"]  # fmt: skip
    ids += [name.removesuffix(".html") for name in page_names(ids).values()]
    names = page_names(ids)
    assert len({name.casefold() for name in names.values()}) == len(names)
    for name in names.values():
        assert re.fullmatch(r"\w[\w.-]*\.html", name) and len(name.encode()) < 160, name
        assert not re.match(r"(?i)(con|nul)\.", name)
    assert (names["ana_1"], names["王明"]) == ("ana_1.html", "王明.html")
    assert names["Ana"] != "Ana.html"  # beside ana and ANA
    assert page_names(["Doe_Jane_12345"]) == {"Doe_Jane_12345": "Doe_Jane_12345.html"}


# -------------------------------------------------------------------------------------- the class


def test_errors_come_first_and_loud():
    records = [make_record("ana", [make_test(1, "1.1", "t", "t", "public")])]
    records.append(make_record("zoe", state="error", reason="The worker was killed."))
    page = Page(class_of(*records))
    assert page.all("h2")[0][1] == "1 submission has no grade: the grader failed"
    assert "The worker was killed." in page.text()
    rows = [text for given, text in page.all("th") if given.get("scope") == "row"]
    assert rows[-2:] == ["zoe", "ana"]


def test_errors_stand_before_those_without_a_grade_for_another_reason(tmp_path):
    policy = policy_from(tmp_path, "[points]\n1 = 10\n2 = 10\n")
    records = [
        make_record("ana", [make_test(1, "1.1", "t", "t", "public")]),
        make_record("zoe", state="error", reason="The worker was killed."),
    ]
    page = Page(class_of(*records, policy=policy))
    rows = [text for given, text in page.all("th") if given.get("scope") == "row"]
    assert rows[-2:] == ["zoe", "ana"]
    assert "ana: no grade: the result has no test of part 2" in page.text()


def test_damaged_records_are_named(tmp_path):
    write_record(tmp_path, make_record("ana", [make_test(1, "1.1", "t", "t", "public")]))
    (tmp_path / "bob.json").write_text("{", encoding="utf-8")
    site = build_report(tmp_path, tmp_path / "report", Policy.load())
    assert "bob.json is damaged" in (tmp_path / "report" / "index.html").read_text("utf-8")
    assert site.n_students == 1 and len(site.problems) == 1


def test_known_bugs_and_hardest_tests_are_counted(position_zero):
    twin = position_zero.model_copy(update={"student": "bo"})
    right = make_record("cy", [make_test(4, "4.3", "Every step is right", "decode", "public")])
    page = Page(class_of(position_zero, twin, right))
    text = " ".join(page.text().split())
    assert "position-zero part 4" in text
    assert ("show those with position-zero", "#bug=position-zero") in [
        (words, given.get("href")) for given, words in page.all("a")
    ]
    row = re.search(r"4\.3 Every step is right.*?(\d+) % sort", text)
    assert row[1] == "0"  # the hidden twin: nobody passed it


def test_another_policy_changes_the_pages_and_no_record(tmp_path, position_zero):
    results, out = tmp_path / "results", tmp_path / "report"
    results.mkdir()
    path = write_record(results, position_zero)
    before = path.read_bytes()
    build_report(results, out, Policy.load())
    first = (out / "index.html").read_text("utf-8")
    build_report(results, out, policy_from(tmp_path, "[points]\n1 = 70\n4 = 0\n"))
    second = (out / "index.html").read_text("utf-8")
    assert path.read_bytes() == before
    assert "median of 5 points" in first and "median of 72 points" in second
    assert "part 1: 70" in second


def test_pages_of_former_students_go_and_foreign_folders_stay(tmp_path):
    results, out = tmp_path / "results", tmp_path / "report"
    results.mkdir()
    for name in ("ana", "bob"):
        write_record(results, make_record(name, [make_test(1, "1.1", "t", "t", "public")]))
    build_report(results, out, Policy.load())
    (results / "bob.json").unlink()
    build_report(results, out, Policy.load())
    assert [path.name for path in (out / "students").iterdir()] == ["ana.html"]

    mine = tmp_path / "thesis"
    mine.mkdir()
    (mine / "index.html").write_text("mine", encoding="utf-8")
    with pytest.raises(GraderError, match="no earlier report"):
        build_report(results, mine, Policy.load())
    assert (mine / "index.html").read_text("utf-8") == "mine"
    with pytest.raises(GraderError, match="results"):
        build_report(results, results, Policy.load())


def test_the_command_says_where_the_report_is(tmp_path):
    results = tmp_path / "results"
    make_class(results, 2)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["report", "--results", str(results), "--out", str(out)])
    assert done.exit_code == 0 and "index.html" in done.output
    assert len(list((out / "students").iterdir())) == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    done = CliRunner().invoke(app, ["report", "--results", str(empty), "--out", str(out)])
    assert done.exit_code == 2 and "no results" in done.output


# ----------------------------------------------------------------- security and accessibility


@pytest.fixture(scope="module", params=["student", "class"])
def page(request, position_zero) -> Page:
    error = make_record("zoe", state="error", reason="The worker was killed.")
    html = page_of(position_zero) if request.param == "student" else class_of(position_zero, error)
    return Page(html)


def test_pages_are_complete_and_load_nothing(page):
    for tag, given, _ in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "base"), tag
        assert not {"src", "style", "srcset"} & given.keys(), (tag, given)
        assert not [name for name in given if name.startswith("on")], given
        href = given.get("href", "#")
        assert href.startswith(("#", "students/")), href


def test_the_content_policy_allows_these_scripts_and_styles_only(page):
    [policy] = [
        given["content"]
        for given, _ in page.all("meta")
        if given.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    allowed = set(re.findall(r"'(sha256-[^']+)'", policy))
    texts = [text for given, text in page.all("script") if "type" not in given]
    texts += [text for _, text in page.all("style")]
    digests = {
        f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
        for text in texts
    }
    assert digests == allowed


def test_the_document_is_well_formed_and_labelled(page):
    assert not page.problems
    ids = [given["id"] for _, given, _ in page.elements if "id" in given]
    assert len(ids) == len(set(ids))
    for _, given, _ in page.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(given.get(name, "").split()) <= set(ids), given
        if given.get("href", "").startswith("#") and "=" not in given["href"]:
            assert given["href"][1:] in ids
    assert len(page.all("h1")) == 1 and len(page.all("main")) == 1
    levels = [int(tag[1]) for tag, _, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels)), levels
    for given, _ in page.all("svg"):
        assert given.get("aria-hidden") == "true" or given.get("aria-label"), given
    for given, _ in page.all("th"):
        assert given.get("scope") in ("row", "col")
    assert len(page.all("caption")) == len(page.all("table"))
    names = {tag for tag, given, _ in page.elements if tag in ("select", "input")}
    labels = [given for given, _ in page.all("label")]
    assert len(labels) == len([1 for tag, _, _ in page.elements if tag in names])


def _themes() -> tuple[dict[str, str], dict[str, str]]:
    """The colours of the light and of the dark theme."""
    css = own_files("base.css")
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)
    return {n: light for n, light, _ in found}, {n: dark for n, _, dark in found}


def _contrast(one: str, other: str) -> float:
    """WCAG's ratio of two #rrggbb colours."""

    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_contrast(theme):
    colours = _themes()[theme]
    inks = ("ink", "muted", "accent", "pass-ink", "fail-ink", "time-ink")
    for ground in ("paper", "raised"):
        for ink in inks:
            assert _contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    assert _contrast(colours["on-loud"], colours["loud"]) >= 4.5
    # Marks: against the page, and the two that must not be mistaken against each other.
    for mark in ("fail", "time", "kept", "bar"):
        assert _contrast(colours[mark], colours["paper"]) >= 3, mark
    assert _contrast(colours["fail"], colours["pass"]) >= 2


# ------------------------------------------------------------------------------------------ plots


def test_the_error_plot_holds_every_number():
    plot = error_plot([0.0, 1e-16, float("inf"), 1e300, float("nan"), 1e-10], 1e-9)
    assert [dot.is_wrong for dot in plot.dots] == [False, False, True, True, True, False]
    for dot in plot.dots:
        assert plot.left <= dot.x <= plot.right and plot.top <= dot.y <= plot.bottom
    # Logarithmic: equal factors are equal distances.
    steps = error_plot([1e-6, 1e-4, 1e-2], 1e-3).dots
    assert steps[0].y - steps[1].y == pytest.approx(steps[1].y - steps[2].y, abs=0.2)
    assert power(1e-9) == "10⁻⁹" and power(3e-5) == "3e-05"


def test_the_histogram_counts_everybody():
    values = [0, 0, 10, 50, 100, 100]
    plot = histogram(values, 100, 20, "points")
    assert sum(bar.count for bar in plot.bars) == len(values)
    assert plot.median == 30
    assert histogram([], 100, 20, "points") is None
    for most in (0.03, 1, 7, 176.5, 1000):
        labels = [tick.label for tick in histogram([most], most, 20, "points").x_ticks]
        assert 3 <= len(labels) <= 10, labels


# ----------------------------------------------------------------- what the records hold for this


def test_a_mismatch_tells_the_error_of_each_step():
    expected = np.zeros((200, 2, 3))
    got = expected.copy()
    got[1, 0, 0], got[3, 1, 2] = 0.5, -0.25
    with pytest.raises(Mismatch) as caught:
        check_array(got, expected, "the logits", ("step", "batch", "token"))
    errors = caught.value.error_by_step
    assert len(errors) == MAX_STEPS
    assert errors[:5] == (0.0, 0.5, 0.0, 0.25, 0.0)
    with pytest.raises(Mismatch) as caught:
        check_array(got, expected, "x", ("batch", "head", "token"))
    assert caught.value.error_by_step == ()


class Parrot:
    """A student whose decode says tokens in a row."""

    def __init__(self, logits_of=None) -> None:
        self.logits_of = logits_of or (lambda token: np.eye(8)[[(token + 1) % 8]])

    def load_model(self, config, params):
        return None

    KVCache = staticmethod(lambda *args: [])

    def prefill(self, model, tokens, cache):
        return self.logits_of(int(tokens[0, -1]))

    def decode_step(self, model, token, cache):
        return self.logits_of(int(token[0]))


CONFIG = {"n_layers": 1, "n_kv_heads": 1, "head_dim": 2, "vocab_size": 8}


def test_greedy_text_follows_the_likeliest_token():
    assert real_text.greedy(Parrot(), CONFIG, None, (0, 1), n_tokens=4) == [2, 3, 4, 5]
    assert real_text.greedy(Parrot(), CONFIG, None, (0,), n_tokens=9, seconds=-1) == [1]


@pytest.mark.parametrize(
    "logits", [None, np.zeros((1, 9)), np.full((1, 8), math.nan), np.zeros((1, 8), complex)]
)
def test_wrong_logits_give_no_text(logits):
    text = PublicText(Path("tokenizer.json"), "")
    assert text.of(Parrot(lambda token: logits), CONFIG, None) == ""


class FixedText:
    """A PublicText that needs no model."""

    expected = "right"

    def of(self, student, config, params) -> str:
        return "wrong"


@pytest.mark.parametrize(
    ("state", "texts"),
    [("failed", ("wrong", "right")), ("passed", ("", "right")), ("waiting", ("", ""))],
)
def test_the_model_writes_only_where_the_decode_is_wrong(state, texts):
    model = SimpleNamespace(text=FixedText(), config={})
    ignored = {name: lambda *_: None for name in ("begin_test", "mapped_params", "close")}
    remote = SimpleNamespace(**ignored)
    test = make_test(5, "5.1", "real", "real", "hidden", state=state)
    test = test.model_copy(update={"file": "test_real_model.py"})
    assert submission._texts(SimpleNamespace(real_model=model), remote, [test]) == texts
    assert submission._texts(SimpleNamespace(real_model=None), remote, [test]) == ("", "")


@pytest.mark.parametrize("case", ["public", "hidden"])
def test_what_is_plotted_is_kept_of_public_cases_only(case):
    callspec = SimpleNamespace(params={"oracle": case})
    item = SimpleNamespace(path=ASSIGNMENT / "test_x.py", callspec=callspec)
    wrong = {"error_by_step": (0.5,), "difference": object()}
    kept = result._plotted(item, SimpleNamespace(**wrong))
    assert kept == (wrong if case == "public" else {})


def test_where_an_array_is_wrong_is_drawn_from_the_record(tmp_path):
    wrong = Difference.of(np.eye(3, dtype=bool), ("query", "key"))
    test = make_test(2, "2.1", "mask", "mask", "public", **failed_decode(message="wrong"))
    test = test.model_copy(update={"difference": wrong, "error_by_step": ()})
    write_record(tmp_path, make_record("ana", [test]))
    record, why = read_record(tmp_path, "ana")
    assert record is not None, why
    [plot] = [
        a["aria-label"] for a, _ in Page(page_of(record)).all("svg") if a.get("role") == "img"
    ]
    assert plot == in_words(wrong) == "Something is wrong at query 0–2, key 0–2."


def test_a_page_is_made_again_only_where_something_of_it_has_changed(tmp_path):
    results, out = tmp_path / "results", tmp_path / "report"
    make_class(results, 3)
    policy = Policy.load()
    pages = out / "students"

    def made() -> set[str]:
        """The pages that a report writes."""
        before = {page.name: page.stat().st_ino for page in pages.glob("*.html")}
        build_report(results, out, policy)
        return {p.name for p in pages.glob("*.html") if p.stat().st_ino != before.get(p.name)}

    first, *_ = sorted(made())
    assert made() == set()
    (pages / first).write_text("edited")
    assert made() == {first} and "edited" not in (pages / first).read_text(encoding="utf-8")
    name = sorted(path.stem for path in results.glob("*.json"))[-1]
    record, _ = read_record(results, name)
    write_record(results, record.model_copy(update={"output_tail": "x"}))
    assert len(made()) == 1
    with words.speaking("zh"):
        assert len(made()) == 3
    policy = policy.model_copy(update={"decimals": 1})
    assert len(made()) == 3
