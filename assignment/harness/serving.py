"""What the tests of part 12 look at: pages that are counted, and an engine that is watched.

The rule is one: whatever a batch is made of, each request's logits at each of its steps are those
that the reference computes for that request alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .cases import Case
from .compare import Mismatch, check, check_array, describe_type
from .student import Student
from .words import tr

# What lies in blocks that were freed: finite, for code that gathers more than it needs and masks
# it is right, and 0 times infinity would be a number no more.
POISON = 1e4
TOKEN_AXES = ("token",)


def new_pages(student: Student, config: dict, n_blocks: int, block_size: int) -> Any:
    """An empty cache whose every block was somebody's, and holds large numbers."""
    n_layers, shape = config["n_layers"], (config["n_kv_heads"], n_blocks * block_size)
    cache = student.PagedKVCache(
        n_layers, shape[0], config["head_dim"], n_blocks, block_size, np.dtype(float)
    )
    poison_free_blocks(cache, n_layers, (*shape, config["head_dim"]))
    return cache


def poison_free_blocks(cache: Any, n_layers: int, shape: tuple[int, ...]) -> None:
    """Append that many positions to a sequence of its own, and free it."""
    sequence = cache.add()
    for layer in range(n_layers):
        cache.append(layer, sequence, np.full(shape, POISON), np.full(shape, -POISON))
    cache.free(sequence)


def numbers(value: Any, what: str) -> list[int]:
    """A list of whole numbers as plain ones; Mismatch for anything else."""
    values = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(values, list | tuple) and all(
        isinstance(v, int | np.integer) and not isinstance(v, bool) for v in values
    ):
        return [int(v) for v in values]
    words = tr(
        "{what}: got {got}, expected a list of integers", what=what, got=describe_type(value)
    )
    raise Mismatch(words)


def check_pages(cache: Any, n_blocks: int, block_size: int, when: str) -> dict[int, list[int]]:
    """Count all blocks: each is free, or in the table of one sequence or of several that share it.

    Returns:
        The block table of each sequence.
    """
    n_free = cache.n_free
    tables = {}
    for sequence in numbers(cache.sequences, "cache.sequences"):
        table = numbers(cache.block_table(sequence), f"cache.block_table({sequence})")
        held, needed = int(cache.length(sequence)), -(-int(cache.length(sequence)) // block_size)
        place = {"table": table, "n": held, "when": when}
        words = tr("the block table of {n} positions is {table} {when}", **place)
        check(len(set(table)) == len(table) == needed, words)
        check(all(0 <= block < n_blocks for block in table), words)
        tables[sequence] = table
    n_held = len({block for table in tables.values() for block in table})
    check(
        n_held + n_free == n_blocks,
        tr(
            "of {all} blocks {free} are free and {held} are in block tables {when}: "
            "{lost} are lost or in two places",
            all=n_blocks,
            free=n_free,
            held=n_held,
            lost=abs(n_blocks - n_held - n_free),
            when=when,
        ),
    )
    _check_sharing(list(tables.values()), when)
    return tables


def _check_sharing(tables: list[list[int]], when: str) -> None:
    """Two sequences share blocks from the beginning on, or none."""
    for i, one in enumerate(tables):
        for other in tables[:i]:
            n_same = sum(a == b for a, b in zip(one, other, strict=False))
            words = tr(
                "two sequences hold the same block, {one} and {other}, {when}",
                one=one,
                other=other,
                when=when,
            )
            is_prefix = one[:n_same] == other[:n_same]
            check(is_prefix and len({*one} & {*other}) == n_same, words)


class Watched:
    """An engine with its cache and model, and what each of its requests must come to.

    Attributes:
        to_come: by request, the logits (V,) of each of its steps that are still to come.
        made: by request, the tokens that it has made.
        is_right: nothing was found to be wrong so far.
    """

    def __init__(self, student: Student, case: Case, n_blocks: int, budget: int, most: int) -> None:
        """`most` requests run at once, and `budget` tokens a step."""
        self.n_blocks, self.block_size = n_blocks, int(case.block_size)
        self.budget, self.most, self.n_layers = budget, most, case.config["n_layers"]
        self.model = student.load_model(case.config, case.params)
        self.cache = new_pages(student, case.config, n_blocks, self.block_size)
        self.engine = student.Engine(self.model, self.cache, budget, most)
        self.to_come: dict[int, list[np.ndarray]] = {}
        self.made: dict[int, list[int]] = {}
        self.n_forks = 0
        self.is_right = True
        self.running = list[int]()
        self.waiting = list[int]()
        self.decoding: set[int] = set()  # with one token left to read
        self._lengths: dict[int, int] = {}  # of prompt and tokens
        self._story: list[str] = []

    @property
    def when(self) -> str:
        """What was done last, for messages."""
        return tr("after {story}", story=", ".join(self._story[-5:]))

    def submit(self, prompt: np.ndarray, logits: list[np.ndarray], eos: int | None = None) -> int:
        """A request, and the logits of each step that it takes alone."""
        self._begin(tr("submit of {n} tokens", n=len(prompt)))
        number = self.engine.submit(prompt, len(logits), eos)
        self._know(number, logits, len(prompt), [])
        self.waiting.append(number)
        self._done()
        return number

    def cancel(self, number: int) -> None:
        """Wherever it stands."""
        self._begin(tr("cancel of request {n}", n=number))
        self.engine.cancel(number)
        line = self.running if number in self.running else self.waiting
        line.remove(number)
        self.decoding.discard(number)
        self._done()

    def fork(self, number: int, token: int, logits: list[np.ndarray]) -> int:
        """A request that decodes goes on with another token as well."""
        self._begin(tr("fork of request {n}", n=number))
        n_free = self.cache.n_free
        fork = self.engine.fork(number, token)
        self._know(fork, logits, self._lengths[number], [*self.made[number][:-1], token])
        self.running.append(fork)
        self.decoding.add(fork)
        self.n_forks += 1
        check(self.cache.n_free == n_free, tr("a fork took blocks {when}", when=self.when))
        self._done()
        return fork

    def step(self) -> list[int]:
        """One step, and all that is to be seen of it; who made a token."""
        self._begin(tr("step"))
        before = list(self.running)
        wanted = sum(-(-self._lengths[number] // self.block_size) for number in before)
        self.model.counter.reset()
        result = self.engine.step()
        n_rows = self.model.counter.rows("w_q") // self.n_layers
        if not isinstance(result, tuple | list) or len(result) != 2:
            got = describe_type(result)
            raise Mismatch(tr("Engine.step() returned {got}, expected two things", got=got))
        makers = numbers(result[0], tr("the requests that made a token"))
        self._check_logits(makers, result[1])
        ended = [number for number in makers if not self.to_come[number]]
        preempted, admitted = self._check_order(before, ended)
        self._check_preempted(preempted, wanted)
        self._check_rows(before, preempted, admitted, makers, n_rows)
        if not ended and not preempted:
            self._check_not_idle(n_rows)
        self.decoding = (self.decoding | {*makers}) - {*preempted, *ended}
        for number in ended:
            tokens = np.array(numbers(self.engine.tokens(number), f"Engine.tokens({number})"))
            what = tr("Engine.tokens({n}) {when}", n=number, when=self.when)
            check_array(tokens, np.array(self.made[number]), what, ("step",))
        self._done()
        return makers

    def run_to_end(self, most_steps: int = 300) -> None:
        """Step until nobody runs or waits."""
        for _ in range(most_steps):
            if not self.running and not self.waiting:
                return
            self.step()
        line = [*self.running, *self.waiting]
        raise Mismatch(
            tr("after {n} steps requests {line} have not ended", n=most_steps, line=line)
        )

    def _begin(self, words: str) -> None:
        """What is done now; where it fails, the engine is no more to be asked."""
        self._story.append(words)
        self.is_right = False

    def _done(self) -> None:
        self._check_lines()
        self._check_pages()
        self.is_right = True

    def _know(self, number: int, logits: list[np.ndarray], length: int, made: list[int]) -> None:
        check(number not in self.made, tr("two requests have the number {n}", n=number))
        self.to_come[number], self.made[number] = list(logits), made
        self._lengths[number] = length

    def _check_logits(self, makers: list[int], logits: Any) -> None:
        places = {"makers": makers, "when": self.when}
        once = len(set(makers)) == len(makers) and all(self.to_come.get(n) for n in makers)
        check(once, tr("of {makers} one has ended or is there twice {when}", **places))
        if not makers:
            return
        expected = np.array([self.to_come[number].pop(0) for number in makers])
        what = tr("the logits of requests {makers} {when}", **places)
        check_array(logits, expected, what, ("request", "token"))
        for number, token in zip(makers, expected.argmax(axis=-1).tolist(), strict=True):
            self.made[number].append(token)
            self._lengths[number] += 1

    def _check_order(self, before: list[int], ended: list[int]) -> tuple[list[int], int]:
        """First in, first admitted; the youngest are preempted, and go to the head of the line."""
        running = numbers(self.engine.running, "Engine.running")
        preempted = [n for n in before if n not in running and n not in ended]
        kept = [n for n in before if n not in preempted]
        places = {"gone": preempted, "before": before, "when": self.when}
        words = tr("requests {gone} of {before} were preempted {when}: not the youngest", **places)
        check(kept == before[: len(kept)], words)
        # Who is admitted and ends in one step is in neither line.
        n_admitted = len(({*running} | {*ended}) - {*before})
        words = tr("a step preempted requests {gone} and admitted others {when}", **places)
        check(not (preempted and n_admitted), words)
        line = preempted + self.waiting
        self.running = [n for n in kept + line[:n_admitted] if n not in ended]
        self.waiting = line[n_admitted:]
        self._check_lines()
        n_ran = len(self.running) + len(ended)
        words = tr("{n} requests ran at once, of {most}, {when}", n=n_ran, most=self.most, **places)
        check(n_ran <= self.most, words)
        return preempted, n_admitted

    def _check_lines(self) -> None:
        for name in ("running", "waiting"):
            got, expected = (
                numbers(getattr(self.engine, name), f"Engine.{name}"),
                getattr(self, name),
            )
            places = {"name": name, "got": got, "expected": expected, "when": self.when}
            words = tr("Engine.{name} is {got} {when}, expected {expected}", **places)
            check(got == expected, words)

    def _check_preempted(self, preempted: list[int], wanted: int) -> None:
        """Only where the blocks do not hold all texts; a fork may have to copy one more."""
        words = tr(
            "requests {gone} were preempted {when}, and blocks for all were there",
            gone=preempted,
            when=self.when,
        )
        check(not preempted or wanted + self.n_forks > self.n_blocks, words)

    def _check_rows(
        self, before: list[int], preempted: list[int], admitted: int, makers: list[int], rows: int
    ) -> None:
        """The budget, who decodes, and rows in vain."""
        places = {"rows": rows, "budget": self.budget, "when": self.when}
        words = tr("a step ran {rows} tokens {when}, the budget is {budget}", **places)
        check(rows <= self.budget, words)
        starved = [n for n in before if n in self.decoding and n not in {*makers, *preempted}]
        words = tr("requests {starved} made no token {when}", starved=starved, when=self.when)
        check(not starved, words)
        if {*before} <= self.decoding and not preempted and not admitted:
            words = tr(
                "{n} requests decode and the step ran {rows} tokens {when}: do ended ones run on?",
                n=len(before),
                **places,
            )
            check(rows == len(before), words)

    def _check_not_idle(self, rows: int) -> None:
        """The first in line is admitted where nothing is in its way."""
        if not self.waiting or len(self.running) >= self.most or rows >= self.budget:
            return
        first, n_free = self.waiting[0], self.cache.n_free
        needed = -(-self._lengths[first] // self.block_size) + self.n_forks
        words = tr(
            "request {n} was not admitted {when}: it takes {needed} blocks, {free} are free",
            n=first,
            needed=needed,
            free=n_free,
            when=self.when,
        )
        check(n_free < needed, words)

    def _check_pages(self) -> None:
        tables = check_pages(self.cache, self.n_blocks, self.block_size, self.when)
        places = {"n": len(self.running), "held": len(tables), "when": self.when}
        words = tr("{n} requests run and the cache holds {held} sequences {when}", **places)
        check(len(tables) == len(self.running), words)


def serve(student: Student, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """The logits (request, step, V) of a case's requests, and in which step each token was made.

    Nothing is compared here; what is not made in so many steps is left zero, or -1.
    """
    model = student.load_model(case.config, case.params)
    cache = new_pages(student, case.config, int(case.n_blocks), int(case.block_size))
    engine = student.Engine(model, cache, int(case.token_budget), int(case.max_running))
    eos = int(case.eos) if case.eos >= 0 else None
    requests = zip(case.rows, case.lengths, case.max_new_tokens, strict=True)
    known = [engine.submit(row[:length], int(n), eos) for row, length, n in requests]
    logits, steps = np.zeros_like(case.logits), np.full_like(case.steps, -1)
    made = dict.fromkeys(known, 0)
    for step in range(2 * int(case.steps.max()) + 5):
        makers, of_step = engine.step()
        for maker, row in zip(numbers(makers, "Engine.step()[0]"), of_step, strict=True):
            if made[maker] < logits.shape[1]:
                logits[known.index(maker), made[maker]] = row
                steps[known.index(maker), made[maker]] = step
                made[maker] += 1
    return logits, steps


def check_read(cache: Any, layer: int, sequence: int, expected: np.ndarray, when: str) -> None:
    """Compare what a layer holds of a sequence with (2, G, S, d_h), keys first."""
    got = cache.read(layer, sequence)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Mismatch(tr("read returned {got}, expected two arrays", got=describe_type(got)))
    for name, array, rows in zip(("keys", "values"), got, expected, strict=True):
        places = {"name": name, "layer": layer, "sequence": sequence, "when": when}
        what = tr("{name} of layer {layer} of sequence {sequence} {when}", **places)
        check_array(array, rows, what, ("kv head", "position", "feature"))


def _speculate(
    student: Student, case: Case, drafts: list[list[int]]
) -> Iterator[tuple[list[int], np.ndarray, int]]:
    """The tokens made after each draft, where it was wrong, and how many positions are cached."""
    model = student.load_model(case.config, case.params)
    cache = new_pages(student, case.config, 20, int(case.block_size))
    sequence = cache.add()
    logits = student.ragged_prefill(model, [case.prompt], cache, [sequence])
    tokens = [int(logits[0].argmax())]
    for wrong_at in drafts:
        start = len(tokens)
        draft = case.tokens[start : start + len(wrong_at)].copy()
        wrong = np.array(wrong_at[: len(draft)], dtype=bool)
        draft[wrong] = case.other[start : start + len(draft)][wrong]
        if not len(draft):
            break
        model.counter.reset()
        made = student.speculative_step(model, tokens[-1], draft, cache, sequence)
        tokens += numbers(made, tr("the tokens of speculative_step"))
        n_rows = model.counter.rows("w_q") // case.config["n_layers"]
        words = tr("a draft of {n} tokens ran {rows} tokens", n=len(draft), rows=n_rows)
        check(n_rows == 1 + len(draft), words)
        yield tokens, wrong, int(cache.length(sequence))
    fork = cache.fork(sequence)
    logits = student.ragged_decode_step(model, np.array(tokens[-1:]), cache, [fork])
    if len(tokens) < len(case.tokens):
        what = tr("the logits after what speculative_step kept")
        check_array(logits[0], case.logits[len(tokens)], what, ("token",))


def check_speculation(student: Student, case: Case, drafts: list[list[int]]) -> None:
    """Compare with greedy decode, and count what is kept.

    Args:
        drafts: of each draft, which of its tokens are wrong.
    """
    n_made, held_after = 1, []
    for tokens, wrong, held in _speculate(student, case, drafts):
        n_right = int(wrong.argmax()) if wrong.any() else len(wrong)
        expected = case.tokens[: n_made + n_right + 1]
        got = np.array(tokens)[: len(case.tokens)]
        what = tr("the tokens with a draft wrong at {places}", places=wrong.nonzero()[0].tolist())
        check_array(got, expected, what, ("step",))
        n_made = len(tokens)
        held_after.append((held, len(case.prompt) + n_made - 1))
    for held, n in held_after:
        words = tr("the cache holds {held} positions after a draft, expected {n}", held=held, n=n)
        check(held == n, words)
