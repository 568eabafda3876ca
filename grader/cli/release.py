"""`grader release OUT`: the students' bundle; with --gradescope, the autograder instead."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.base.errors import GraderError
from grader.base.terminal import say
from grader.cli.options import TextLangOption


def release_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write to.")],
    gradescope: Annotated[
        bool, typer.Option("--gradescope", help="Write autograder.zip for Gradescope instead.")
    ] = False,
    policy: Annotated[
        Path | None,
        typer.Option(help="Policy file for --gradescope.", show_default="the grader's own"),
    ] = None,
    secret_file: Annotated[
        Path | None, typer.Option(help="Secret behind the hidden cases, for --gradescope.")
    ] = None,
    late: Annotated[
        bool,
        typer.Option(
            "--late",
            help="With --gradescope: take off for lateness by the policy file, too. Without, "
            "lateness is left to Gradescope.",
        ),
    ] = False,
    url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Where the zip will lie: homework.ipynb fetches it there when it stands alone, as "
            "on Colab.",
        ),
    ] = "",
    lang: TextLangOption = "en",
) -> None:
    """Write what students get: kv-cache-homework/ and the same as kv-cache-homework.zip."""
    if url and not url.startswith(("https://", "http://")):
        raise GraderError(
            f"--url {url} is no address of the web: https://.../kv-cache-homework.zip"
        )
    if gradescope:
        _release_autograder(out, policy, secret_file, late, lang)
    elif policy or secret_file or late:
        raise GraderError(
            "--policy, --secret-file and --late are about grading; students get none of it. Use "
            "them with --gradescope."
        )
    else:
        _release_bundle(out, lang, url)


def _release_bundle(out: Path, lang: str, url: str) -> None:
    from grader.integrations.release.archive import File, zip_bytes
    from grader.integrations.release.bundle import NAME, bundle_files
    from grader.integrations.release.place import write_release

    files = bundle_files(lang, url)
    archive = zip_bytes({f"{NAME}/{name}": file for name, file in files.items()})
    write_release(out, {NAME: files, f"{NAME}.zip": File(archive)})
    console = Console()
    say(console, f"{len(files)} files, for the students: {out / NAME}/ and {out / NAME}.zip")
    say(console, f"{len(archive) / 2**20:.1f} MiB; no line of the solution or the reference in it.")


def _release_autograder(
    out: Path, policy: Path | None, secret_file: Path | None, late: bool, lang: str
) -> None:
    from grader.base.seeds import load_secret
    from grader.integrations.release.archive import File, zip_bytes
    from grader.integrations.release.gradescope import NAME, autograder_files
    from grader.integrations.release.place import write_release

    console = Console(stderr=True)
    secret = load_secret(secret_file)
    if secret.created:
        say(
            console,
            f"A new secret for the hidden cases was made: {secret.path}. Keep a copy; without it "
            "the same cases cannot be made again.",
        )
    files, notes = autograder_files(secret, policy, late, lang)
    write_release(out, {NAME: File(zip_bytes(files), mode=0o600)})
    for note in notes:
        say(console, note)
    say(
        console,
        f"WARNING: {NAME} holds the secret of the hidden cases, the solution and the hidden tests. "
        "Upload it to Gradescope and give it to nobody; it is readable to you alone.",
    )
    say(Console(), f"For Gradescope: {out / NAME}")
