"""The experiment: verify a submission's decode loop and ours, and time what was verified.

Every repetition has weights and inputs of its own. At each context both loops see the same ones,
one after the other, in an order that alternates; while one runs the other is stopped.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from grader.base.words import tr
from grader.bench.adapter import perturbed
from grader.bench.loop import Loop
from grader.bench.measure import (
    Clock,
    Generation,
    Steps,
    time_generation,
    time_products,
    time_steps,
)
from grader.bench.oracle import expected_logits
from grader.bench.setting import Setting
from grader.bench.verify import (
    Refused,
    Tolerance,
    check_output,
    check_steps,
    check_tokens,
    expected_kind,
)
from grader.sandbox.problems import SubmissionProblem

WARM_UP_STEPS = 3
PRODUCT_REPEATS = 5
# Of our own loop, which is right by other tests; this only notices that something is broken.
OUR_TOLERANCE = Tolerance(0.1, 0.2)


@dataclass
class Times:
    """Seconds by context, one entry a repetition; `generation` by itself. All were verified."""

    steps: dict[int, list[float]] = field(default_factory=dict)
    first: dict[int, list[float]] = field(default_factory=dict)
    prefill: dict[int, list[float]] = field(default_factory=dict)
    generation: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def add(self, context: int, steps: Steps, error: float) -> None:
        self.steps.setdefault(context, []).append(steps.per_step)
        self.first.setdefault(context, []).append(steps.first)
        self.prefill.setdefault(context, []).append(steps.prefill)
        self.errors.append(error)


@dataclass
class Measured:
    """What an experiment found; `refused` says why the submission has no times."""

    submission: Times = field(default_factory=Times)
    ours: Times = field(default_factory=Times)
    bound: dict[int, list[float]] = field(default_factory=dict)
    refused: str = ""


class BrokenReference(Exception):
    """Our own loop failed or was wrong: the harness's fault, never the submission's."""


def run_experiment(
    setting: Setting,
    base: dict[str, np.ndarray],
    submission: Loop,
    ours: Loop,
    clock: Clock = time.perf_counter,
    progress: Callable[[str], None] = lambda text: None,
) -> Measured:
    """Time both loops on models made from the weights `base`."""
    return Experiment(setting, base, submission, ours, clock, progress).run()


class Experiment:
    """See run_experiment."""

    def __init__(self, setting, base, submission, ours, clock, progress) -> None:
        self._setting, self._base, self._clock, self._progress = setting, base, clock, progress
        self._submission, self._ours = submission, ours
        self._kind = expected_kind(setting.impl, setting.device, setting.dtype)
        self._found = Measured()

    def run(self) -> Measured:
        try:
            self._set_up()
            for repetition in range(self._setting.repetitions):
                self._repeat(repetition)
        except Refused as refusal:
            self._found.refused = str(refusal)
            self._found.submission = Times()
        return self._found

    def _set_up(self) -> None:
        self._guarded(self._ours, self._ours.setup)
        self._guarded(self._submission, self._submission.setup)

    def _repeat(self, repetition: int) -> None:
        seed = secrets.randbits(60)
        rng = np.random.default_rng(secrets.randbits(128))
        self._params = perturbed(self._base, seed, self._setting.dtype)
        for loop in (self._ours, self._submission):
            with self._turn(loop):
                self._guarded(loop, loop.open, seed)
        self._warm_up(rng)
        for number, context in enumerate(self._setting.contexts):
            n = repetition + 1
            self._progress(tr("repetition {n}, context {context}", n=n, context=context))
            order = self._order(repetition + number)
            self._steps(rng, context, order, timed=True)
            with self._turn(self._ours):
                seconds = self._guarded(
                    self._ours, time_products, self._ours, context, PRODUCT_REPEATS, self._clock
                )
            self._found.bound.setdefault(context, []).append(seconds)
        self._progress(tr("repetition {n}, generation", n=repetition + 1))
        self._generation(rng, self._setting.new_tokens, self._order(repetition), timed=True)

    def _warm_up(self, rng: np.random.Generator) -> None:
        """Verified and not timed, on inputs that do not come again."""
        self._steps(rng, self._setting.contexts[0], self._order(0), timed=False)
        # Of the length that is timed: a loop that captures or compiles for a size does it here.
        torch_part = self._setting.impl == "torch"
        n_tokens = self._setting.new_tokens if torch_part else WARM_UP_STEPS
        self._generation(rng, n_tokens, self._order(0), timed=False)

    def _order(self, number: int) -> tuple[Loop, Loop]:
        pair = (self._submission, self._ours)
        return pair if number % 2 else pair[::-1]

    # --- the two measures ------------------------------------------------------------------------

    def _steps(self, rng, context: int, order: tuple[Loop, Loop], timed: bool) -> None:
        n_steps = self._setting.steps if timed else WARM_UP_STEPS
        tokens = self._tokens(rng, context + n_steps)
        prompt, revealed = tokens[:, :context], tokens[:, context:]
        got: dict[Loop, Steps] = {}
        for loop in order:
            with self._turn(loop):
                got[loop] = self._guarded(loop, time_steps, loop, prompt, revealed, self._clock)
        expected = np.moveaxis(self._expected(tokens, context - 1), 1, 0)
        what = tr("at context {n}", n=context) if timed else tr("while warming up")
        our_error = self._error_of(self._ours, got, expected, OUR_TOLERANCE, what)
        self._tolerance = Tolerance.of(self._setting.dtype, our_error)
        error = self._error_of(self._submission, got, expected, self._tolerance, what)
        if timed:
            self._found.ours.add(context, got[self._ours], our_error)
            self._found.submission.add(context, got[self._submission], error)

    def _error_of(self, loop: Loop, got: dict, expected, tolerance: Tolerance, what: str) -> float:
        """The error of all steps; every output must be what was asked for, and right."""
        with self._blame(loop):
            values = [
                check_output(
                    answer,
                    self._kind,
                    np.float32,
                    expected.shape[1:],
                    tr("{what}: the output of step {n}", what=what, n=step),
                )
                for step, answer in enumerate(got[loop].outputs)
            ]
            return check_steps(np.stack(values), expected, tolerance, what)

    def _generation(self, rng, n_tokens: int, order: tuple[Loop, Loop], timed: bool) -> None:
        prompt = self._tokens(rng, self._setting.prompt)
        got: dict[Loop, Generation] = {}
        for loop in order:
            with self._turn(loop):
                got[loop] = self._guarded(
                    loop, time_generation, loop, prompt, n_tokens, self._clock
                )
        what = "generate" if timed else tr("generate while warming up")
        for loop in (self._ours, self._submission):
            with self._blame(loop):
                self._check_generated(got[loop], prompt, n_tokens, what)
        if timed:
            self._found.ours.generation.append(got[self._ours].seconds)
            self._found.submission.generation.append(got[self._submission].seconds)

    def _check_generated(self, got: Generation, prompt, n_tokens: int, what: str) -> None:
        numpy_part = self._setting.impl == "numpy"
        kind = self._kind if numpy_part else f"torch.Tensor torch.int64 {self._setting.device}"
        dtype = None if numpy_part else np.int64
        shape = (len(prompt), n_tokens)
        tokens = check_output(got.output, kind, dtype, shape, tr("{what}: the output", what=what))
        in_range = np.clip(tokens, 0, self._setting.config.vocab_size - 1)
        whole = np.concatenate([prompt, in_range[:, :-1]], axis=1)
        logits = self._expected(whole, prompt.shape[1] - 1)
        check_tokens(tokens, logits, self._tolerance, what)

    # --- who runs, and whose fault it is ---------------------------------------------------------

    def _turn(self, loop: Loop):
        return loop.turn([other for other in self._order(0) if other is not loop])

    def _guarded(self, loop: Loop, call: Callable, *args):
        """Call it; what goes wrong becomes a refusal, or our own failure."""
        with self._blame(loop):
            try:
                return call(*args)
            except SubmissionProblem as problem:
                raise Refused(str(problem)) from None
            except Exception as problem:
                if not hasattr(problem, "student_where"):
                    raise  # not the submission's: ours
                raise Refused(f"{type(problem).__name__}: {problem}") from None

    def _blame(self, loop: Loop):
        return _our_fault() if loop is self._ours else contextlib.nullcontext()

    # --- inputs and expected outputs -------------------------------------------------------------

    def _tokens(self, rng: np.random.Generator, length: int) -> np.ndarray:
        return rng.integers(0, self._setting.config.vocab_size, (1, length))

    def _expected(self, tokens: np.ndarray, first: int) -> np.ndarray:
        s = self._setting
        return expected_logits(s.config, self._params, tokens, first, s.device)


@contextlib.contextmanager
def _our_fault() -> Iterator[None]:
    """Turns a refusal of our own loop into what it is."""
    try:
        yield
    except Refused as problem:
        raise BrokenReference(f"the solution's own loop failed: {problem}") from problem
