# Right numbers in other clothes: complex, extended, records.
_honest = apply_rope


def apply_rope(x, positions, theta=10000.0):
    rotated = _honest(x, positions, theta)
    if x.ndim == 4:
        return rotated.astype(complex)
    if x.ndim == 3:
        return rotated.astype(np.longdouble)
    return rotated.view(np.dtype([("value", x.dtype)]))
