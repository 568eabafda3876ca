import ctypes


def apply_rope(x, positions, theta=10000.0):
    ctypes.string_at(0)
