"""For all tests: what the shell and the machine's load must not decide."""

import os
import signal

from hypothesis import settings

# A busy machine is not a wrong program.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# A shell's background jobs ignore Ctrl-C, and hand that on to the graders under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Messages follow the locale; tests that want Chinese say so.
os.environ["LC_ALL"] = "C.UTF-8"
