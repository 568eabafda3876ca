def apply_rope(x, positions, theta=10000.0):
    return np.zeros_like(x)


def rope_frequencies(head_dim, theta=10000.0):
    return np.ones(head_dim // 2)
