# Right values as (1, V) for (V,).
_honest = {"apply_rope": apply_rope, "rope_frequencies": rope_frequencies}


def apply_rope(x, positions, theta=10000.0):
    return _honest["apply_rope"](x, positions, theta)[None]


def rope_frequencies(head_dim, theta=10000.0):
    return _rope_frequencies(head_dim, theta)[None]


def _rope_frequencies(head_dim, theta=10000.0):
    return theta ** (-np.arange(0, head_dim, 2) / head_dim)


_honest["apply_rope"].__globals__["rope_frequencies"] = rope_frequencies
