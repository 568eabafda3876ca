"""`grader serve`: what it shows and to whom, and that what is decided there is kept."""

import http.client
import re
import threading
from urllib.parse import quote, urlencode, urlsplit

import pytest
from report_support import dump_dom, make_record, make_test, require_chromium

from grader.base import words
from grader.base.errors import GraderError
from grader.grades.policy_file import Policy
from grader.results.history import replace_record
from grader.results.marks import read_marks
from grader.results.record import write_record
from grader.running.locks import LOCK_NAME, results_lock
from grader.serve import desk
from grader.serve import server as serving
from grader.serve.live import LiveReport
from grader.serve.server import Server

TESTS = [make_test(4, "4.3", f"t{n}", f"t{n}", "public") for n in range(3)]
HOSTILE = "<script>alert(1)</script>"


class Browser:
    """Asks a server as a browser with its cookies does."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.headers = {"Host": server.names[0]}

    def ask(self, path: str, form: dict | None = None, **headers: str):
        """Status, headers and text of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=20)
        body = None if form is None else urlencode(form)
        method = "GET" if form is None else "POST"
        connection.request(method, path, body, self.headers | headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, dict(answer.getheaders()), text

    def log_in(self) -> "Browser":
        address = urlsplit(self.server.address)
        _, headers, _ = self.ask(f"/?{address.query}")
        self.headers |= {"Cookie": headers["Set-Cookie"].partition(";")[0]}
        self.headers["Origin"] = f"http://{self.server.names[0]}"
        return self


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    write_record(folder, make_record("ana", TESTS))
    return folder


@pytest.fixture
def server(results, tmp_path):
    with Server(LiveReport(results, tmp_path / "report", Policy.load())) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def browser(server):
    return Browser(server).log_in()


def test_nothing_is_shown_without_the_token(server):
    stranger = Browser(server)
    for path in ("/", "/students/ana.html", "/pages/ana.html", "/?token=x", "/?token="):
        status, headers, text = stranger.ask(path)
        assert status == 403 and "ana" not in text and "Set-Cookie" not in headers
    assert stranger.ask("/", Cookie="grader_serve=x")[0] == 403
    assert stranger.ask("/students/ana.html", {"kind": "points"})[0] == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(server):
    status, headers, _ = Browser(server).ask(f"//elsewhere.example/?token={server.token}")
    assert status == 303 and headers["Location"].startswith("/elsewhere")
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]


def test_another_name_for_this_machine_leads_nowhere(browser):
    status, _, text = browser.ask("/", Host="evil.example")
    assert status == 421 and "ana" not in text


@pytest.mark.parametrize(
    "path",
    [
        "/students/bob.html",
        "/students/../results/ana.json",
        "/students/%2e%2e/%2e%2e/results/ana.json",
        "/pages//etc/passwd",
        "/pages/..%2f..%2fresults%2fana.json",
        "/index.html",
        "/students/",
        "/%00",
    ],
)
def test_no_path_leads_out_of_the_pages(browser, path):
    assert browser.ask(path)[0] == 404


def test_the_class_fills_in_while_it_is_graded(browser, results):
    assert "ana" in browser.ask("/")[2] and "bob" not in browser.ask("/")[2]
    assert "Refresh" not in browser.ask("/")[1]
    with results_lock(results):
        write_record(results, make_record("bob", TESTS))
        _, headers, text = browser.ask("/")
        assert "bob" in text and headers["Refresh"] == str(serving.SECONDS_A_LOOK)
    assert (results / LOCK_NAME).read_bytes() == b""
    assert "Refresh" not in browser.ask("/")[1]


def test_before_the_first_result_the_page_waits(browser, results):
    (results / "ana.json").unlink()
    status, headers, text = browser.ask("/")
    assert status == 200 and "There are no results" in text and "Refresh" in headers


def test_attempts_stand_beside_each_other(browser, results):
    replace_record(results, make_record("ana", TESTS[:1], submission_hash="1" * 16))
    text = browser.ask("/students/ana.html")[2]
    assert "ana, before" in text and "ana, counts" in text
    assert re.search(r"Points</th><td[^>]*>3</td><td[^>]*>1</td>", text)


def test_a_decision_is_kept_as_that_of_the_command_line(browser, results):
    form = {"kind": "points", "points": "-1", "part": "4", "text": HOSTILE, "by": "kim"}
    status, headers, _ = browser.ask("/students/ana.html", form)
    assert (status, headers["Location"]) == (303, "/students/ana.html")
    (mark,) = read_marks(results)
    assert (mark.student, mark.by, mark.points, mark.part) == ("ana", "kim", -1.0, 4)
    assert (mark.before, mark.after) == (3.0, 2.0)
    text = browser.ask("/students/ana.html")[2]
    assert HOSTILE not in text and "&lt;script&gt;" in text
    browser.ask("/students/ana.html", {"kind": "withdrawn", "mark": mark.id})
    assert browser.ask("/")[0] == 200 and read_marks(results)[-1].after == 3.0
    answer = {"kind": "answer", "question": "rope-is-relative", "points": "2.5"}
    assert browser.ask("/students/ana.html", answer)[0] == 303


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"kind": "points", "points": "3"}, "Say why"),
        ({"kind": "points", "points": "x", "text": "y"}, "&#x27;x&#x27; is no number"),
        ({"kind": "points", "points": "nan", "text": "y"}, "&#x27;nan&#x27; is no number"),
        ({"kind": "points", "points": "1", "part": "nan", "text": "y"}, "no part nan"),
        ({"kind": "points", "points": "1", "part": "99", "text": "y"}, "no part 99"),
        ({"kind": "fire", "text": "y"}, "no decision"),
        ({"kind": "answer", "question": "rope-is-relative", "points": "9"}, "has 0 to 4 points"),
        ({"kind": "answer", "question": "why", "points": "1"}, "no question"),
        ({"kind": "withdrawn", "mark": "0"}, "is no mark of ana that counts"),
    ],
)
def test_what_cannot_be_decided_is_a_sentence_and_changes_nothing(browser, results, form, sentence):
    status, _, text = browser.ask("/students/ana.html", form)
    assert status == 400 and sentence in text and len(read_marks(results)) == 0


def test_somebody_with_a_chinese_id_is_judged_too(browser, results):
    write_record(results, make_record("王芳_12", TESTS))
    page = quote("/students/王芳_12.html")
    status, headers, _ = browser.ask(page, {"kind": "comment", "text": "good"})
    assert (status, headers["Location"]) == (303, page)
    status, _, text = browser.ask(page)
    assert status == 200 and f'src="{quote("/pages/王芳_12.html")}"' in text


def test_a_changed_roster_is_seen(browser, results):
    assert "Ana Alba" not in browser.ask("/")[2]
    (results / "roster.csv").write_text("id,name\nana,Ana Alba\n")
    assert "Ana Alba" in browser.ask("/")[2]


def test_a_form_of_another_site_changes_nothing(browser, results):
    form = {"kind": "points", "points": "1", "text": "y"}
    for origin in ("http://evil.example", "null", ""):
        assert browser.ask("/students/ana.html", form, Origin=origin)[0] == 403
    assert browser.ask("/students/bob.html", form)[0] == 404
    assert browser.ask("/students/ana.html", form | {"by": "x" * 70_000})[0] == 404
    assert len(read_marks(results)) == 0


def test_a_port_in_use_is_a_sentence(server, tmp_path):
    report = LiveReport(tmp_path, tmp_path / "other", Policy.load())
    with pytest.raises(GraderError, match=f"Port {server.server_port} cannot be used"):
        Server(report, server.server_port)


SUBMIT = """<script>addEventListener("load", () => {
  const form = document.querySelector("form.decide");
  if (document.querySelector("form.inline")) return;  // decided already
  form.elements.points.value = "-1";
  form.elements.text.value = "talked";
  form.requestSubmit();
});</script></body>"""


def test_a_form_of_a_real_browser_is_taken(server, results, monkeypatch):
    """What it says of where a form comes from hangs on the page's own rules."""
    require_chromium()
    made = desk.page

    def with_hands(*arguments) -> str:
        html = made(*arguments)
        html = re.sub(r"script-src [^;]*;", "script-src 'unsafe-inline';", html)
        return html.replace("</body>", SUBMIT)

    monkeypatch.setattr(desk, "page", with_hands)
    query = urlsplit(server.address).query
    html, _ = dump_dom(f"http://{server.names[0]}/students/ana.html?{query}")
    (mark,) = read_marks(results)
    assert (mark.kind, mark.points, mark.text) == ("points", -1.0, "talked") and "talked" in html


def test_a_real_browser_shows_desk_and_page_in_chinese(server):
    require_chromium()
    with words.speaking("zh"):
        query = urlsplit(server.address).query
        address = f"http://{server.names[0]}/students/ana.html?{query}"
        html, log = dump_dom(address)
    assert not log, log
    assert "人工的决定" in html and "作决定" in html and 'src="/pages/ana.html"' in html
