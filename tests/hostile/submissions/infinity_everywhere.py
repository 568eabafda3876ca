def apply_rope(x, positions, theta=10000.0):
    return np.full_like(x, np.inf)


def rope_frequencies(head_dim, theta=10000.0):
    return np.full(head_dim // 2, -np.inf)
