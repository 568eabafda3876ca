# Right, in place of the question.
_honest = apply_rope


def apply_rope(x, positions, theta=10000.0):
    x[...] = _honest(x, positions, theta)
    return x
