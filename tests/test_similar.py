"""Shared code is found, however it is dressed up; nobody is named for what all were given."""

import itertools
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.authoring.sample_class import KEPT
from grader.base.errors import GraderError
from grader.cli.main import app
from grader.reports.similar import compare
from grader.reports.similar.compare import compare_class
from grader.reports.similar.fingerprints import (
    GRAM,
    WINDOW,
    Fingerprints,
    TooSlow,
    all_fingerprints,
    fingerprints,
)
from grader.reports.similar.passages import shared_pieces
from grader.reports.similar.ranking import rank_pairs
from grader.reports.similar.site import write_pages
from solution import attention

SOURCE = Path(attention.__file__).parent
SKELETON = SOURCE.parent / "assignment"
MODULES = ("attention", "rope", "kv_cache", "gqa", "mla", "sampling")

# Words of Python and numpy keep their meaning; all others may be renamed.
OWN_NAME = re.compile(r"(?<![.\w])(scores|weights|batch|length|angles|cos|sin|even|odd|rotated)\b")


def disguise(source: str) -> str:
    """Other names, other comments, other spacing, no docstrings."""
    source = re.sub(r'""".*?"""', '"""my own words"""', source, flags=re.DOTALL)
    source = OWN_NAME.sub(lambda name: f"my_{name[0]}", source)
    source = re.sub(r"#.*", "# mine", source)
    return source.replace(", ", " ,").replace(" = ", "=")


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory, sample_class) -> Path:
    """Five different submissions, and one that is the fifth in disguise."""
    folder = tmp_path_factory.mktemp("class")
    for name in ("correct-loops", "correct-einsum", "correct-preallocated", "bug-recompute"):
        shutil.copytree(sample_class / name, folder / name)
    for student, change in (("author", str), ("copier", disguise)):
        (folder / student).mkdir()
        for module in MODULES:
            text = (SOURCE / f"{module}.py").read_text()
            (folder / student / f"{module}.py").write_text(change(text))
    return folder


@pytest.fixture(scope="module")
def comparison(class_folder):
    return compare_class([class_folder])


def names(comparison, pair) -> set[str]:
    return {comparison.texts[pair.first].student, comparison.texts[pair.second].student}


def test_a_copy_in_disguise_comes_first_and_alone(comparison):
    first, second = comparison.pairs[:2]
    assert names(comparison, first) == {"author", "copier"}
    assert first.score > 0.9
    assert second.score < 0.7


def test_the_skeleton_is_nobodys_work(tmp_path):
    """Two who hand in the stubs as they got them have nothing in common."""
    for student in ("one", "two"):
        (tmp_path / student).mkdir()
        for module in MODULES:
            shutil.copy(SKELETON / f"{module}.py", tmp_path / student)
    untouched = compare_class([tmp_path])
    assert [dict(one.places) for one in untouched.prints] == [{}, {}]
    assert untouched.pairs == []


def test_code_that_moved_to_another_file_is_found(tmp_path):
    """Everything in one helper module, the rest imports it."""
    loops = KEPT / "correct-loops"
    shutil.copytree(loops, tmp_path / "author")
    (tmp_path / "mover").mkdir()
    whole = "\n".join(path.read_text() for path in sorted(loops.glob("*.py"), reverse=True))
    (tmp_path / "mover" / "attention.py").write_text(whole)
    shutil.copytree(KEPT / "correct-einsum", tmp_path / "other")
    found = compare_class([tmp_path])
    assert names(found, found.pairs[0]) == {"author", "mover"}
    assert found.pairs[0].score > 0.9


def test_a_notebook_is_compared_with_files(tmp_path):
    shutil.copy(KEPT / "notebook.ipynb", tmp_path / "notebook.ipynb")
    shutil.copytree(KEPT / "correct-loops", tmp_path / "files")
    found = compare_class([tmp_path])
    assert {text.student for text in found.texts} == {"notebook", "files"}
    assert "def softmax" in found.texts[0].code and "def softmax" in found.texts[1].code


def test_what_was_given_counts_nothing(class_folder, tmp_path):
    lecture = tmp_path / "lecture.py"
    lecture.write_text("\n".join((SOURCE / f"{module}.py").read_text() for module in MODULES))
    found = compare_class([class_folder], given=[lecture])
    assert {"author", "copier"} not in [names(found, pair) for pair in found.pairs]


def prints(*values: str) -> Fingerprints:
    return Fingerprints({value.encode(): [(0, 1)] for value in values})


def test_rare_code_weighs_more_than_common():
    """Both pairs share 20 of 40 runs; the runs of the second pair are everybody's."""
    common = [f"common{i}" for i in range(20)]

    def own(name):
        return [f"{name}{i}" for i in range(20)]

    students = [
        prints(*own("a"), *own("secret")),
        prints(*own("b"), *own("secret")),
        *(prints(*own(name), *common) for name in "cdefgh"),
    ]
    ranked = rank_pairs(students)
    assert (ranked[0].first, ranked[0].second) == (0, 1)
    assert ranked[0].only_these == 20
    assert ranked[0].score > 1.5 * ranked[1].score


def test_too_little_to_judge_is_not_ranked():
    few = [prints(*(f"x{i}" for i in range(5)))] * 2
    assert rank_pairs(few) == []
    enough = [prints(*(f"x{i}" for i in range(15)))] * 2
    assert rank_pairs(enough)[0].score == pytest.approx(1)


TOKENS = st.lists(st.sampled_from("a+-*/()[]:.,=@%&|^~<>17"), min_size=0, max_size=60)


@given(TOKENS, TOKENS, TOKENS, TOKENS, st.lists(st.sampled_from("+-*/@%&|^"), min_size=30))
def test_a_long_enough_shared_run_is_always_found(before, after, left, right, run):
    """Winnowing's guarantee, whatever stands around the run."""
    run = run[: GRAM + WINDOW + 6]
    one = " ".join([*before, *run, *after])
    other = " ".join([*left, *run, *right])
    assert fingerprints(one).places.keys() & fingerprints(other).places.keys()


@given(st.text(max_size=300), st.text(max_size=300))
def test_pieces_are_the_text(one, other):
    first, second = all_fingerprints(one), all_fingerprints(other + one)
    pieces = shared_pieces(one, first, second, frozenset(first.places))
    assert "".join(piece.text for piece in pieces) == one
    assert all(a.shared != b.shared for a, b in itertools.pairwise(pieces))


def test_places_are_where_the_code_stands():
    """Also behind classes, strings and comments, which are replaced or left out."""
    text = 'class A:\n    """Doc."""\n    x = "é"  # note\n\n' + "y = [1, 2, 3, 4, 5, 6, 7]\n"
    at = [place for places in all_fingerprints(text).places.values() for place in places]
    start, end = max(at)
    assert text[start:end].endswith("7]") or text[start:end].endswith("7]\n")
    assert (min(at)[0]) == 0


# --- the pages --------------------------------------------------------------------------------

HOSTILE = "</pre><script>alert(1)</script>\u202e\x1b[31m & <img src=x>"


@pytest.fixture
def pages(tmp_path):
    for student in ("a", "b"):
        shutil.copytree(KEPT / "correct-loops", tmp_path / "class" / f"{student}<b>x")
        code = tmp_path / "class" / f"{student}<b>x" / "attention.py"
        code.write_text(f'{code.read_text()}\nNOTE = """{HOSTILE}"""\n')
    write_pages(compare_class([tmp_path / "class"]), tmp_path / "out")
    return {path.name: path.read_text() for path in (tmp_path / "out").glob("*.html")}


def test_what_students_wrote_is_escaped(pages):
    assert set(pages) == {"index.html", "pair-001.html"}
    for page in pages.values():
        assert "<script>alert" not in page and "<img" not in page and "<b>x" not in page
        assert "\u202e" not in page and "\x1b" not in page
    assert "&lt;/pre&gt;&lt;script&gt;" in pages["pair-001.html"]


def test_the_page_says_that_it_is_a_place_to_look(pages):
    assert "where to look, not who copied" in pages["index.html"]
    assert 'href="pair-001.html"' in pages["index.html"]


# --- bad input --------------------------------------------------------------------------------


def run(*arguments) -> str:
    result = CliRunner().invoke(app, ["similar", *map(str, arguments)])
    return f"{result.exit_code} {result.output}"


def test_one_submission_cannot_be_compared(tmp_path):
    shutil.copytree(KEPT / "correct-loops", tmp_path / "class" / "only")
    (tmp_path / "class" / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    said = run(tmp_path / "class", "--out", tmp_path / "out")
    assert said.startswith("2 ") and "at least two" in said and "broken" in said
    assert not (tmp_path / "out").exists()


def test_a_broken_submission_is_listed_and_the_rest_compared(class_folder, tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    said = run(class_folder, tmp_path / "broken.zip", "--out", tmp_path / "out")
    assert said.startswith("0 ") and "broken: not compared" in said


def test_a_folder_with_other_files_is_left_alone(class_folder, tmp_path):
    (tmp_path / "thesis.tex").touch()
    assert "holds files" in run(class_folder, "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_missing_file_of_given_code_is_named(class_folder, tmp_path):
    said = run(class_folder, "--given", tmp_path / "none.py", "--out", tmp_path / "out")
    assert said.startswith("2 ") and "none.py" in said


def test_a_text_that_takes_too_long_is_listed(class_folder, monkeypatch):
    def slow(text):
        if "my_scores" in text:
            raise TooSlow
        return fingerprints(text)

    monkeypatch.setattr(compare, "fingerprints", slow)
    found = compare_class([class_folder])
    assert any("copier: not compared" in problem for problem in found.problems)
    assert "author" in {text.student for text in found.texts}


def test_nothing_to_compare_is_said(tmp_path):
    with pytest.raises(GraderError):
        compare_class([tmp_path])
