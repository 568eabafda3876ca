# Exceptions that cannot be made from a text, by inheritance.
class Many(ExceptionGroup):
    pass


class Badly(UnicodeDecodeError):
    def __init__(self):
        super().__init__("utf-8", b"x", 0, 1, "no reason")


def rope_frequencies(head_dim, theta=10000.0):
    raise Badly()


def apply_rope(x, positions, theta=10000.0):
    raise Many("several", [ValueError("one"), OSError("another")])
