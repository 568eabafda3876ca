"""`python -m reference_model.lecture`: the tables and plots of L2 and D3, made anew."""

from __future__ import annotations

import os
import subprocess
import sys

# Two of the tables compare times, which BLAS threads that wait for each other turn upside down, and
# all of them multiply matrices too small to share.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def on_one_thread(module: str) -> None:
    """Start `python -m module` anew if BLAS has more threads: it reads their number only once."""
    if not os.environ.items() >= _ONE_THREAD.items():
        command = [sys.executable, "-m", module, *sys.argv[1:]]
        sys.exit(subprocess.run(command, env=os.environ | _ONE_THREAD, check=False).returncode)
