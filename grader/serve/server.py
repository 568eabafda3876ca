"""The server: this machine only, one token, and nothing that a page name does not lead to.

Whoever knows the token gets a cookie; a request without it learns nothing. The name that the
browser asked for must be this machine's, so that no foreign site's name can lead here, and what
changes something must come from a page of ours.
"""

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

from assignment.harness.page.document import document, heading
from assignment.harness.page.markup import element
from grader.base.errors import GraderError
from grader.base.words import tr
from grader.serve import desk
from grader.serve.live import LiveReport

HOST = "127.0.0.1"
COOKIE = "grader_serve"
# While a run is writing, the class page asks again by itself.
SECONDS_A_LOOK = 4
MAX_FORM_BYTES = 64 * 1024
STUDENTS, PAGES = "/students/", "/pages/"


class Server(ThreadingHTTPServer):
    """Serves one report; `address` is what to open in a browser.

    Raises:
        GraderError: the port is taken.
    """

    daemon_threads = True

    def __init__(self, report: LiveReport, port: int = 0) -> None:
        self.report, self.token = report, secrets.token_urlsafe(24)
        try:
            super().__init__((HOST, port), Handler)
        except (OSError, OverflowError) as problem:
            raise GraderError(
                f"Port {port} cannot be used ({problem}). Name another with --port, or 0 for any."
            ) from None

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    @property
    def names(self) -> tuple[str, ...]:
        """What a browser calls this server."""
        return tuple(f"{name}:{self.server_port}" for name in (HOST, "localhost"))


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    server_version, sys_version = "grader", ""
    timeout = 30.0  # for the whole of a request: who says nothing holds a thread no longer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if not self._is_from_here():
            return
        given = parse_qs(url.query).get("token", [""])[0]
        if given and self._is_token(given):
            cookie = f"{COOKIE}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
            # Not to `//elsewhere`, which is another host.
            place = quote(f"/{unquote(url.path, errors='replace').lstrip('/')}")
            self._send(303, b"", {"Location": place, "Set-Cookie": cookie})
        elif not self._has_cookie():
            self._refuse()
        else:
            self._show(unquote(url.path, errors="replace"))

    def do_POST(self) -> None:
        page = unquote(urlsplit(self.path).path, errors="replace")
        if not self._is_from_here():
            return
        if not self._has_cookie() or self.headers.get("Origin") not in self._origins():
            self._refuse()
            return
        self.server.report.refresh()
        score = self.server.report.score_of(page.removeprefix(STUDENTS))
        form = self._form()
        if score is None or form is None:
            self._say(404, tr("There is no such page."))
            return
        try:
            desk.take(self.server.report, score, form)
        except GraderError as problem:
            self._say(400, str(problem))
        else:
            self._send(303, b"", {"Location": quote(page)})

    def _show(self, path: str) -> None:
        report = self.server.report
        report.refresh()
        if path == "/":
            self._show_class()
        elif path.startswith(STUDENTS) and (score := report.score_of(path.removeprefix(STUDENTS))):
            page = desk.page(report, score, quote(f"{PAGES}{path.removeprefix(STUDENTS)}"))
            self._send(200, page.encode("utf-8", "replace"))
        elif path.startswith(PAGES) and report.score_of(path.removeprefix(PAGES)):
            self._send(200, report.student_page(path.removeprefix(PAGES)))
        else:
            self._say(404, tr("There is no such page."))

    def _show_class(self) -> None:
        report = self.server.report
        again = {"Refresh": str(SECONDS_A_LOOK)} if report.is_growing or report.problem else {}
        if report.problem:
            self._say(200, report.problem, again)
        else:
            self._send(200, report.index(), again)

    # ---------------------------------------------------------------------------- who may ask

    def _is_from_here(self) -> bool:
        if self.headers.get("Host", "") in self.server.names:
            return True
        self._say(421, tr("This address is not the grader's."))
        return False

    def _origins(self) -> tuple[str, ...]:
        return tuple(f"http://{name}" for name in self.server.names)

    def _has_cookie(self) -> bool:
        try:
            cookies = SimpleCookie(self.headers.get("Cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and self._is_token(cookies[COOKIE].value)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.server.token.encode())

    # ---------------------------------------------------------------------------- in and out

    def _form(self) -> dict[str, str] | None:
        """The fields that were sent, or None."""
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            return None
        if not 0 <= length <= MAX_FORM_BYTES:
            return None
        content = self.rfile.read(length).decode("utf-8", "replace")
        fields = parse_qs(content, keep_blank_values=True, max_num_fields=100)
        return {name: values[-1] for name, values in fields.items()}

    def _refuse(self) -> None:
        self._say(403, tr("Open the address that grader serve printed: it has the token in it."))

    def _say(self, status: int, sentence: str, more: dict[str, str] | None = None) -> None:
        title = tr("Class report")
        overline = tr("Attention and KV-cache decode")
        page = document(title, heading(overline, title), element("p", sentence))
        self._send(status, page.encode("utf-8", "replace"), more)

    def _send(self, status: int, content: bytes, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        fixed = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": str(len(content)),
            "Cache-Control": "no-store",
            "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "SAMEORIGIN",
        }
        for name, value in (fixed | (more or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the first line of a request holds the token."""
