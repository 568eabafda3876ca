"""`python -m assignment.look`: what was seen of a model at work, as a page to play with.

The page is look.js, which draws; here its numbers are packed and its words chosen.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..words import tr
from .document import document, heading, listed, section
from .markup import Child, Element, element
from .sections import muted

N_STRONGEST = 3
# Logits in float32 that differ by less are the same: 30 layers round differently for 1 row and n.
SAME = 1e-2
# Fields that the script fills in stay as they are.
_OPEN = {
    name: f"{{{name}}}"
    for name in "a b bytes column group head key layer n name p row token total".split()
}


@dataclass(frozen=True)
class Language:
    """A model with what turns text into its tokens and a token into text."""

    name: str
    model: Any
    encode: Callable[[str], list[int]]
    word: Callable[[int], str]


@dataclass
class Seen:
    """What one implementation does with the tokens; None where a part for it is not there.

    Attributes:
        notes: what is not there yet or stopped, in words.
        whole: attention (L, H, T, T) of all tokens in one piece.
        steps: the same, a row for each decode step.
        logits: (T, V) after each token.
        cache_bytes: what K and V of the first n tokens take.
        cached_ms, recompute_ms: (tokens so far, milliseconds for one more).
        apart: (tokens so far, largest difference of the logits between cache and recompute).
    """

    name: str
    notes: list[str] = field(default_factory=list)
    whole: np.ndarray | None = None
    steps: np.ndarray | None = None
    logits: np.ndarray | None = None
    cache_bytes: list[int] = field(default_factory=list)
    cached_ms: list[tuple[int, float]] = field(default_factory=list)
    recompute_ms: list[tuple[int, float]] = field(default_factory=list)
    apart: list[tuple[int, float]] = field(default_factory=list)


# ---- heads by what they look at


def patterns(tokens: Sequence[int]) -> dict[str, np.ndarray]:
    """For each kind of head, bool (T, T): the cells that it would fill.

    The first token as a place to rest: Xiao et al. 2023. What followed the same token last time,
    the induction head: Olsson et al. 2022.
    """
    n, ids = len(tokens), np.asarray(tokens)
    earlier = np.tri(n, k=-1, dtype=bool)
    same = (ids[:, None] == ids) & earlier
    followed = np.zeros_like(same)
    followed[:, 1:] = same[:, :-1]
    first = np.zeros_like(same)
    first[2:, 0] = True  # of token 1 the first is the previous one
    return {
        "previous": np.eye(n, k=-1, dtype=bool),
        "first": first,
        "repeated": same,
        "induction": followed & earlier,
    }


def strongest(attention: np.ndarray, cells: np.ndarray) -> list[tuple[int, int, float]]:
    """(layer, head, share): the heads whose queries give these cells most, on the average.

    Args:
        attention: (L, H, T, T).
        cells: bool (T, T); queries without a cell do not count.
    """
    rows = cells.any(axis=1)
    if not rows.any():
        return []
    shares = (attention * cells).sum(axis=-1)[..., rows].mean(axis=-1)
    order = np.argsort(-shares, axis=None, kind="stable")[:N_STRONGEST]
    places = zip(*np.unravel_index(order, shares.shape), strict=True)
    return [(int(layer), int(head), float(shares[layer, head])) for layer, head in places]


# ---- the numbers, packed


def _packed(attention: np.ndarray | None) -> str | None:
    """A byte a cell: 255 √weight, which keeps small weights apart."""
    if attention is None:
        return None
    weights = np.clip(np.nan_to_num(attention), 0, 1)
    return base64.b64encode(np.rint(255 * np.sqrt(weights)).astype(np.uint8).tobytes()).decode()


def _likeliest(seen: Seen, tokens: Sequence[int], n_likeliest: int) -> dict[str, Any]:
    """Of each position: the likeliest next tokens with probability, and that of the one there."""
    if seen.logits is None:
        return {"next": None, "given": None}
    logits = np.nan_to_num(seen.logits.astype(np.float64))
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p = powers / powers.sum(axis=-1, keepdims=True)
    best = np.argsort(-p, axis=-1, kind="stable")[:, :n_likeliest]
    return {
        "next": [[[int(t), round(float(p[n, t]), 4)] for t in row] for n, row in enumerate(best)],
        "given": [round(float(p[n, t]), 4) for n, t in enumerate(tokens[1:])],
    }


def _one(seen: Seen, tokens: Sequence[int], n_likeliest: int) -> dict[str, Any]:
    attention = seen.whole if seen.whole is not None else seen.steps
    heads = {}
    if attention is not None:
        heads = {kind: strongest(attention, cells) for kind, cells in patterns(tokens).items()}
    return {
        "name": seen.name,
        "whole": _packed(seen.whole),
        "steps": _packed(seen.steps),
        "heads": heads,
        "bytes": seen.cache_bytes,
        "cached": [[n, round(ms, 2)] for n, ms in seen.cached_ms],
        "recompute": [[n, round(ms, 2)] for n, ms in seen.recompute_ms],
    } | _likeliest(seen, tokens, n_likeliest)


def _shown(word: str) -> str:
    """A token as it can be seen: a space in front is part of it."""
    return word.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥") or "∅"


# ---- the page


def look_page(
    language: Language, tokens: list[int], n_prompt: int, seen: list[Seen], n_likeliest: int
) -> str:
    """The HTML of the page.

    Args:
        tokens: the text, and from n_prompt on what the first implementation wrote after it.
    """
    ones = [_one(one, tokens, n_likeliest) for one in seen]
    named = {token for one in ones for row in one["next"] or () for token, _ in row}
    config = language.model.config
    data = {
        "tokens": [_shown(language.word(token)) for token in tokens],
        "prompt": n_prompt,
        "words": {token: _shown(language.word(token)) for token in sorted(named)},
        "layers": config.n_layers,
        "heads": config.n_heads,
        "group": config.n_heads // config.n_kv_heads,
        "seen": ones,
        "say": _words(),
    }
    title = tr("Your functions at work")
    names = " · ".join([language.name, *(one.name for one in seen)])
    has_attention = any(one.whole is not None or one.steps is not None for one in seen)
    return document(
        title,
        heading(names, title),
        element("p", _text(language, tokens, n_prompt), class_="text"),
        _notes(seen),
        _attention() if has_attention else None,
        _next() if any(one.logits is not None for one in seen) else None,
        _costs(seen) if any(one.cache_bytes or one.recompute_ms for one in seen) else None,
        element("footer", tr("This page is complete in itself and loads nothing.")),
        own=("look.css", "look.js"),
        data=json.dumps(data, separators=(",", ":")),
    )


def _text(language: Language, tokens: list[int], n_prompt: int) -> list[Child]:
    before, after = (
        "".join(map(language.word, part)) for part in (tokens[:n_prompt], tokens[n_prompt:])
    )
    return [before, element("ins", after) if after else None]


def _notes(seen: list[Seen]) -> Element | None:
    said = [(one.name, note) for one in seen for note in one.notes]
    if not said:
        return None
    several = len(seen) > 1
    lines = [tr("{name}: {words}", name=name, words=w) if several else w for name, w in said]
    return section("missing", tr("What is not shown, and why"), listed(lines))


def _attention() -> Element:
    return section(
        "attention",
        tr("Attention of each layer and head"),
        muted(
            tr(
                "Each small picture is a head: a row for each token that looks, a column for each "
                "token looked at. Your own grouped_query_attention made it, with the identity as "
                "values. Click a head, or move with the arrow keys."
            ),
            class_="muted",
        ),
        element("div", id="kinds"),
        element(
            "div",
            element("canvas", id="overview", tabindex=0, role="application",
                    aria_label=tr("All heads; arrow keys choose one"), aria_describedby="chosen"),
            class_="overview",
        ),
        element("div", id="ways", class_="controls", role="group", aria_label=tr("How it ran")),
        element("p", id="chosen", aria_live="polite"),
        element("div", id="pictures"),
        element("p", id="cell", class_="small", aria_live="polite"),
    )  # fmt: skip


def _next() -> Element:
    return section(
        "next",
        tr("The next token, at each position"),
        muted(
            tr(
                "The darker a token, the likelier it was held to be by those before it. Choose one "
                "to see what is expected after it; the arrow keys move."
            ),
            class_="muted",
        ),
        element(
            "div",
            id="strip",
            role="listbox",
            aria_label=tr("The text, a token at a time"),
            tabindex=0,
        ),
        element("div", id="bars"),
    )


def _costs(seen: list[Seen]) -> Element:
    return section(
        "costs",
        tr("Cache and time"),
        element("div", id="plots"),
        [element("p", words) for one in seen if (words := _agreement(one, len(seen) > 1))],
    )


def _agreement(seen: Seen, several: bool) -> str | None:
    """Whether decode with the cache gives what a recompute gives."""
    if not seen.apart:
        return None
    wrong = [(n, apart) for n, apart in seen.apart if not apart < SAME]
    worst = max(apart for _, apart in seen.apart)
    if wrong:
        words = tr(
            "Token by token and in one piece are not the same: after {n} tokens their logits "
            "differ by {error:.2g}. One of the two is wrong.",
            n=wrong[0][0],
            error=wrong[0][1],
        )
    else:
        words = tr(
            "Token by token and in one piece give the same logits, to {error:.1g}.", error=worst
        )
    return tr("{name}: {words}", name=seen.name, words=words) if several else words


def _words() -> dict[str, str]:
    """What look.js says; it fills in what stands between braces."""
    return {
        "previous": tr("Previous token"),
        "first": tr("First token"),
        "repeated": tr("Same token before"),
        "induction": tr("What followed it last time (induction)"),
        "none": tr("no token occurs twice in this text"),
        "steps": tr("token by token"),
        "whole": tr("in one piece"),
        "apart": tr("difference"),
        "head": tr("Layer {layer}, head {head} (key/value head {group})", **_OPEN),
        "looks": tr("{token} at {row} gives {p} to {key} at {column}", **_OPEN),
        "more": tr("{token} at {row} to {key} at {column}: {a} in one, {b} in the other", **_OPEN),
        "in": tr("Zoom in"),
        "out": tr("Zoom out"),
        "fit": tr("All of it"),
        "picture": tr("{name}: attention; arrow keys choose a cell, + and - zoom", **_OPEN),
        "first_less_second": tr("{a} less {b}", **_OPEN),
        "steps_less_whole": tr("{name}: token by token less in one piece", **_OPEN),
        "after": tr("After {token} ({n})", **_OPEN),
        "came": tr("came next"),
        "differ": tr("The two expect different tokens from position {n} on.", **_OPEN),
        "agree": tr("The two expect the same token at every position."),
        "bytes": tr("Cache: bytes of K and V"),
        "ms": tr("Milliseconds for one more token"),
        "cached": tr("with the cache"),
        "recompute": tr("by recompute"),
        "tokens": tr("tokens so far"),
        "last": tr("{a} ms with the cache, {b} ms by recompute, after {n} tokens.", **_OPEN),
        "held": tr("{bytes} a token; {total} after {n} tokens.", **_OPEN),
    }
