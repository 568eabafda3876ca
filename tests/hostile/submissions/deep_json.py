from .attempts import frame, send


def rope_frequencies(head_dim, theta=10000.0):
    send(frame(b'{"ok":' + b'{"t":[' * 20_000 + b"]}" * 20_000 + b"}"))


def apply_rope(x, positions, theta=10000.0):
    send(frame(b'{"ok":' + b"[" * 60 + b"]" * 60 + b"}"))
