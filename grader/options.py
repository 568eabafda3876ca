"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

OutOption = Annotated[Path, typer.Option("--out", "--results", help="Folder of the results.")]
