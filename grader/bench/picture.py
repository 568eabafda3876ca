"""The picture of `grader bench`: time per token against context, in the language spoken."""

from __future__ import annotations

import contextlib
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from grader.base.errors import GraderError
from grader.base.words import language, speaking, tr
from grader.bench.analysis import Analysis
from grader.bench.setting import Setting

# Fonts with Chinese signs, as systems have them.
CHINESE_FONTS = (
    *("PingFang SC", "Hiragino Sans GB", "Heiti SC", "Microsoft YaHei", "SimHei"),
    *("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback"),
)
_CHINESE_FILES = re.compile(r"(?i)wqy|cjk|sourcehan|notosanssc|simhei|msyh|pingfang|hiragino|droid")


def plot(path: Path, analysis: Analysis, setting: Setting, student: str) -> None:
    """Time per token against context, on logarithmic axes."""
    try:
        import matplotlib
    except ImportError:
        raise GraderError(
            "The plot needs matplotlib, which is not installed: pip install matplotlib. Everything "
            "else works without --plot."
        ) from None
    matplotlib.use("Agg")
    with matplotlib.rc_context(_fonts()), _readable(path), warnings.catch_warnings():
        # In an SVG a sign that no font has here is text all the same.
        warnings.filterwarnings("ignore", r"Glyph .* missing")
        _draw(path, analysis, setting, student)


@cache
def _installed_chinese_fonts() -> tuple[str, ...]:
    from matplotlib import font_manager

    known = font_manager.fontManager
    # matplotlib's list is made once, and may be older than the fonts.
    listed = {font.fname for font in known.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in listed and _CHINESE_FILES.search(Path(path).name):
            with contextlib.suppress(OSError, RuntimeError):
                known.addfont(path)
    installed = {font.name for font in known.ttflist}
    return tuple(name for name in CHINESE_FONTS if name in installed)


def _fonts() -> dict[str, Any]:
    """Text of an SVG stays text, so that whoever looks at it has the font for it."""
    # In English, too: names are of every script.
    return {"svg.fonttype": "none", "font.family": ["DejaVu Sans", *_installed_chinese_fonts()]}


def _readable(path: Path) -> contextlib.AbstractContextManager:
    """English words where a picture's Chinese ones would be boxes."""
    drawable = path.suffix == ".svg" or _installed_chinese_fonts()
    return contextlib.nullcontext() if language() == "en" or drawable else speaking("en")


def _draw(path: Path, analysis: Analysis, setting: Setting, student: str) -> None:
    from matplotlib import pyplot

    contexts = [row.context for row in analysis.rows]
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for label, name, style in (
        (tr("naive recompute"), "naive", "s--"),
        (student, "step", "o-"),
        (tr("solution"), "ours", "^-"),
        (tr("bound: plain matrix-vector products"), "bound", "k:"),
    ):
        # No mathematics in what a student may have named.
        times = [getattr(row, name) * 1e3 for row in analysis.rows]
        axes.plot(contexts, times, style, label=label.replace("$", r"\$"))
    low, high = zip(*(row.step_spread for row in analysis.rows), strict=True)
    axes.fill_between(contexts, [t * 1e3 for t in low], [t * 1e3 for t in high], alpha=0.2)
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel=tr("context (tokens)"), ylabel=tr("ms per token"))
    axes.set_xticks([], minor=True)  # their labels would lie on those of the contexts
    axes.set_xticks(contexts, [str(context) for context in contexts])
    axes.set_title(f"{setting.impl}, {setting.device}, {setting.dtype}, {setting.config.name}")
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path, format=path.suffix.lstrip(".") or "png")
    except (OSError, ValueError) as problem:
        raise GraderError(f"The plot {path} cannot be written: {problem}.") from None
    finally:
        pyplot.close(figure)
