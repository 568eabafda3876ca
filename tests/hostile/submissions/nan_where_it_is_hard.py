# Right but for one NaN: an error of NaN is not larger than the tolerance.
_honest = apply_rope


def apply_rope(x, positions, theta=10000.0):
    rotated = _honest(x, positions, theta)
    rotated.flat[-1] = np.nan
    return rotated
