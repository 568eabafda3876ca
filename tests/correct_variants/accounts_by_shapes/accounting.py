"""Everything read off the arrays' shapes, with numpy's numbers: np.int64, np.float64, a Counter."""

from collections import Counter, OrderedDict

import numpy as np


def shapes(config):
    d, width = config.d_model, config.d_ff
    h, g = config.n_heads * config.head_dim, config.n_kv_heads * config.head_dim
    layer = {
        "attention_norm": (d,),
        "w_q": (d, h),
        "w_k": (d, g),
        "w_v": (d, g),
        "w_o": (h, d),
        "mlp_norm": (d,),
        "w_gate": (d, width),
        "w_up": (d, width),
        "w_down": (width, d),
    }
    found = OrderedDict(embedding=(config.vocab_size, d))
    for i in range(config.n_layers):
        found.update({(i, name): shape for name, shape in layer.items()})
    found["final_norm"] = (d,)
    if not config.tied:
        found["lm_head"] = (d, config.vocab_size)
    return found


def n_params(config):
    return np.sum([np.prod(shape) for shape in shapes(config).values()])


def matmul_params(config):
    matrices = [s for name, s in shapes(config).items() if len(s) == 2 and name != "embedding"]
    if config.tied:
        matrices.append((config.vocab_size, config.d_model))
    return np.prod(np.array(matrices, dtype=np.int64), axis=1).sum()


def kv_bytes_per_token(config, bytes_per_number=2):
    cache = np.empty((config.n_layers, 2, config.n_kv_heads, 1, config.head_dim), np.int8)
    return cache.size * np.int64(bytes_per_number)


def einsum_flops(spec, *operands):
    inputs, _ = spec.split("->")
    sizes = Counter()
    for letters, shape in zip(inputs.split(","), operands, strict=True):
        if len(letters) != len(shape):
            raise ValueError(f"{letters} does not fit {shape}")
        for letter, size in zip(letters, shape, strict=True):
            if sizes[letter] not in (0, size):
                raise ValueError(letter)
            sizes[letter] = size
    return np.prod([2, *sizes.values()], dtype=np.int64)


def forward_flops(config, batch, new_tokens, past, last_only=False):
    flops = Counter()
    for name, shape in shapes(config).items():
        if len(shape) == 2 and isinstance(name, tuple):
            flops[name[1]] += 2 * batch * new_tokens * int(np.prod(shape))
    seen = sum(range(past + 1, past + new_tokens + 1))
    heads = np.array([config.n_layers, config.n_heads, config.head_dim], dtype=object)
    flops["attention"] = 4 * batch * seen * np.prod(heads)
    rows = batch * (1 if last_only else new_tokens)
    flops["lm_head"] = np.multiply(2 * rows, config.d_model * config.vocab_size)
    return flops


def generation_flops(config, prompt, new_tokens, cached):
    total = 0
    for i in range(new_tokens):
        new, past = (1, prompt + i - 1) if cached and i else (prompt + i, 0)
        total += sum(int(n) for n in forward_flops(config, 1, new, past).values())
    return total


def roofline_seconds(flops, n_bytes, peak_flops, bandwidth):
    return np.maximum(np.float64(flops) / peak_flops, np.float64(n_bytes) / bandwidth)


def decode_intensity(config, batch, context, bytes_per_number=2):
    step = forward_flops(config, batch, 1, context - 1)
    numbers = int(matmul_params(config)) * bytes_per_number
    numbers += int(kv_bytes_per_token(config, bytes_per_number)) * context * batch
    return np.divide(float(sum(map(int, step.values()))), float(numbers))


def mla_core(config, context, bytes_per_number=2):
    c, r, h = config.latent_dim, config.rope_dim, config.n_heads
    once = 2 * h * c * config.nope_dim + 2 * h * c * config.v_dim
    each = 2 * h * (c + r) + 2 * h * c
    return np.array([once + each * context, (c + r) * context * bytes_per_number])
