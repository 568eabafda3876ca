# An answer that does not fit a frame, and one with a million parts.
def rope_frequencies(head_dim, theta=10000.0):
    return [0.0] * 1_000_000


def apply_rope(x, positions, theta=10000.0):
    return np.zeros(3 << 20)
