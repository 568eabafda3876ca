from math import prod


def _attention(c):
    return 2 * c.d_model * (c.n_heads + c.n_kv_heads) * c.head_dim


def n_params(config):
    c = config
    per_layer = _attention(c) + 3 * c.d_model * c.d_ff + 2 * c.d_model
    tables = 1 if c.tied else 2
    return c.n_layers * per_layer + tables * c.vocab_size * c.d_model + c.d_model


def matmul_params(config):
    """all parameters, without norms, and without the embedding unless it is the lm_head"""
    norms = (2 * config.n_layers + 1) * config.d_model
    looked_up = 0 if config.tied else config.vocab_size * config.d_model
    return n_params(config) - norms - looked_up


def kv_bytes_per_token(config, bytes_per_number=2):
    return prod([2, config.n_layers, config.n_kv_heads, config.head_dim, bytes_per_number])


def einsum_flops(spec, *shapes):
    operands = spec[: spec.find("->")].split(",")
    dims = {}
    for op, shape in zip(operands, shapes, strict=True):
        for letter, dim in zip(op, shape, strict=True):
            if dims.get(letter, dim) != dim:
                raise ValueError(f"{letter}: {dims[letter]} != {dim}")
            dims[letter] = dim
    return 2 * prod(dims.values())


def forward_flops(config, batch, new_tokens, past, last_only=False):
    c, BT = config, batch * new_tokens
    q = 2 * BT * c.d_model * c.n_heads * c.head_dim * c.n_layers
    kv = 2 * BT * c.d_model * c.n_kv_heads * c.head_dim * c.n_layers
    mlp = 2 * BT * c.d_model * c.d_ff * c.n_layers
    total = past + new_tokens
    # a triangle up to `total` without the triangle of the past
    seen = (total * (total + 1) - past * (past + 1)) // 2
    core = 4 * batch * c.n_layers * c.n_heads * c.head_dim * seen
    head = 2 * c.d_model * c.vocab_size * (batch if last_only else BT)
    return dict(
        w_q=q, w_k=kv, w_v=kv, attention=core, w_o=q, w_gate=mlp, w_up=mlp, w_down=mlp, lm_head=head
    )


def generation_flops(config, prompt, new_tokens, cached):
    if cached:
        steps = [(prompt, 0)] + [(1, length) for length in range(prompt, prompt + new_tokens - 1)]
    else:
        steps = [(length, 0) for length in range(prompt, prompt + new_tokens)]
    return sum(sum(forward_flops(config, 1, new, past).values()) for new, past in steps)


def roofline_seconds(flops, n_bytes, peak_flops, bandwidth):
    ridge = peak_flops / bandwidth
    memory_bound = flops / n_bytes < ridge
    return n_bytes / bandwidth if memory_bound else flops / peak_flops


def decode_intensity(config, batch, context, bytes_per_number=2):
    params = matmul_params(config)
    attention = 4 * config.n_layers * config.n_heads * config.head_dim * context
    kv = context * kv_bytes_per_token(config, bytes_per_number)
    return batch * (2 * params + attention) / (params * bytes_per_number + batch * kv)


def mla_core(config, context, bytes_per_number=2):
    d_c, d_r = config.latent_dim, config.rope_dim
    absorb = d_c * config.nope_dim
    expand = d_c * config.v_dim
    flops = 2 * config.n_heads * (absorb + context * (2 * d_c + d_r) + expand)
    return flops, context * (d_c + d_r) * bytes_per_number
