def apply_rope(x, positions, theta=10000.0):
    return np.float64(0)


def rope_frequencies(head_dim, theta=10000.0):
    return 1.0
