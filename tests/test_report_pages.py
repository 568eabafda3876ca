"""The report's pages in a real browser: Chromium, headless."""

import json
import re
from html import unescape

import pytest
from report_support import class_records, dump_dom, make_class, make_record, require_chromium

from grader.base import words
from grader.base.notes import note
from grader.grades.policy import score
from grader.grades.policy_file import Policy
from grader.reports.pages.classroom import Classroom
from grader.reports.pages.site import build_report
from grader.results.record import write_record

MAX_BYTES = 3_000_000
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A report on 30 students, one of them hostile and one with a known bug of a name to find."""
    require_chromium()
    folder = tmp_path_factory.mktemp("site")
    make_class(folder / "results", 30)
    hostile = make_record(
        "mallory", state="missing", reason=HOSTILE, notes=(note("words", text=HOSTILE),)
    )
    write_record(folder / "results", hostile)
    build_report(folder / "results", folder / "report", Policy.load())
    return folder / "report"


def table_of(html: str) -> tuple[list[dict], str]:
    """The visible rows of the students' table, and the sentence that counts them."""
    body = html[html.index('id="table"') :].partition("<tbody>")[2].partition("</tbody>")[0]
    rows = []
    for attributes, row in re.findall(r"<tr([^>]*)>(.*?)</tr>", body, re.S):
        cells = [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        score_cell = cells[-2]
        if "hidden" not in attributes:
            number = None if score_cell == "–" else float(score_cell)
            rows.append({"name": cells[0], "state": cells[1], "score": number, "rest": cells[-1]})
    return rows, re.search(r'id="count"[^>]*>([^<]*)', html)[1]


def data_of(html: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])


def test_rows_are_sorted_by_score_with_errors_on_top(site):
    html, log = dump_dom(site / "index.html", "#sort=score&dir=desc")
    rows, count = table_of(html)
    assert count == "31 students" and len(rows) == 31
    assert [row["state"] for row in rows].index("error") == 0
    scores = [row["score"] for row in rows if row["score"] is not None]
    assert scores == sorted(scores, reverse=True) and len(set(scores)) > 5
    assert re.search(r'data-sort="score"[^>]*aria-sort="descending"', html)
    assert not log, log  # no refused script or style, no exception


def test_rows_are_sorted_by_a_test_and_filtered_by_part(site):
    html, _ = dump_dom(site / "index.html", "#sort=test:40&part=4")
    data = data_of(html)
    cells = {student[0]: student[5] for student in data["students"]}
    columns = [i for i, test in enumerate(data["tests"]) if test[0] == 4]
    rows, count = table_of(html)
    lost = {n for n, c in cells.items() if any(c[i] not in "pk-" for i in columns)}
    assert {row["name"] for row in rows} == lost and 0 < len(lost) < 31
    assert count.startswith(f"{len(lost)} of 31 students, by ")
    ranks = ["ftwnkp-".index(cells[row["name"]][40]) for row in rows if row["state"] != "error"]
    assert ranks == sorted(ranks) and len(set(ranks)) > 1


def test_rows_are_filtered_by_text_state_and_bug(site):
    html, _ = dump_dom(site / "index.html", "#q=MALL&state=missing")
    rows, count = table_of(html)
    assert [row["name"] for row in rows] == ["mallory"] and count == "1 of 31 students"
    name = next(student for student in data_of(html)["students"] if student[6])
    bug = data_of(html)["bugs"][name[6][0]]
    rows, _ = table_of(dump_dom(site / "index.html", f"#bug={bug}")[0])
    assert name[0] in [row["name"] for row in rows]
    assert all(bug in row["rest"] for row in rows)


def test_the_script_speaks_the_page_s_language(tmp_path):
    require_chromium()
    make_class(tmp_path / "results", 4)
    with words.speaking("zh"):
        build_report(tmp_path / "results", tmp_path / "report", Policy.load())
    html, log = dump_dom(tmp_path / "report" / "index.html", "#sort=test:3&dir=desc&state=error")
    rows, count = table_of(html)
    assert rows == [] and re.match(r"0 / 4 个学生，按 1\.1 .+（隐藏、case）", count), count
    assert re.search(r'id="theme"[^>]*>[深浅]色<', html) and ">降序 ↓<" in html
    assert 'aria-label="0 个学生、' in html
    assert not log, log


def test_hostile_text_runs_nothing(site):
    for page in ("index.html", "students/mallory.html"):
        html, log = dump_dom(site / page)
        assert "owned" not in re.search(r"<title>(.*?)</title>", html)[1]
        assert not re.search(r"<img|onerror=document[^&]*>", html.replace("&lt;img", ""))
        assert not log, log


def test_the_table_reads_without_script(site):
    """The file itself holds every student, points and link; the script only moves rows."""
    html = (site / "index.html").read_text(encoding="utf-8")
    rows, _ = table_of(html)
    assert len(rows) == 31 and rows[0]["state"] == "error"
    assert html.count('href="students/') >= 31
    assert re.search(r'<form id="controls"[^>]* hidden>', html) and "<noscript>" in html


MEASURE = """<script>addEventListener("load", () => {
  const right = (found) => Math.max(...[...document.querySelectorAll(found)]
    .filter((e) => e.textContent).map((e) => e.getBoundingClientRect().right));
  const map = document.getElementById("scroller");
  document.body.dataset.measured = JSON.stringify({
    wide: innerWidth, total: right("#table .total"), remark: right("#table .remark"),
    parts: right("#table [data-p]"), map: map.scrollWidth - map.clientWidth,
  });
});</script></body>"""


@pytest.mark.parametrize("width", [500, 1280])
def test_score_remarks_and_all_tests_are_in_sight(site, tmp_path, width):
    """On a narrow page (500 px are Chromium's least) the map scrolls, for its cells to be hit."""
    html = (site / "index.html").read_text(encoding="utf-8")
    page = tmp_path / "measured.html"
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', html)[0]
    page.write_text(html.replace(policy, "").replace("</body>", MEASURE), encoding="utf-8")
    found, _ = dump_dom(page, "", f"--window-size={width},900", "--virtual-time-budget=4000")
    measured = json.loads(unescape(re.search(r'data-measured="([^"]*)"', found)[1]))
    assert measured["wide"] == width
    assert max(measured[name] for name in ("total", "remark", "parts")) <= width
    assert (measured["map"] == 0) == (width == 1280)


def test_a_class_of_900_is_small_and_opens(tmp_path):
    policy = Policy.load()
    classroom = Classroom(policy)
    for record in class_records(900):
        classroom.add(record, score(record, policy))
    page = tmp_path / "index.html"
    page.write_text(classroom.page(), encoding="utf-8")
    size = page.stat().st_size
    assert size <= MAX_BYTES
    html, log = dump_dom(page, "", "--timeout=10000")
    rows, count = table_of(html)
    assert len(rows) == 900 and count == "900 students"
    assert not log, log
    opened = re.search(r'data-script-ms="(\d+)"(?: data-opened-ms="(\d+)")?', html)
    print(f"\n900 students: {size / 1000:.0f} kB, script {opened[1]} ms, opened {opened[2]} ms")
