"""Cases of part 12: batches of rows of different length, and what each request gets alone.

Rows of different length stand in one array, filled up with -1; `lengths` says what is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import reference_model as reference

from .decode import MARGIN
from .draw import Draw

Fields = dict[str, Any]


def small_model(draw: Draw) -> Fields:
    """So small that a hypothesis machine can take hundreds of steps."""
    n_kv_heads, group_size = draw.groups()
    config = {
        "name": "tiny",
        "n_layers": 2,
        "d_model": draw.between(11, 14),
        "n_heads": n_kv_heads * group_size,
        "n_kv_heads": n_kv_heads,
        "head_dim": 4,
        "d_ff": draw.between(15, 17),
        "vocab_size": draw.between(18, 23),
        "rope_theta": draw.theta(),
        "norm_eps": 1e-5,
        "tied": False,
    }
    return {"config": config, "params": reference.init_llama(config, draw.seed())}


def pages(draw: Draw) -> Fields:
    """Rows to append for three sequences, in blocks of a size that no other number of it is."""
    block_size, head_dim = draw.distinct(2, 3, 5)
    n_layers, n_kv_heads = 2, draw.between(6, 7)
    k, v = draw.normal(2, n_layers, 3, n_kv_heads, 4 * block_size, head_dim)
    return {"block_size": block_size, "k": k, "v": v}


def ragged(draw: Draw) -> Fields:
    """Prompts of different length, where each of them is cut in two, and tokens behind them."""
    model = small_model(draw)
    vocab_size, n_steps = model["config"]["vocab_size"], 3
    lengths = [1, *draw.distinct(3, 2, 11)]
    draw.rng.shuffle(lengths)
    rows = [draw.rng.integers(vocab_size, size=length) for length in lengths]
    continuation = draw.rng.integers(vocab_size, size=(len(rows), n_steps))
    logits = [
        [_next(model, [*row, *after[:step]]) for row, after in zip(rows, continuation, strict=True)]
        for step in range(n_steps + 1)
    ]
    return model | {
        "block_size": draw.between(3, 4),
        "rows": _filled(rows),
        "lengths": np.array(lengths),
        "cuts": np.array([draw.between(1, max(1, length - 1)) for length in lengths]),
        "continuation": continuation,
        "logits": np.array(logits),
    }


def engine(
    draw: Draw,
    n_blocks: Callable[[int], int],
    token_budget: tuple[int, int],
    max_running: tuple[int, int],
    with_eos: bool = False,
) -> Fields:
    """Seven requests, and the logits and tokens that each makes alone.

    Args:
        n_blocks: of the pool, by how many the largest request takes.
        with_eos: the third token that the third request makes ends it; and every other that makes
            it.
    """
    while True:
        model = small_model(draw)
        vocab_size, block_size = model["config"]["vocab_size"], draw.between(3, 4)
        lengths = [draw.between(1, 12) for _ in range(7)]
        news = [draw.between(2, 7) for _ in lengths]
        rows = [draw.rng.integers(vocab_size, size=length) for length in lengths]
        alone = [_alone(model, row, n_new) for row, n_new in zip(rows, news, strict=True)]
        if all(_is_clear(logits) for logits, _ in alone) and news[2] > 3:
            break
    eos = alone[2][1][2] if with_eos else -1
    made = [_until(tokens, eos) for _, tokens in alone]
    largest = max(a + b - 1 for a, b in zip(lengths, news, strict=True))
    n_steps = max(map(len, made))
    logits = np.zeros((len(rows), n_steps, vocab_size))
    for row, ((of_row, _), tokens) in enumerate(zip(alone, made, strict=True)):
        logits[row, : len(tokens)] = of_row[: len(tokens)]
    sizes = {
        "block_size": block_size,
        "n_blocks": n_blocks(-(-largest // block_size)),
        "token_budget": draw.between(*token_budget),
        "max_running": draw.between(*max_running),
    }
    steps = _Schedule(lengths, [len(tokens) for tokens in made], **sizes).run()
    return (
        model
        | sizes
        | {
            "steps": _filled(steps),
            "rows": _filled(rows),
            "lengths": np.array(lengths),
            "max_new_tokens": np.array(news),
            "eos": int(eos),
            "tokens": _filled(made),
            "logits": logits,
        }
    )


class _Schedule:
    """In which step each request makes its tokens, by the rules of Engine.step; lengths only."""

    def __init__(
        self,
        lengths: Sequence[int],
        n_made: Sequence[int],
        block_size: int,
        n_blocks: int,
        token_budget: int,
        max_running: int,
    ) -> None:
        self.texts, self.ends = list(lengths), [a + b for a, b in zip(lengths, n_made, strict=True)]
        self.block_size, self.n_blocks = block_size, n_blocks
        self.token_budget, self.max_running = token_budget, max_running
        self.read = [0] * len(lengths)
        self.running: list[int] = []
        self.waiting = list(range(len(lengths)))

    def run(self) -> list[list[int]]:
        """The numbers of the steps, by request; the first step is 0."""
        made: list[list[int]] = [[] for _ in self.texts]
        step = 0
        while self.running or self.waiting:
            for request, count in self._planned().items():
                self.read[request] += count
                if self.read[request] == self.texts[request]:
                    self.texts[request] += 1
                    made[request].append(step)
            self.running = [r for r in self.running if self.texts[r] < self.ends[r]]
            step += 1
        return made

    def _planned(self) -> dict[int, int]:
        left = {r: self.texts[r] - self.read[r] for r in self.running}
        turns = sorted(self.running, key=lambda r: (left[r] > 1, self.running.index(r)))
        plan: dict[int, int] = {}
        n_running = len(self.running)
        for request in turns:
            count = min(left[request], self.token_budget - sum(plan.values()))
            while request in self.running and count and not self._fits(plan | {request: count}):
                youngest = self.running.pop()
                plan.pop(youngest, None)
                self.read[youngest] = 0
                self.waiting.insert(0, youngest)
            if request in self.running and count:
                plan[request] = count
        while n_running <= len(self.running) < self.max_running and self.waiting:
            first, budget = self.waiting[0], self.token_budget - sum(plan.values())
            self.running.append(first)
            if not budget or not self._fits(plan | {first: self.texts[first]}):
                self.running.pop()
                break
            plan[self.waiting.pop(0)] = min(budget, self.texts[first])
        return plan

    def _fits(self, plan: dict[int, int]) -> bool:
        held = (self.read[r] + plan.get(r, 0) for r in self.running)
        return sum(-(-n // self.block_size) for n in held) <= self.n_blocks


def pool(draw: Draw) -> Fields:
    """Requests for a machine to draw from: every text that a fork of them can come to.

    `fork_logits[p, i - 1]` are the steps of request p from the (i + 1)th on when its ith token is
    exchanged for `other[p, i - 1]`.
    """
    n_requests, n_new = 6, 5
    while True:
        model = small_model(draw)
        vocab_size = model["config"]["vocab_size"]
        lengths = [1, *draw.distinct(5, 2, 12)]
        rows = [draw.rng.integers(vocab_size, size=length) for length in lengths]
        alone = [_alone(model, row, n_new) for row in rows]
        other = (np.array([made for _, made in alone]) + draw.between(1, 9)) % vocab_size
        forks = [
            [
                _alone(model, [*row, *made[: i - 1], of_row[i - 1]], n_new - i)
                for i in range(1, n_new)
            ]
            for row, (_, made), of_row in zip(rows, alone, other, strict=True)
        ]
        if all(_is_clear(logits) for one in (alone, *forks) for logits, _ in one):
            break
    fork_logits = np.zeros((n_requests, n_new - 1, n_new - 1, vocab_size))
    for p, of_request in enumerate(forks):
        for i, (logits, _) in enumerate(of_request):
            fork_logits[p, i, : len(logits)] = logits
    return model | {
        "block_size": draw.between(2, 3),
        "rows": _filled(rows),
        "lengths": np.array(lengths),
        "logits": np.array([logits for logits, _ in alone]),
        "other": other[:, : n_new - 1],
        "fork_logits": fork_logits,
    }


def speculation(draw: Draw) -> Fields:
    """What greedy decode makes after a prompt, and at each of its tokens another one."""
    while True:
        model = small_model(draw)
        vocab_size = model["config"]["vocab_size"]
        prompt = draw.rng.integers(vocab_size, size=draw.between(4, 7))
        logits, made = _alone(model, prompt, 9)
        if _is_clear(logits):
            break
    return model | {
        "block_size": draw.between(2, 3),
        "prompt": prompt,
        "tokens": np.array(made),
        "other": (np.array(made) + draw.between(1, vocab_size - 1)) % vocab_size,
        "logits": np.array(logits),
    }


def tiles(draw: Draw, scale: float = 1.0) -> Fields:
    """A query, and a pool of which some blocks are its own.

    Args:
        scale: of the queries: at a thousand a score's exponential is no number.
    """
    n_kv_heads, group_size = draw.groups()
    block_size, n_held = draw.between(3, 5), draw.between(2, 4)
    length = n_held * block_size - draw.between(1, block_size - 1)
    table = draw.rng.permutation(n_held + 3)[:n_held]
    k, v = draw.normal(2, n_held + 3, n_kv_heads, block_size, 6)
    q = scale * draw.normal(n_kv_heads * group_size, 6)
    whole_k, whole_v = (
        blocks[table].swapaxes(0, 1).reshape(n_kv_heads, -1, 6)[None, :, :length]
        for blocks in (k, v)
    )
    expected = reference.grouped_query_attention(q[None, :, None], whole_k, whole_v)[0, :, 0]
    for blocks, poison in ((k, 1e4), (v, -1e4)):  # of others, and behind the end
        blocks[np.setdiff1d(np.arange(len(k)), table)] = poison
        blocks[table[-1], :, length - (n_held - 1) * block_size :] = poison
    names = {"q": q, "key_blocks": k, "value_blocks": v, "block_table": table}
    return names | {"length": length, "expected": expected}


def int8(draw: Draw) -> Fields:
    """Blocks of which the heads differ in size by powers of ten; one is zero."""
    n_kv_heads, block_size = draw.distinct(2, 3, 6)
    blocks = draw.normal(4, n_kv_heads, block_size, 5)
    blocks *= 10.0 ** draw.rng.uniform(-3, 3, size=(4, n_kv_heads, 1, 1))
    blocks[1, 2] = 0
    largest = np.abs(blocks).max(axis=(2, 3))
    scales = np.where(largest > 0, largest / 127, 1.0)
    integers = np.rint(blocks / scales[..., None, None]).astype(np.int64)
    expected = integers * scales[..., None, None]
    return {"blocks": blocks, "scales": scales, "integers": integers, "expected": expected}


def _next(model: Fields, text: Sequence[int]) -> np.ndarray:
    return reference.next_logits(model["config"], model["params"], np.array([text]))[0]


def _alone(
    model: Fields, prompt: Sequence[int] | np.ndarray, n_new: int
) -> tuple[list[np.ndarray], list[int]]:
    """The logits of each step of a greedy generation, and its tokens; a recompute a step."""
    text, logits = [int(token) for token in prompt], []
    for _ in range(n_new):
        logits.append(_next(model, text))
        text.append(int(logits[-1].argmax()))
    return logits, text[len(prompt) :]


def _is_clear(logits: Sequence[np.ndarray]) -> bool:
    """Whether no choice of a token could hang on rounding."""
    ranked = [np.sort(of_step) for of_step in logits]
    return all(of_step[-1] - of_step[-2] > MARGIN for of_step in ranked)


def _until(tokens: list[int], eos: int) -> list[int]:
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens


def _filled(rows: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    filled = np.full((len(rows), max(map(len, rows))), -1)
    for row, of_row in zip(filled, rows, strict=True):
        row[: len(of_row)] = of_row
    return filled


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    "serving/pages": pages,
    "serving/ragged": ragged,
    # Room for all, prompts in chunks, and hardly more pages than the largest request takes.
    "serving/roomy": partial(
        engine, n_blocks=lambda n: 7 * n, token_budget=(90, 99), max_running=(7, 8)
    ),
    "serving/chunked": partial(
        engine, n_blocks=lambda n: 7 * n, token_budget=(5, 6), max_running=(4, 5)
    ),
    "serving/tight": partial(
        engine, n_blocks=lambda n: n + 1, token_budget=(9, 12), max_running=(5, 6)
    ),
    "serving/eos": partial(
        engine, n_blocks=lambda n: 3 * n, token_budget=(8, 12), max_running=(3, 4), with_eos=True
    ),
    "serving/pool": pool,
    "serving/speculation": speculation,
    "serving/tiles": tiles,
    "serving/tiles_large": partial(tiles, scale=1000.0),
    "serving/int8": int8,
}
