"""Are the outputs of a timed run right? Nothing that is not is ever given a time.

Precision is judged by root mean squares of errors, which are far steadier than the largest of them.
Measured on models of random weights, whose logits have unit size, at contexts 32 to 2048:

* float32: correct code 2e-7 to 8e-7 in each step, with RoPE angles in float32 at most 2e-6. Keys
  and values kept in float16: 3e-5 and more; weights in float16: 4e-4. Hence 1e-5.
* bfloat16: grows with depth, 0.005 to 0.02, so our own loop on the same inputs is the measure.
  Over all steps together another correct loop has 0.7 to 1.4 times its error, weights in int8
  2.6 to 3.1 times, keys and values in 8 bits 1.8 to 2.6 times (short contexts show them best).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RMS_TOLERANCE = {"float32": 1e-5}
# Of our own loop's error, where the dtype is so coarse that no fixed figure would do: for all steps
# together, and for each.
TIMES_OUR_OWN = 1.6
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
        raise Refused(f"{what}: not an answer of the harness's adapter")
    got_kind, values = answer
    if got_kind != kind or type(values) is not np.ndarray:
        found = got_kind if got_kind != kind else "an array the pipe does not carry"
        raise Refused(f"{what} is {found}, expected {kind}")
    if values.shape != shape:
        raise Refused(f"{what} has shape {values.shape}, expected {shape}")
    if values.dtype.kind != "i" if dtype is None else values.dtype != dtype:
        expected = "integers" if dtype is None else np.dtype(dtype).name
        raise Refused(f"{what} has dtype {values.dtype}, expected {expected}")
    return values


def rms_errors(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The error of each step: got and expected (steps, B, V) -> (steps,), logits of unit size."""
    if not np.isfinite(got).all():
        raise Refused("a logit is NaN or infinite")
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
        name = "the prefill's logits" if step == 0 else f"the logits of step {step}"
        raise Refused(
            f"{what}: {name} are wrong by {errors[step]:.1e} (rms), accepted is "
            f"{tolerance.rms_of_step:.1e}{guess}"
        )
    if together > tolerance.rms:
        raise Refused(
            f"{what}: the logits are wrong by {together:.1e} (rms of all steps), accepted is "
            f"{tolerance.rms:.1e}{guess}"
        )
    return together


def _lower_precision(errors: np.ndarray) -> str:
    even = errors.min() > errors.max() / 30
    return "; an error this small in every step comes of a lower precision" if even else ""


def check_tokens(tokens: np.ndarray, logits: np.ndarray, tolerance: Tolerance, what: str) -> None:
    """Refused unless every token is the likeliest after those before it, ties within rounding.

    Args:
        tokens: (B, n) as generated.
        logits: (B, n, V), of the sequences made of these very tokens.
    """
    if tokens.min() < 0 or tokens.max() >= logits.shape[2]:
        raise Refused(f"{what}: a token is outside the vocabulary 0..{logits.shape[2] - 1}")
    chosen = np.take_along_axis(logits, tokens[..., None], axis=2)[..., 0]
    short = logits.max(axis=2) - chosen
    scale = max(1.0, float(np.sqrt(np.mean(logits**2))))
    wrong = np.argwhere(short > TIE * tolerance.rms * scale)
    if wrong.size:
        row, place = min(map(tuple, wrong), key=lambda found: found[1])
        raise Refused(
            f"{what}: token {place} (row {row}) is {tokens[row, place]}, whose logit is "
            f"{short[row, place]:.1e} below the largest"
        )
