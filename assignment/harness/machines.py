"""Stateful hypothesis machines: any sequence of operations on a cache or an engine."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from . import draws
from .cases import Case
from .compare import check, check_array, check_refused
from .models import check_length, check_responds, new_cache, random_model, recompute
from .serving import Watched, check_pages, check_read, new_pages, numbers
from .student import Student
from .words import tr

CACHE_AXES = ("batch", "kv head", "position", "feature")
MAX_LEN = 12


def _budget(max_examples: int, n_steps: int = 10) -> settings:
    """Made when a machine runs: it inherits from the profile that is loaded by then."""
    return settings(max_examples=max_examples, stateful_step_count=n_steps)


def run_cache_machine(student: Student) -> None:
    """Drive two KVCaches with append and truncate; each must return exactly its own rows."""

    class CacheMachine(RuleBasedStateMachine):
        @initialize(seed=st.integers(0, 2**16), batch=st.integers(1, 2))
        def start(self, seed: int, batch: int) -> None:
            self.rng = draws.rng(seed)
            self.batch = batch
            self.caches = [
                student.KVCache(2, batch, 3, MAX_LEN, 2, np.dtype(float)) for _ in range(2)
            ]
            empty = np.empty((batch, 3, 0, 2))
            self.held = [[(empty, empty) for _ in range(2)] for _ in range(2)]
            self.history: list[str] = []

        @rule(which=st.integers(0, 1), count=st.integers(1, 4))
        def append(self, which: int, count: int) -> None:
            """Append to every layer, as a model does."""
            if self._length(which) + count > MAX_LEN:
                return
            self.history.append(f"append {count}")
            for layer in range(2):
                k, v = self.rng.standard_normal((2, self.batch, 3, count, 2))
                got = self.caches[which].append(layer, k, v)
                held_k, held_v = self.held[which][layer]
                held = np.concatenate([held_k, k], axis=2), np.concatenate([held_v, v], axis=2)
                self.held[which][layer] = held
                for name, array, expected in zip(("keys", "values"), got, held, strict=True):
                    what = tr(
                        "{name} of layer {layer} after {story}",
                        name=name,
                        layer=layer,
                        story=self._story(),
                    )
                    check_array(array, expected, what, CACHE_AXES)

        @rule(which=st.integers(0, 1), fraction=st.floats(0, 1))
        def truncate(self, which: int, fraction: float) -> None:
            length = int(fraction * self._length(which))
            self.history.append(tr("truncate to {length}", length=length))
            self.caches[which].truncate(length)
            self.held[which] = [(k[:, :, :length], v[:, :, :length]) for k, v in self.held[which]]
            check_length(self.caches[which], length, tr("after {story}", story=self._story()))

        def _length(self, which: int) -> int:
            return self.held[which][0][0].shape[2]

        def _story(self) -> str:
            return ", ".join(self.history[-4:])

    run_state_machine_as_test(draws.drawn(CacheMachine), settings=_budget(max_examples=5))


def run_decode_machine(student: Student, n_kv_heads: int, max_examples: int) -> None:
    """Drive prefill, decode_step and truncate in any order; logits must equal a recompute's."""
    config, params = random_model(seed=3, n_heads=4, n_kv_heads=n_kv_heads)
    model = student.load_model(config, params)
    check_responds(student, model, config)

    class DecodeMachine(RuleBasedStateMachine):
        @initialize(seed=st.integers(0, 2**16), batch=st.integers(1, 2))
        def start(self, seed: int, batch: int) -> None:
            self.rng = draws.rng(seed)
            self.tokens = np.empty((batch, 0), dtype=np.int64)
            self.cache = new_cache(student, config, batch, MAX_LEN)
            self.history: list[str] = []

        @rule(count=st.integers(1, 3))
        def prefill(self, count: int) -> None:
            new = self._draw(count)
            if new is not None:
                self.history.append(f"prefill {count}")
                self._compare(student.prefill(model, new, self.cache))

        @precondition(lambda self: self.tokens.shape[1] > 0)
        @rule()
        def decode(self) -> None:
            new = self._draw(1)
            if new is not None:
                self.history.append("decode")
                self._compare(student.decode_step(model, new[:, 0], self.cache))

        @precondition(lambda self: self.tokens.shape[1] > 1)
        @rule(fraction=st.floats(0, 1))
        def truncate(self, fraction: float) -> None:
            length = int(fraction * self.tokens.shape[1])
            self.history.append(tr("truncate to {length}", length=length))
            self.cache.truncate(length)
            self.tokens = self.tokens[:, :length]

        def _draw(self, count: int) -> np.ndarray | None:
            """New tokens, already counted as seen; None when the cache is full."""
            batch, length = self.tokens.shape
            if length + count > MAX_LEN:
                return None
            new = self.rng.integers(config["vocab_size"], size=(batch, count))
            self.tokens = np.concatenate([self.tokens, new], axis=1)
            return new

        def _compare(self, got: object) -> None:
            expected = recompute(student, model, config, self.tokens)
            story = ", ".join(self.history[-5:])
            what = tr("the logits after {story}", story=story)
            check_array(got, expected, what, ("batch", "token"))
            check_length(self.cache, self.tokens.shape[1], tr("after {story}", story=story))

    run_state_machine_as_test(draws.drawn(DecodeMachine), settings=_budget(max_examples))


class PagesMachine(RuleBasedStateMachine):
    """Append, truncate, fork and free; each sequence reads what it was given, each block counts."""

    student: ClassVar[Student]
    CONFIG: ClassVar = {"n_layers": 2, "n_kv_heads": 2, "head_dim": 3}
    N_BLOCKS, BLOCK_SIZE = 7, 3

    @initialize(seed=st.integers(0, 2**16))
    def start(self, seed: int) -> None:
        self.rng = draws.rng(seed)
        self.cache = new_pages(self.student, self.CONFIG, self.N_BLOCKS, self.BLOCK_SIZE)
        self.held: dict[int, np.ndarray] = {}
        self.tables: dict[int, list[int]] = {}
        self.story: list[str] = []

    @rule()
    def add(self) -> None:
        n_layers, *of_layer = self.CONFIG.values()
        self.held[self._new(self.cache.add())] = np.empty(
            (2, n_layers, of_layer[0], 0, of_layer[1])
        )

    @precondition(lambda self: self.held)
    @rule(place=st.integers(0, 9), count=st.integers(1, 5))
    def append(self, place: int, count: int) -> None:
        sequence = self._chosen(place)
        held, needed = self.held[sequence], self._needed(sequence, count)
        new = self.rng.standard_normal((*held.shape[:3], count, held.shape[4]))
        self.story.append(tr("append {n} to sequence {s}", n=count, s=sequence))
        told = numbers([self.cache.blocks_needed(sequence, count)], "blocks_needed")[0]
        words = {"n": told, "expected": needed, "when": self._when()}
        check(told == needed, tr("blocks_needed is {n}, expected {expected}, {when}", **words))
        if needed > self.cache.n_free:
            what = tr("append of more than the free blocks hold {when}", when=self._when())
            check_refused(partial(self.cache.append, 0, sequence, *new[:, 0]), what)
            return
        for layer in range(len(new[0])):
            self.cache.append(layer, sequence, *new[:, layer])
        self.held[sequence] = np.concatenate([held, new], axis=3)

    @precondition(lambda self: self.held)
    @rule(place=st.integers(0, 9), fraction=st.floats(0, 1))
    def truncate(self, place: int, fraction: float) -> None:
        sequence = self._chosen(place)
        length = int(fraction * self.held[sequence].shape[3])
        self.story.append(tr("truncate to {length}", length=length))
        self.cache.truncate(sequence, length)
        self.held[sequence] = self.held[sequence][:, :, :, :length]

    @precondition(lambda self: self.held)
    @rule(place=st.integers(0, 9))
    def fork(self, place: int) -> None:
        sequence = self._chosen(place)
        self.story.append(tr("fork of sequence {s}", s=sequence))
        self.held[self._new(self.cache.fork(sequence))] = self.held[sequence]
        self.holds()
        for both in (place, len(self.held) - 1):
            self.append(both, 1)
            self.holds()

    @precondition(lambda self: self.held)
    @rule(place=st.integers(0, 9))
    def free(self, place: int) -> None:
        sequence = self._chosen(place)
        self.story.append(tr("free of sequence {s}", s=sequence))
        self.cache.free(sequence)
        del self.held[sequence]

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "held"):
            return
        when = self._when()
        self.tables = check_pages(self.cache, self.N_BLOCKS, self.BLOCK_SIZE, when)
        words = tr("the cache holds sequences {got} {when}", got=[*self.tables], when=when)
        check(self.tables.keys() == self.held.keys(), words)
        for sequence, expected in self.held.items():
            for layer in range(expected.shape[1]):
                check_read(self.cache, layer, sequence, expected[:, layer], when)

    def _needed(self, sequence: int, count: int) -> int:
        table, length = self.tables[sequence], self.held[sequence].shape[3]
        others = [other for other in self.tables if other != sequence]
        is_begun = length % self.BLOCK_SIZE > 0
        copies = is_begun and any(table[-1] in self.tables[other] for other in others)
        return -(-(length + count) // self.BLOCK_SIZE) - len(table) + int(copies)

    def _new(self, sequence: int) -> int:
        check(sequence not in self.held, tr("two sequences have the number {n}", n=sequence))
        return sequence

    def _chosen(self, place: int) -> int:
        return list(self.held)[place % len(self.held)]

    def _when(self) -> str:
        return tr("after {story}", story=", ".join(self.story[-4:]))


class EngineMachine(RuleBasedStateMachine):
    """Submit, step, cancel, fork and run out of blocks (see Watched)."""

    student: ClassVar[Student]
    case: ClassVar[Case]

    @initialize(more=st.integers(0, 2), most=st.integers(2, 4), spare=st.integers(0, 6))
    def start(self, more: int, most: int, spare: int) -> None:
        lengths, n_new = self.case.lengths, self.case.logits.shape[1]
        largest = -(-(int(lengths.max()) + n_new - 1) // int(self.case.block_size))
        self.watched = Watched(self.student, self.case, largest + more, most + spare, most)
        self.prompt_of: dict[int, int] = {}

    @rule(which=st.lists(st.integers(0, 5), min_size=2, max_size=5), count=st.integers(1, 5))
    def submit(self, which: list[int], count: int) -> None:
        for prompt in which:
            tokens = self.case.rows[prompt][: self.case.lengths[prompt]]
            number = self.watched.submit(tokens, list(self.case.logits[prompt]))
            self.prompt_of[number] = prompt
        self.step(count)

    @rule(count=st.integers(1, 3))
    def step(self, count: int) -> None:
        for _ in range(count):
            self.watched.step()

    @rule(place=st.integers(0, 9))
    def cancel(self, place: int) -> None:
        line = [*self.watched.running, *self.watched.waiting]
        if line:
            self.watched.cancel(line[place % len(line)])

    @rule(which=st.integers(0, 5), place=st.integers(0, 9))
    def fork(self, which: int, place: int) -> None:
        """Somebody who decodes goes on with two tokens, and both append."""
        if not self._forkable():
            self.submit([which], 2)
        for number in self._forkable()[place % 2 :][:1]:
            self._fork(number)
        self.step(1)

    def _fork(self, number: int) -> None:
        prompt, n_made = self.prompt_of[number], len(self.watched.made[number])
        token = int(self.case.other[prompt, n_made - 1])
        if len(self.watched.running) == self.watched.most:
            what = tr("a fork where {n} requests run", n=self.watched.most)
            check_refused(partial(self.watched.engine.fork, number, token), what)
            return
        n_left = self.case.logits.shape[1] - n_made
        logits = self.case.fork_logits[prompt, n_made - 1][:n_left]
        self.watched.fork(number, token, list(logits))

    def _forkable(self) -> list[int]:
        """Those that decode and are no forks themselves."""
        known = self.watched.decoding & {*self.prompt_of}
        return [number for number in self.watched.running if number in known]

    def teardown(self) -> None:
        """Whoever is left ends as well; unless something was wrong before."""
        if hasattr(self, "watched") and self.watched.is_right:
            self.watched.run_to_end()


def run_pages_machine(student: Student, max_examples: int = 10) -> None:
    """Drive a PagedKVCache with all that it can do."""
    machine = type("PagesMachine", (PagesMachine,), {"student": student})
    run_state_machine_as_test(draws.drawn(machine), settings=_budget(max_examples, 15))


def run_engine_machine(student: Student, case: Case, max_examples: int = 12) -> None:
    """Drive an Engine with requests of a pool, whose logits the reference has computed alone."""
    machine = type("EngineMachine", (EngineMachine,), {"student": student, "case": case})
    run_state_machine_as_test(draws.drawn(machine), settings=_budget(max_examples, 12))
