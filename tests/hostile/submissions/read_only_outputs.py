# HONEST: right, in arrays that nobody may write to, and in column order.
_honest = apply_rope


def apply_rope(x, positions, theta=10000.0):
    rotated = np.asfortranarray(_honest(x, positions, theta))
    rotated.flags.writeable = False
    return rotated
