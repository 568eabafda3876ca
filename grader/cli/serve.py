"""`grader serve`: the report in a browser on this machine, filling in while a run goes on."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from grader.base.errors import GraderError
from grader.base.terminal import console_for_people, say
from grader.base.words import speak, tr
from grader.cli.options import LangOption, PolicyOption, ResultsOption, SubmittedOption


def serve_command(
    out: ResultsOption = Path("results"),
    port: Annotated[int, typer.Option(help="Of this machine; 0 takes a free one.")] = 0,
    policy: PolicyOption = None,
    submitted: SubmittedOption = None,
    lang: LangOption = None,
) -> None:
    """Show the class in a browser while it is graded, and mark and adjust there."""
    from grader.grades.policy_file import Policy
    from grader.serve.live import LiveReport
    from grader.serve.server import Server

    speak(lang)
    rules = Policy.load(policy)
    if out.exists() and not out.is_dir():
        raise GraderError(f"{out} is no folder. Name the folder of the results with --results.")
    with tempfile.TemporaryDirectory(prefix="grader-serve-") as folder:
        server = Server(LiveReport(out, Path(folder) / "report", rules, submitted), port)
        console = console_for_people()
        say(console, tr("Open {address}", address=server.address))
        say(console, tr("Only this machine can, and only with this address. Ctrl-C ends it."))
        with server:
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                say(console, tr("Ended; everything that was decided is kept."))
