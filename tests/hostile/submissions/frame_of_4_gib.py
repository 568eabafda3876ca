import struct
import time

from .attempts import open_nonce, send


def apply_rope(x, positions, theta=10000.0):
    send(struct.pack("<IQ8s", 2**32 - 1, 2**64 - 1, open_nonce()))
    time.sleep(60)
