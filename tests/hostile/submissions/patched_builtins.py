# Wrong answers under patched builtins, clocks and the worker's own functions.
import builtins
import time

from .attempts import worker_names

worker = worker_names()
worker["differs"] = lambda now, before: False
worker["describe"] = lambda error: {"type": "ok"}
worker["wire"].pack = lambda value, arrays, special, depth=0: True
worker["Worker"]._call = lambda self, message, numbers, out: {"ok": True}
time.monotonic = time.perf_counter = time.time = lambda: 0.0
builtins.AssertionError = builtins.ValueError = type("Passed", (Exception,), {})
builtins.isinstance = builtins.issubclass = lambda *args: True
builtins.abs = builtins.max = lambda *args, **kwargs: 0
