"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

# `--out` is where a command writes, `--results` where the results are: for a run the same folder.
OutOption = Annotated[Path, typer.Option("--out", "--results", help="Folder of the results.")]
ResultsOption = Annotated[Path, typer.Option("--results", help="Folder of the results.")]
# Of what students get: it should not depend on whose machine it is made on.
TextLangOption = Annotated[
    Literal["en", "zh"],
    typer.Option("--lang", help="Language of the notebook's text, notebook 正文的语言."),
]
# Given to grader.base.words.speak, which takes None for the locale's.
LangOption = Annotated[
    Literal["en", "zh"] | None,
    typer.Option(
        "--lang",
        help="Language of what is said, 信息的语言; errors of the grader itself are in English.",
        show_default="the locale's",
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", help="Points, lateness, attempts; see grader/grades/policy.toml."),
]
SubmittedOption = Annotated[
    Path | None,
    typer.Option(
        "--submitted",
        help="CSV of who submitted when: student,submitted_at, and submission (the result's name) "
        "for students with several.",
    ),
]
