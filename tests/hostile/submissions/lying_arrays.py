# Frames whose arrays are larger than the frame, negative, or of a type that runs code.
from .attempts import frame, send


def rope_frequencies(head_dim, theta=10000.0):
    send(frame(b'{"ok":{"a":["float64",1099511627775,-8]}}', bytes(8)))


def apply_rope(x, positions, theta=10000.0):
    send(frame(b'{"ok":{"a":["O",1]}}', bytes(8)))
