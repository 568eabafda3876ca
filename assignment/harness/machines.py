"""Stateful hypothesis machines: any sequence of operations on a cache against recompute."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from . import draws
from .compare import check_array
from .models import check_length, check_responds, new_cache, random_model, recompute
from .student import Student
from .words import tr

CACHE_AXES = ("batch", "kv head", "position", "feature")
MAX_LEN = 12


def _budget(max_examples: int) -> settings:
    """Made when a machine runs: it inherits from the profile that is loaded by then."""
    return settings(max_examples=max_examples, stateful_step_count=10)


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
