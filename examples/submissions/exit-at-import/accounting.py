from .transformer import ModelConfig


def layer_matrices(c: ModelConfig) -> dict[str, int]:
    q_width = c.n_heads * c.head_dim
    kv_width = c.n_kv_heads * c.head_dim
    return {
        "w_q": c.d_model * q_width,
        "w_k": c.d_model * kv_width,
        "w_v": c.d_model * kv_width,
        "w_o": q_width * c.d_model,
        "w_gate": c.d_model * c.d_ff,
        "w_up": c.d_model * c.d_ff,
        "w_down": c.d_ff * c.d_model,
    }


def n_params(config):
    table = config.vocab_size * config.d_model
    layer = sum(layer_matrices(config).values()) + 2 * config.d_model
    n = table + config.n_layers * layer + config.d_model
    if not config.tied:
        n += table
    return n


def matmul_params(config):
    return (
        config.n_layers * sum(layer_matrices(config).values()) + config.vocab_size * config.d_model
    )


def kv_bytes_per_token(config, bytes_per_number=2):
    per_layer = 2 * config.n_kv_heads * config.head_dim
    return config.n_layers * per_layer * bytes_per_number


def einsum_flops(spec, *shapes):
    left, _, _ = spec.partition("->")
    operands = left.split(",")
    if len(operands) != len(shapes):
        raise ValueError("number of shapes is wrong")
    size_of = {}
    for letters, shape in zip(operands, shapes):
        if len(letters) != len(shape):
            raise ValueError(f"{letters} and {shape} do not match")
        for letter, size in zip(letters, shape):
            if letter in size_of and size_of[letter] != size:
                raise ValueError(f"{letter} is {size_of[letter]} and {size}")
            size_of[letter] = size
    total = 2
    for size in size_of.values():
        total = total * size
    return total


def forward_flops(config, batch, new_tokens, past, last_only=False):
    c = config
    tokens = batch * new_tokens
    result = {}
    for name, numbers in layer_matrices(c).items():
        result[name] = c.n_layers * 2 * tokens * numbers
    # 1 + 2 + ... + T, and the cache for everybody
    pairs = new_tokens * (new_tokens + 1) // 2 + new_tokens * past
    result["attention"] = c.n_layers * batch * c.n_heads * pairs * 4 * c.head_dim
    if last_only:
        tokens = batch
    result["lm_head"] = 2 * tokens * c.d_model * c.vocab_size
    return result


def generation_flops(config, prompt, new_tokens, cached):
    total = 0
    for i in range(new_tokens):
        if cached and i > 0:
            step = forward_flops(config, 1, 1, prompt + i - 1)
        else:
            step = forward_flops(config, 1, prompt + i, 0)
        total += sum(step.values())
    return total


def roofline_seconds(flops, n_bytes, peak_flops, bandwidth):
    t_math = flops / peak_flops
    t_memory = n_bytes / bandwidth
    return max(t_math, t_memory)


def decode_intensity(config, batch, context, bytes_per_number=2):
    flops = sum(forward_flops(config, batch, 1, context - 1).values())
    weight_bytes = bytes_per_number * matmul_params(config)
    kv_bytes = batch * context * kv_bytes_per_token(config, bytes_per_number)
    return flops / (weight_bytes + kv_bytes)


def mla_core(config, context, bytes_per_number=2):
    c = config
    in_and_out = 2 * c.latent_dim * (c.nope_dim + c.v_dim)
    per_position = 2 * (c.latent_dim + c.rope_dim) + 2 * c.latent_dim
    flops = c.n_heads * (in_and_out + context * per_position)
    return flops, context * (c.latent_dim + c.rope_dim) * bytes_per_number
