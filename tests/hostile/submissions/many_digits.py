# Numbers and texts that take long to read, keys that are no names.
from .attempts import frame, send


def rope_frequencies(head_dim, theta=10000.0):
    send(frame(b'{"ok":' + b"9" * 500_000 + b"}"))


def apply_rope(x, positions, theta=10000.0):
    send(frame(b'{"ok":{"__class__":"os.system","a":{"u":[]}}}'))
