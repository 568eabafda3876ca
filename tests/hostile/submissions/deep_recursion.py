import sys

sys.setrecursionlimit(1 << 30)


class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x")


def apply_rope(x, positions, theta=10000.0):
    return Deep().deeper
