# HONEST: right, and noisy about it.
import logging
import sys
import warnings

_quiet = apply_rope
warnings.simplefilter("always")
np.seterr(all="warn")


def apply_rope(x, positions, theta=10000.0):
    warnings.warn("this is deprecated", DeprecationWarning)
    logging.error("an error that is none")
    np.log(np.zeros(1)) * 0
    print("Traceback (most recent call last): not really", file=sys.stderr)
    return _quiet(x, positions, theta)
