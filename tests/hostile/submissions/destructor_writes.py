# Right answers from arrays whose owner tries to leave a file when it dies.
from .attempts import attempt


class Grave:
    def __del__(self):
        attempt("a file from a destructor", lambda: open("/tmp/hostile_trace.json", "w"))
        attempt("a file from a destructor", lambda: open("/dev/shm/hostile_trace.json", "w"))


_honest = apply_rope
forever = Grave()


def apply_rope(x, positions, theta=10000.0):
    Grave()
    return _honest(x, positions, theta)
