# "Not begun", said of somebody else's part.
def rope_frequencies(head_dim, theta=10000.0):
    raise NotImplementedError("Part 1.1 softmax")


def apply_rope(x, positions, theta=10000.0):
    raise NotImplementedError("Part 999.1 passed")
