"""Draw the handout's figures: small SVG files, made from the numbers that the text works out.

python -m grader.authoring.figures            write assignment/figures/*.svg
python -m grader.authoring.figures --check    only say which are stale (exit code 1)

One file serves both languages: what is written in it is code, numbers and symbols, and a few words
that `figure.svg#zh` shows in Chinese. Each stands on a light ground and is readable on a dark page.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable

import numpy as np

from grader.authoring.drawing import (
    BAD,
    CACHED,
    CELL,
    CHEAP,
    COSTLY,
    FAINT,
    HEAD_COLOURS,
    NEW,
    NOTHING,
    Drawing,
)
from grader.authoring.skeleton import ASSIGNMENT
from reference_model import accounting
from reference_model.accounting import H100, LLAMA31_8B

FOLDER = ASSIGNMENT / "figures"


def attention() -> str:
    """Part 1: the three tokens worked by hand, weights times values."""
    q, k = np.array([[0.0, 1], [1, 1], [1, 0]]), np.array([[1.0, 0], [0, 1], [1, 1]])
    v = np.array([[10.0, 0], [0, 10], [5, 5]])
    weights = np.exp(q @ k.T / math.sqrt(2)) * np.tri(3)
    weights /= weights.sum(axis=1, keepdims=True)
    drawing = Drawing(640, 204)
    left, top, wide = 90, 56, 56
    for i in range(3):
        drawing.text(left + (i + 0.5) * wide, top - 14, f"k{i + 1}")
        drawing.text(left - 14, top + (i + 0.5) * CELL, f"q{i + 1}", at="end")
        for j in range(3):
            shade = f"rgb({[round(255 - (255 - c) * weights[i, j]) for c in (246, 150, 60)]})"
            fill = shade.replace("[", "").replace("]", "") if j <= i else "#e4e7eb"
            text = f"{weights[i, j]:.3g}" if j <= i else "0"
            drawing.box(left + j * wide, top + i * CELL, wide, CELL, fill, text)
    drawing.text(left + 1.5 * wide, top + 3.6 * CELL, "softmax(q kᵀ / √2)")
    drawing.text(293, top + 1.5 * CELL, "×", size=20)
    drawing.cells(330, top, [[(f"{n:g}", CACHED) for n in row] for row in v], 46)
    drawing.text(376, top + 3.6 * CELL, "v")
    drawing.text(456, top + 1.5 * CELL, "=", size=20)
    out = [[(f"{n:.3g}", "#b6d7a8") for n in row] for row in weights @ v]
    drawing.cells(490, top, out, 54)
    drawing.text(544, top + 3.6 * CELL, "output")
    return drawing.svg()


def mask() -> str:
    """Part 2: the causal mask with a cache, and the one that is aligned at the wrong corner."""
    drawing = Drawing(760, 232)
    panels = (
        (60, 4, 4, 0, "causal_mask(4, 4)"),
        (246, 3, 7, 4, "causal_mask(3, 7)"),
        (540, 3, 7, 0, "✗ np.tril(…)"),
    )
    size = 28
    for left, rows, columns, offset, title in panels:
        top = 74
        drawing.code(left + columns * size / 2, 24, title)
        for j in range(columns):
            drawing.text(left + (j + 0.5) * size, top - 14, str(j), size=12)
        first = columns - rows
        for i in range(rows):
            drawing.text(left - 10, top + (i + 0.5) * size, str(first + i), at="end", size=12)
            for j in range(columns):
                sees = j <= i + offset
                right = j <= i + first
                fill = (CACHED if j < first else NEW) if sees else NOTHING
                sign = "✓" if sees else ""
                drawing.box(left + j * size, top + i * size, size, size, fill, sign)
                if sees != right:
                    drawing.text(left + (j + 0.5) * size, top + (i + 0.5) * size, "✗", size=13)
    drawing.legend(196, (246, CACHED, "key, cached"), (386, NEW, "key, new"))
    return drawing.svg()


def heads() -> str:
    """Part 2: what split_heads does, and what a mere reshape does."""
    drawing = Drawing(720, 216)
    x = np.array([[0, 1, 2, 3], [10, 11, 12, 13]])
    top, colour = 66, lambda n: HEAD_COLOURS[0] if n % 10 < 2 else HEAD_COLOURS[1]
    drawing.code(118, 30, "x  (T, H·d_h)")
    drawing.cells(50, top + 18, [[(str(n), colour(n)) for n in row] for row in x])
    for t in range(2):
        drawing.text(40, top + 18 + (t + 0.5) * CELL, f"t{t}", at="end", size=12)
    drawing.line(206, top + 52, 252, top + 52, arrow=True)
    drawing.code(357, 30, "split_heads(x, 2)")
    drawing.code(585, 30, "✗ x.reshape(2, 2, 2)")
    right, wrong = x.reshape(2, 2, 2).transpose(1, 0, 2), x.reshape(2, 2, 2)
    for left, array in ((280, right), (508, wrong)):
        for h in range(2):
            at = left + h * 86
            drawing.cells(at, top + 18, [[(str(n), colour(n)) for n in row] for row in array[h]])
            drawing.text(at + CELL, top, f"head {h}", size=13)
    drawing.legend(180, (280, HEAD_COLOURS[0], "head 0"), (380, HEAD_COLOURS[1], "head 1"))
    return drawing.svg()


def rope() -> str:
    """Part 3: two pairs turn at their own speeds; the angle between q and k is all that counts."""
    drawing = Drawing(760, 226)
    radius, middle = 62, 116

    def hand(x: float, angle: float, text: str, far: float = 15) -> None:
        tip_x, tip_y = x + radius * math.cos(angle), middle - radius * math.sin(angle)
        drawing.line(x, middle, tip_x, tip_y, arrow=True)
        at_x = x + (radius + far) * math.cos(angle)
        drawing.text(at_x, middle - (radius + far) * math.sin(angle), text, size=13)

    for x, title in ((100, "ω₀ = 1"), (290, "ω₁ = 0.01")):
        drawing.circle(x, middle, radius)
        drawing.text(x, 22, title)
    for m in (0, 1, 2):
        hand(100, float(m), f"m={m}", 20 if m == 0 else 15)
    hand(290, 0.0, "m=0", 22)
    hand(290, 1.0, "m=100", 18)
    for x, m, n in ((480, 5, 2), (665, 105, 102)):
        drawing.circle(x, middle, radius)
        drawing.text(x, 22, f"q: m={m}, k: n={n}")
        hand(x, float(m), "q")
        hand(x, float(n), "k")
        drawing.arc(x, middle, 26, float(n), float(m))
        drawing.text(x, 208, "(m − n) ω₀ = 3", size=13)
    drawing.text(100, 208, "m ω₀", size=13)
    drawing.text(290, 208, "m ω₁", size=13)
    return drawing.svg()


def decode() -> str:
    """Part 4: what is computed at each step, without a cache and with one."""
    drawing = Drawing(760, 262)
    size, top = 30, 62
    for left, title, cached in ((100, "recompute", False), (450, "KV cache", True)):
        drawing.text(left + 3.5 * size, 22, title)
        computed = 0
        for position in range(7):
            drawing.text(left + (position + 0.5) * size, top - 12, str(position), size=12)
        for step in range(4):
            y = top + step * (size + 4)
            name = "prefill" if step == 0 else f"decode {step}"
            drawing.text(
                left - 10,
                y + size / 2,
                name if cached or step == 0 else f"step {step}",
                at="end",
                size=12,
            )
            length = 4 + step
            for position in range(length):
                new = not cached or step == 0 or position == length - 1
                computed += new
                drawing.box(left + position * size, y, size, size, NEW if new else CACHED)
            count = length if not cached or step == 0 else 1
            drawing.text(left + 7 * size + 14, y + size / 2, str(count), at="start", size=13)
        drawing.text(left + 7 * size + 14, top + 4 * (size + 4) + 10, f"Σ {computed}", at="start")
    drawing.legend(232, (100, NEW, "q, k, v computed"), (450, CACHED, "k, v read from the cache"))
    return drawing.svg()


def gqa() -> str:
    """Part 5: which key/value head each of six query heads reads."""
    drawing = Drawing(760, 196)
    size, gap = 28, 6
    for left, groups, title in (
        (46, 6, "MHA  G = H = 6"),
        (288, 2, "GQA  G = 2, R = 3"),
        (530, 1, "MQA  G = 1, R = 6"),
    ):
        drawing.text(left + 3 * (size + gap) - gap / 2, 24, title)
        each = 6 // groups
        for g in range(groups):
            middle = left + (g * each + each / 2) * (size + gap) - gap / 2
            drawing.box(middle - size / 2, 128, size, size, HEAD_COLOURS[g], str(g))
            for h in range(g * each, (g + 1) * each):
                x = left + h * (size + gap)
                drawing.line(x + size / 2, 54 + size, middle, 128, colour=FAINT)
                drawing.box(x, 54, size, size, HEAD_COLOURS[g], str(h))
    drawing.text(34, 68, "q", at="end")
    drawing.text(34, 142, "k,v", at="end", size=13)
    drawing.code(380, 178, "kv head = h // R")
    return drawing.svg()


def mla() -> str:
    """Part 6: one decode step of one head, expanded and absorbed."""
    drawing = Drawing(760, 330)
    wide, high = 190, 36

    def flow(middle: float, title: str, steps: Iterable[tuple[str, str, bool]]) -> None:
        drawing.code(middle, 24, title)
        y = 48
        for text, shape, costly in steps:
            drawing.box(middle - wide / 2, y, wide, high, COSTLY if costly else CHEAP, text)
            drawing.code(middle + wide / 2 + 10, y + high / 2, shape, at="start", size=12)
            if y > 48:
                drawing.line(middle, y - 18, middle, y - 2, arrow=True)
            y += high + 20

    flow(
        150,
        "mla_naive",
        (
            ("k = c W_UK", "(S, d_nope)", True),
            ("p = softmax(q · k, …)", "(S,)", False),
            ("v = c W_UV", "(S, d_v)", True),
            ("Σ p v", "(d_v,)", False),
        ),
    )
    flow(
        520,
        "mla_absorbed",
        (
            ("q̃ = q W_UKᵀ", "(d_c,)", False),
            ("p = softmax(q̃ · c, …)", "(S,)", False),
            ("m = Σ p c", "(d_c,)", False),
            ("m W_UV", "(d_v,)", False),
        ),
    )
    drawing.legend(288, (55, COSTLY, "S × d_c × d"), (425, CHEAP, "d_c × d,  S × d_c"))
    return drawing.svg()


def top_p() -> str:
    """Part 7: four tokens and p = 0.7."""
    drawing = Drawing(560, 238)
    left, bottom, height = 70, 196, 150
    probabilities, p = (0.50, 0.30, 0.15, 0.05), 0.7
    drawing.line(left, bottom, left + 420, bottom)
    total = 0.0
    for i, probability in enumerate(probabilities):
        kept = total < p
        x, low = left + 20 + i * 100, bottom - total * height
        drawing.box(
            x, low - probability * height, 60, probability * height, NEW if kept else "#e4e7eb"
        )
        total += probability
        drawing.text(x + 30, low - probability * height - 12, f"{total:.2f}", size=13)
        drawing.text(x + 30, bottom + 18, f"{i}: {probability:.2f}{' ✓' if kept else ''}", size=13)
    y = bottom - p * height
    drawing.line(left, y, left + 420, y, colour=BAD)
    drawing.text(left + 430, y, "p = 0.7", at="start", size=13)
    return drawing.svg()


def roofline() -> str:
    """Part 8: decode steps of Llama-3.1-8B on an H100, batch by batch, and a prefill."""
    drawing = Drawing(700, 290)
    left, right, top, bottom = 90, 560, 40, 236
    ridge, peak, context = H100.ridge, H100.flops, 4096
    cap = accounting.decode_intensity_cap(LLAMA31_8B, context)

    def x_of(intensity: float) -> float:
        return left + (right - left) * math.log10(intensity / 0.5) / math.log10(5000 / 0.5)

    def y_of(speed: float) -> float:
        return bottom - (bottom - top) * math.log10(speed / 1e12) / 3.2

    def reached(intensity: float) -> float:
        return min(peak, intensity * H100.bandwidth)

    drawing.line(left, bottom, right + 14, bottom, arrow=True)
    drawing.line(left, bottom, left, top - 24, arrow=True)
    for tick in (1, 10, 100, 1000):
        drawing.text(x_of(tick), bottom + 16, str(tick), size=12)
    for speed, label in ((1e12, "1 T"), (1e13, "10 T"), (1e14, "100 T"), (peak, "989 T")):
        drawing.text(left - 10, y_of(speed), label, at="end", size=12)
    drawing.text(right + 20, bottom, "FLOP/byte", at="start", size=13)
    drawing.text(left + 8, top - 20, "FLOP/s", at="start", size=13)
    drawing.line(x_of(0.5), y_of(reached(0.5)), x_of(ridge), y_of(peak))
    drawing.line(x_of(ridge), y_of(peak), right, y_of(peak))
    drawing.line(x_of(ridge), y_of(peak), x_of(ridge), bottom, colour=FAINT)
    drawing.text(x_of(ridge) + 6, bottom - 12, f"{ridge:.0f}", at="start", size=12)
    drawing.line(x_of(cap), y_of(reached(cap)) - 30, x_of(cap), bottom, colour=BAD)
    drawing.text(x_of(cap), y_of(reached(cap)) - 40, f"f / k = {cap:.0f}", size=13)
    for batch in (1, 8, 64, 1024):
        intensity = accounting.decode_intensity(LLAMA31_8B, batch, context)
        x, y = x_of(intensity), y_of(reached(intensity))
        drawing.box(x - 5, y - 5, 10, 10, NEW)
        if batch == 64:  # below it the cap's line is in the way
            drawing.text(x - 12, y - 8, f"B = {batch}", at="end", size=13)
        else:
            drawing.text(x + 12, y + 8, f"B = {batch}", at="start", size=13)
    intensity = accounting.prefill_intensity(LLAMA31_8B, 2048)
    drawing.box(x_of(intensity) - 5, y_of(peak) - 5, 10, 10, CACHED)
    drawing.text(x_of(intensity), y_of(peak) - 16, "T = 2048", size=13)
    drawing.legend(264, (90, NEW, "decode, S = 4096"), (290, CACHED, "prefill"), size=14)
    return drawing.svg()


def shapes() -> str:
    """Part 11: one head of a prefill and of the decode step behind it, as boxes."""
    drawing = Drawing(800, 310)
    size = {"T": 90, "T + 1": 100, "1": 10, "d": 130, "d_h": 36}
    for top, name, t, s in ((56, "prefill", "T", "T"), (200, "decode", "1", "T + 1")):
        drawing.text(44, top + 45, name, size=14)
        read = NEW if t == s else CACHED
        for middle, what, rows, columns, fill in (
            (155, "x", t, "d", NEW),
            (275, "q", t, "d_h", NEW),
            (390, "kᵀ", "d_h", s, read),
            (530, "q kᵀ", t, s, NEW),
            (650, "v", s, "d_h", read),
            (750, "output", t, "d_h", NEW),
        ):
            left = middle - size[columns] / 2
            drawing.box(left, top, size[columns], size[rows], fill)
            drawing.text(middle, top - 28, what, size=13)
            shape = " × ".join(f"({n})" if " " in n else n for n in (rows, columns))
            drawing.code(middle, top - 11, shape, size=12)
    return drawing.svg()


def analogy() -> str:
    """Part 9: five words in the plane; the arrow from man to woman, put to king, ends by queen."""
    drawing = Drawing(670, 300)
    left, bottom, unit = 50, 262, 92
    words = {"man": (1, 1), "woman": (1, 1.5), "king": (4, 1), "queen": (4, 2.2)}
    words["throne"] = (5, 0.5)
    end = tuple(np.subtract(words["woman"], words["man"]) + words["king"])

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return left + unit * point[0], bottom - unit * point[1]

    drawing.line(left, bottom, left + 5.7 * unit, bottom, arrow=True, colour=FAINT)
    drawing.line(left, bottom, left, bottom - 2.6 * unit, arrow=True, colour=FAINT)
    for word, point in words.items():
        drawing.line(*at((0, 0)), *at(point), colour="#d9dee3")
        x, y = at(point)
        asked = word in ("man", "woman", "king")
        drawing.box(x - 5, y - 5, 10, 10, CACHED if asked else "#b6d7a8")
        place = (x - 10, y + 14, "end") if asked else (x + 12, y, "start")
        drawing.text(*place[:2], word, at=place[2])
    drawing.line(*at((0, 0)), *at(end), colour=NEW)
    for start, tip in (("man", words["woman"]), ("king", end)):
        (x1, y1), (x2, y2) = at(words[start]), at(tip)
        drawing.line(x1, y1 - 6, x2, y2 + 6, arrow=True, colour=BAD)
    x, y = at(end)
    drawing.box(x - 5, y - 5, 10, 10, NEW)
    drawing.code(x + 12, y, "v(woman) - v(man) + v(king)", at="start", size=12)
    return drawing.svg()


FIGURES: dict[str, Callable[[], str]] = {
    "attention": attention,
    "mask": mask,
    "heads": heads,
    "rope": rope,
    "decode": decode,
    "gqa": gqa,
    "mla": mla,
    "top_p": top_p,
    "roofline": roofline,
    "analogy": analogy,
    "shapes": shapes,
}


def stale_figures() -> list[str]:
    """Names of the files in assignment/figures/ that are not what is drawn here."""
    drawn = {f"{name}.svg": draw() for name, draw in FIGURES.items()}
    files = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.svg")}
    return sorted(
        name for name in drawn.keys() | files.keys() if drawn.get(name) != files.get(name)
    )


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        stale = stale_figures()
        for name in stale:
            print(f"assignment/figures/{name} is stale: run python -m grader.authoring.figures")
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
    print(f"assignment/figures/: {len(FIGURES)} figures")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
