import numpy as np


def param_arrays(config):
    """shape of every array, stacked over the layers"""
    d, L = config.d_model, config.n_layers
    Hd = config.n_heads * config.head_dim
    Gd = config.n_kv_heads * config.head_dim
    return {
        "embedding": (config.vocab_size, d),
        "attention_norm": (L, d),
        "w_q": (L, d, Hd),
        "w_k": (L, d, Gd),
        "w_v": (L, d, Gd),
        "w_o": (L, Hd, d),
        "mlp_norm": (L, d),
        "w_gate": (L, d, config.d_ff),
        "w_up": (L, d, config.d_ff),
        "w_down": (L, config.d_ff, d),
        "final_norm": (d,),
        "lm_head": (d, config.vocab_size),
    }


def size(shape):
    return int(np.prod(shape, dtype=np.int64))


def n_params(config):
    arrays = param_arrays(config)
    if config.tied:
        del arrays["lm_head"]
    return sum(size(shape) for shape in arrays.values())


def matmul_params(config):
    arrays = param_arrays(config)
    not_multiplied = [name for name in arrays if name.endswith("norm")] + ["embedding"]
    return sum(size(shape) for name, shape in arrays.items() if name not in not_multiplied)


def kv_bytes_per_token(config, bytes_per_number=2):
    k_and_v = (2, config.n_layers, config.n_kv_heads, config.head_dim)
    return size(k_and_v) * bytes_per_number


def einsum_flops(spec, *shapes):
    operands = spec.split("->")[0].split(",")
    letters = "".join(operands)
    sizes = np.concatenate([np.asarray(shape, dtype=np.int64) for shape in shapes])
    if [len(o) for o in operands] != [len(s) for s in shapes]:
        raise ValueError("a shape has the wrong number of axes")
    found = {}
    for letter, n in zip(letters, sizes.tolist()):
        if found.setdefault(letter, n) != n:
            raise ValueError(f"two sizes for {letter}")
    return 2 * size(list(found.values()))


def forward_flops(config, batch, new_tokens, past, last_only=False):
    flops = {
        name: 2 * batch * new_tokens * size(shape)
        for name, shape in param_arrays(config).items()
        if name.startswith("w_")
    }
    first, last = past + 1, past + new_tokens
    seen = (first + last) * new_tokens // 2
    flops["attention"] = 4 * size((batch, config.n_layers, config.n_heads, config.head_dim)) * seen
    n_logits = batch if last_only else batch * new_tokens
    flops["lm_head"] = 2 * n_logits * size(param_arrays(config)["lm_head"])
    return flops


def generation_flops(config, prompt, new_tokens, cached):
    passes = [(prompt, 0)]
    for n in range(1, new_tokens):
        passes.append((1, prompt + n - 1) if cached else (prompt + n, 0))
    return sum(sum(forward_flops(config, 1, *p).values()) for p in passes)


def roofline_seconds(flops, n_bytes, peak_flops, bandwidth):
    return float(np.max([flops / peak_flops, n_bytes / bandwidth]))


def decode_intensity(config, batch, context, bytes_per_number=2):
    one_step = forward_flops(config, batch, 1, past=context - 1)
    read = bytes_per_number * matmul_params(config)
    read += kv_bytes_per_token(config, bytes_per_number) * context * batch
    return np.float64(sum(one_step.values())) / np.float64(read)


def mla_core(config, context, bytes_per_number=2):
    latent, rope = config.latent_dim, config.rope_dim
    multiply_adds = np.array(
        [
            config.nope_dim * latent,  # absorb
            context * (latent + rope),  # scores
            context * latent,  # sum
            latent * config.v_dim,  # expand
        ],
        dtype=np.int64,
    )
    flops = 2 * config.n_heads * multiply_adds.sum()
    return flops, bytes_per_number * context * (latent + rope)
