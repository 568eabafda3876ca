# ruff: noqa: E402, I001
# Handed in as a notebook: the test puts these cells behind cells with the solution's modules, so
# that, as in any notebook, the later definition counts. `# !` and `# %` lines become magics.

# %%
import math
import numpy as np

# %matplotlib inline
# !pip install numpy


# %%
def softmax(x, axis=-1):
    return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)


softmax(np.array([1000.0, 1.0]))  # nan: the next cell does it right


# %%
# %%time
def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


# %%
def causal_mask(query_len, key_len):
    rows, columns = np.ogrid[key_len - query_len : key_len, :key_len]
    return columns <= rows


# %%
import matplotlib.pyplot as plt

plt.imshow(causal_mask(8, 8))
display(causal_mask(2, 4))  # noqa: F821


# %%
def apply_rope(x, positions, theta=10000.0):
    angles = positions[..., None] * theta ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    if positions.ndim == 2:
        angles = angles[(slice(None), *[None] * (x.ndim - 3))]
    (c, s), pairs = (
        (f(angles).astype(x.dtype) for f in (np.cos, np.sin)),
        x.reshape(*x.shape[:-1], -1, 2),
    )
    a, b = pairs[..., 0], pairs[..., 1]
    return np.stack([a * c - b * s, a * s + b * c], axis=-1).reshape(x.shape)


# %%
def test_norm():
    x = np.random.default_rng().normal(size=(3, 4))
    assert math.isclose(np.linalg.norm(x), np.linalg.norm(apply_rope(x, np.arange(3))))


# %%
test_norm()
print("norms are kept")
