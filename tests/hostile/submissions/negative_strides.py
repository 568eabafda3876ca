# HONEST: right, laid out backwards in memory.
_honest = apply_rope


def apply_rope(x, positions, theta=10000.0):
    return np.flip(np.flip(_honest(x, positions, theta)).copy())
