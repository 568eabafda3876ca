"""Imported once by the fork server: every submission's process then starts with this done.

Imports pytest's parts, hypothesis and the test modules, digests the properties, and tries the
sandbox out, which together take longer than many a submission.
"""

import contextlib
import functools

import hypothesis
from hypothesis import core, strategies

from grader.grading.suite import collect_public
from grader.sandbox import SandboxUnavailable, choose_sandbox

with contextlib.suppress(SandboxUnavailable):  # each child will find out and say so
    choose_sandbox("auto")

tests, _ = collect_public()


@hypothesis.settings(max_examples=1, database=None)
@hypothesis.given(strategies.lists(strategies.integers() | strategies.floats()))
def _load_what_hypothesis_loads_late(values: list) -> None:
    pass


_load_what_hypothesis_loads_late()

# At every run of a property hypothesis reads and tokenizes its source, for a digest that cannot
# change while the process lives.
if hasattr(core, "function_digest"):  # no promise of hypothesis'
    core.function_digest = functools.cache(core.function_digest)
    for test in tests:
        if hasattr(test.obj, "hypothesis"):
            core.function_digest(test.obj.hypothesis.inner_test)
