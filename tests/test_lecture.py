"""`python -m reference_model.lecture`: every table is made, and every plot is a picture."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rich", reason="the lecture needs rich")
pytest.importorskip("typer", reason="the lecture needs typer")

from reference_model.lecture.table import all_tables, texts

# Figures that the document prints, as the tables show them.
PRINTED = {
    "temperature": ("0.665", "0.867", "0.506"),
    "word2vec-cost": ("502,505,000", "2,515,000", "25,500"),
    "parameters": ("824,448", "757,760"),
    "prefill": ("3.69", "32.2 ms"),
    "decode-alone": ("3.37", "0.80", "0.31"),
    "batched-decode": ("31.1", "169", "6,074"),
    "gqa-intensity": ("7.53", "7.94", "8.00"),
    "what-a-cache-saves": ("4,248 times",),
    "analogies": ("100%", "throne", "palace"),
    "variants": ("131",),
}


@pytest.mark.parametrize("name", all_tables())
def test_a_table_has_its_rows_and_figures(name):
    made = all_tables()[name]()
    assert made.rows and all(len(row) == len(made.columns) for row in made.rows)
    shown = " ".join([*(cell for row in made.rows for cell in row), made.note])
    assert "nan" not in shown
    for figure in PRINTED.get(name, ()):
        assert figure in shown


def test_numbers_as_texts():
    assert texts([(0.12345, 1234567, 2684.35, "a", True, 12.0)]) == [
        ("0.123", "1,234,567", "2,684", "a", "yes", "12")
    ]


def test_an_unknown_table_is_named():
    command = [sys.executable, "-m", "reference_model.lecture", "entropy"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.returncode == 2
    assert "entropy" in done.stdout and "roofline" not in done.stderr
    assert "Traceback" not in done.stderr


def test_plots_are_pictures(tmp_path):
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    from reference_model.lecture.plots import PLOTS, write_plots

    paths = write_plots(tmp_path / "plots")
    assert [path.stem for path in paths] == list(PLOTS)
    for path in paths:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) > 10_000
