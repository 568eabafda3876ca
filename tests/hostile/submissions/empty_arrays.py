# Nothing of an empty array is wrong.
def apply_rope(x, positions, theta=10000.0):
    return x[..., :0]


def rope_frequencies(head_dim, theta=10000.0):
    return np.empty(0)
