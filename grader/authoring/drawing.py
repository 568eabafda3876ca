"""A small SVG drawing: boxes, lines, words, tables of cells, in the handout's colours."""

import math
from collections.abc import Iterable
from html import escape

INK, FAINT, GROUND = "#1f2933", "#7b8794", "#fbfcfd"
NEW, CACHED, BAD, NOTHING = "#f6b26b", "#a9c9ec", "#e06666", "#ffffff"
COSTLY, CHEAP = "#f2a49b", "#e3f0dc"
HEAD_COLOURS = ("#a9c9ec", "#f6b26b", "#b6d7a8", "#d5b8ea", "#ffe08a", "#f4a6b7")
CELL = 34
# A figure serves both languages: shown as `figure.svg#zh`, these words are in Chinese.
CHINESE = {
    "output": "输出",
    "recompute": "重算",
    "key, cached": "缓存的 key",
    "key, new": "新的 key",
    "q, k, v computed": "算出的 q, k, v",
    "k, v read from the cache": "从 cache 读的 k, v",
    "kv head = h // R": "KV 头 = h // R",
    **{f"step {n}": f"第 {n} 步" for n in range(1, 4)},
    **{f"head {n}": f"头 {n}" for n in range(2)},
}
_LANGUAGES = (
    "<style>.zh, svg:target .en { display: none } svg:target .zh { display: inline }</style>"
)


class Drawing:
    """An SVG being drawn; x to the right, y down, in pixels."""

    def __init__(self, width: int, height: int) -> None:
        self._lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" id="zh" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif" '
            f'font-size="14" fill="{INK}">{_LANGUAGES}',
            f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}" stroke="#d9dee3"/>',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{INK}"/>'
            "</marker></defs>",
        ]

    def text(
        self, x: float, y: float, text: str, *, at: str = "middle", style: str = "", size: int = 14
    ) -> None:
        """Words whose middle is at height y; `at` is start, middle or end."""
        chinese = CHINESE.get(text)
        for words, language in ((text, "en"), (chinese, "zh")) if chinese else ((text, ""),):
            marks = f'class="{language}" {style}' if language else style
            self._lines.append(
                f'<text x="{x:g}" y="{y + size * 0.35:.4g}" text-anchor="{at}" '
                f'font-size="{size}" {marks}>{escape(words)}</text>'.replace(" >", ">")
            )

    def code(self, x: float, y: float, text: str, *, at: str = "middle", size: int = 13) -> None:
        """The same as code."""
        self.text(x, y, text, at=at, size=size, style='font-family="Menlo, Consolas, monospace"')

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, text: str = ""
    ) -> None:
        """A rectangle with words in its middle."""
        self._lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" '
            f'stroke="{FAINT}"/>'
        )
        if text:
            self.text(x + width / 2, y + height / 2, text)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, arrow: bool = False, colour: str = INK
    ) -> None:
        tip = ' marker-end="url(#tip)"' if arrow else ""
        self._lines.append(
            f'<line x1="{x1:.5g}" y1="{y1:.5g}" x2="{x2:.5g}" y2="{y2:.5g}" stroke="{colour}" '
            f'stroke-width="1.6"{tip}/>'
        )

    def circle(self, x: float, y: float, radius: float) -> None:
        self._lines.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="none" stroke="{FAINT}"/>'
        )

    def arc(self, x: float, y: float, radius: float, start: float, end: float) -> None:
        """From angle `start` to `end`, less than a turn apart, counter-clockwise, in radians."""
        (x1, y1), (x2, y2) = (
            (x + radius * math.cos(angle), y - radius * math.sin(angle)) for angle in (start, end)
        )
        large = int((end - start) % (2 * math.pi) > math.pi)
        self._lines.append(
            f'<path d="M{x1:.5g},{y1:.5g} A{radius:g},{radius:g} 0 {large} 0 {x2:.5g},{y2:.5g}" '
            f'fill="none" stroke="{BAD}" stroke-width="2.5"/>'
        )

    def cells(
        self, x: float, y: float, rows: Iterable[Iterable[tuple[str, str]]], width: float = CELL
    ) -> None:
        """A table of (text, fill)."""
        for i, row in enumerate(rows):
            for j, (text, fill) in enumerate(row):
                self.box(x + j * width, y + i * CELL, width, CELL, fill, text)

    def legend(self, y: float, *entries: tuple[float, str, str], size: float = 16) -> None:
        """What colours mean, in one row: (x, fill, words)."""
        for x, fill, words in entries:
            self.box(x, y, size, size, fill)
            self.text(x + size + 8, y + size / 2, words, at="start", size=13)

    def svg(self) -> str:
        return "\n".join([*self._lines, "</svg>", ""])
