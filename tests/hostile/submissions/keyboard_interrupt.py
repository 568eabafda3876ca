def rope_frequencies(head_dim, theta=10000.0):
    raise GeneratorExit


def apply_rope(x, positions, theta=10000.0):
    raise KeyboardInterrupt
