def apply_rope(x, positions, theta=10000.0):
    raise ValueError("x" * 50_000_000)
