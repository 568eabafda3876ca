# Right answers; the solution and the reference by every name and path.
import importlib
import importlib.util
import os
import sys

from .attempts import attempt

ROOT = "@ROOT@"  # where the course lies, as an attacker might know
NAMES = ("solution", "reference_model", "grader", "tests", "pytest", "hypothesis", "pydantic", "rich")
INNER = ("solution.rope", "assignment.harness", "assignment.golden", "assignment.test_part3_rope")
PLACES = (ROOT, f"{ROOT}/solution", f"{ROOT}/assignment", f"{ROOT}/grader/grading/hidden")

for name in (*NAMES, *INNER):
    attempt(f"import {name}", lambda: importlib.import_module(name))
for place in PLACES:
    attempt(f"list {place[len(ROOT):]}", lambda: os.listdir(place))
attempt("read the solution", lambda: open(f"{ROOT}/solution/rope.py").read())
attempt("read the results", lambda: os.listdir("@OUT@"))
for up in ("/submission/..", "/submission/assignment/../..", "/proc/1/root", "/proc/self/cwd/.."):
    attempt(f"the solution by {up}", lambda: open(f"{up}{ROOT}/solution/rope.py").read())

sys.path[:0] = PLACES
importlib.invalidate_caches()
for name in (*NAMES[:4], "harness"):
    attempt(f"find {name} on a longer path", lambda: importlib.util.find_spec(name))
spec = importlib.util.spec_from_file_location("stolen", f"{ROOT}/solution/rope.py")
attempt("load the file", lambda: spec.loader.exec_module(importlib.util.module_from_spec(spec)))
del sys.path[: len(PLACES)]
