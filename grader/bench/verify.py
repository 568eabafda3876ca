"""Are the outputs of a timed run right? Nothing that is not is ever given a time.

Precision is judged by root mean squares of errors, which are far steadier than the largest of them.
Measured on models of random weights, whose logits have unit size, at contexts 32 to 2048:

* float32: correct code 2e-7 to 8e-7 in each step, with RoPE angles in float32 at most 2e-6. Keys
  and values kept in float16: 3e-5 and more; weights in float16: 4e-4. Hence 1e-5.
* bfloat16: grows with depth, 0.005 to 0.02, so our own loop on the same inputs is the measure. It
  keeps the residual stream in float32. Over all steps together a loop that rounds it to bfloat16
  after each layer has 1.2 to 1.5 times its error, weights in int8 3.1 to 4.1 times, those with a
  scale for 16 or 32 numbers 2.5 to 3.3 times, keys and values in 8 bits 1.8 to 2.6 times (short
  contexts show them best).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grader.base.words import tr

RMS_TOLERANCE = {"float32": 1e-5}
# Of our own loop's error, where the dtype is so coarse that no fixed figure would do: for all steps
# together, and for each.
TIMES_OUR_OWN = 1.7
TIMES_OUR_OWN_IN_A_STEP = 4.0
# A token that is not the likeliest must be this close to it, in units of the tolerance.
TIE = 6.0


class Refused(Exception):
    """An output is wrong; the text says which and how."""


@dataclass(frozen=True)
class Tolerance:
    """Largest accepted errors, as root mean squares: of all steps together, and of each."""

    rms: float
    rms_of_step: float

    @classmethod
    def of(cls, dtype: str, our_rms: float = 0.0) -> Tolerance:
        """The tolerance of a dtype; `our_rms` is the error of our own loop on these inputs."""
        if dtype in RMS_TOLERANCE:
            return cls(RMS_TOLERANCE[dtype], RMS_TOLERANCE[dtype])
        return cls(TIMES_OUR_OWN * our_rms, TIMES_OUR_OWN_IN_A_STEP * our_rms)


def expected_kind(impl: str, device: str, dtype: str) -> str:
    """The exact type, dtype and device that an output must have, as the adapter says it."""
    return f"torch.Tensor torch.{dtype} {device}" if impl == "torch" else "numpy.ndarray"


def check_output(
    answer: object, kind: str, dtype: type | None, shape: tuple[int, ...], what: str
) -> np.ndarray:
    """The array in an answer of the adapter; Refused unless it is just what was asked for.

    Args:
        dtype: of the array as it came through the pipe; None takes any integers.
    """
    if type(answer) is not list or len(answer) != 2 or type(answer[0]) is not str:
        raise Refused(tr("{what}: not an answer of the harness's adapter", what=what))
    got_kind, values = answer
    if got_kind != kind or type(values) is not np.ndarray:
        found = got_kind if got_kind != kind else tr("an array the pipe does not carry")
        words = tr("{what} is {found}, expected {expected}", what=what, found=found, expected=kind)
        raise Refused(words)
    if values.shape != shape:
        got = values.shape
        words = tr("{what}: shape {got}, expected {shape}", what=what, got=got, shape=shape)
        raise Refused(words)
    if values.dtype.kind != "i" if dtype is None else values.dtype != dtype:
        expected = tr("integers") if dtype is None else np.dtype(dtype).name
        words = tr(
            "{what}: dtype {got}, expected {expected}",
            what=what,
            got=values.dtype,
            expected=expected,
        )
        raise Refused(words)
    return values


def rms_errors(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The error of each step: got and expected (steps, B, V) -> (steps,), logits of unit size."""
    if not np.isfinite(got).all():
        raise Refused(tr("a logit is NaN or infinite"))
    scale = max(1.0, float(np.sqrt(np.mean(expected**2))))
    return np.sqrt(np.mean((got - expected) ** 2, axis=(1, 2))) / scale


def check_steps(got: np.ndarray, expected: np.ndarray, tolerance: Tolerance, what: str) -> float:
    """The error of all steps together, or Refused. Step 0 is the prefill's."""
    errors = rms_errors(got, expected)
    together = float(np.sqrt(np.mean(errors**2)))
    guess = _lower_precision(errors) if errors.max() < 0.2 else ""
    bad = np.flatnonzero(errors > tolerance.rms_of_step)
    if bad.size:
        step = int(bad[0])
        later = tr("the logits of step {step}", step=step)
        name = later if step else tr("the logits of prefill")
        words = tr(
            "{what}: {name} are wrong by {error:.1e} (rms), accepted is {most:.1e}",
            what=what,
            name=name,
            error=errors[step],
            most=tolerance.rms_of_step,
        )
        raise Refused(words + guess)
    if together > tolerance.rms:
        words = tr(
            "{what}: the logits are wrong by {error:.1e} (rms of all steps), accepted is "
            "{most:.1e}",
            what=what,
            error=together,
            most=tolerance.rms,
        )
        raise Refused(words + guess)
    return together


def _lower_precision(errors: np.ndarray) -> str:
    even = errors.min() > errors.max() / 30
    return tr("; an error this small in every step comes of a lower precision") if even else ""


def check_tokens(tokens: np.ndarray, logits: np.ndarray, tolerance: Tolerance, what: str) -> None:
    """Refused unless every token is the likeliest after those before it, ties within rounding.

    Args:
        tokens: (B, n) as generated.
        logits: (B, n, V), of the sequences made of these very tokens.
    """
    if tokens.min() < 0 or tokens.max() >= logits.shape[2]:
        last = logits.shape[2] - 1
        words = tr("{what}: a token is outside the vocabulary 0..{last}", what=what, last=last)
        raise Refused(words)
    chosen = np.take_along_axis(logits, tokens[..., None], axis=2)[..., 0]
    short = logits.max(axis=2) - chosen
    scale = max(1.0, float(np.sqrt(np.mean(logits**2))))
    wrong = np.argwhere(short > TIE * tolerance.rms * scale)
    if wrong.size:
        row, place = min(map(tuple, wrong), key=lambda found: found[1])
        words = tr(
            "{what}: token {place} (row {row}) is {token}, whose logit is {short:.1e} below the "
            "largest",
            what=what,
            place=place,
            row=row,
            token=tokens[row, place],
            short=short[row, place],
        )
        raise Refused(words)
