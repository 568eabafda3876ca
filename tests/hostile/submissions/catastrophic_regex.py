# One call into C that never comes back to Python.
import re


def apply_rope(x, positions, theta=10000.0):
    return re.match(r"(a+)+$", "a" * 60 + "b")
