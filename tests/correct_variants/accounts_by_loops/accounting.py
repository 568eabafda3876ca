"""Layer by layer and token by token, with exact fractions where something is divided."""

from fractions import Fraction


def matrices_of_layer(config):
    q = config.d_model * config.n_heads * config.head_dim
    kv = config.d_model * config.n_kv_heads * config.head_dim
    mlp = config.d_model * config.d_ff
    return {"w_q": q, "w_k": kv, "w_v": kv, "w_o": q, "w_gate": mlp, "w_up": mlp, "w_down": mlp}


def n_params(config):
    total = matmul_params(config)
    if not config.tied:
        total += config.vocab_size * config.d_model
    for _ in range(config.n_layers):
        for _ in ("attention_norm", "mlp_norm"):
            total += config.d_model
    return total + config.d_model


def matmul_params(config):
    total = config.d_model * config.vocab_size
    for _ in range(config.n_layers):
        for n in matrices_of_layer(config).values():
            total += n
    return total


def kv_bytes_per_token(config, bytes_per_number=2):
    total = 0
    for _ in range(config.n_layers):
        for _ in range(config.n_kv_heads):
            for _ in ("key", "value"):
                total += config.head_dim * bytes_per_number
    return total


def einsum_flops(spec, *shapes):
    operands = spec[: spec.index("->")].split(",")
    sizes = {}
    if [len(o) for o in operands] != [len(s) for s in shapes]:
        raise ValueError("operands and shapes do not fit together")
    for operand, shape in zip(operands, shapes, strict=True):
        for i, letter in enumerate(operand):
            if letter in sizes and sizes[letter] != shape[i]:
                raise ValueError(f"{letter} has two sizes")
            sizes[letter] = shape[i]
    flops = 2
    for size in sizes.values():
        flops *= size
    return flops


def forward_flops(config, batch, new_tokens, past, last_only=False):
    flops = dict.fromkeys(["lm_head", "attention", *matrices_of_layer(config)], 0)
    rows = batch * new_tokens
    for _ in range(config.n_layers):
        for name, size in matrices_of_layer(config).items():
            flops[name] += 2 * rows * size
    seen = 0
    for t in range(new_tokens):
        seen += past + t + 1
    per_key = 2 * config.head_dim + 2 * config.head_dim
    flops["attention"] += batch * config.n_layers * config.n_heads * per_key * seen
    flops["lm_head"] += 2 * (batch if last_only else rows) * config.d_model * config.vocab_size
    return flops


def generation_flops(config, prompt, new_tokens, cached):
    """With a cache no token is computed twice: as if all went through at once."""
    if cached:
        return sum(forward_flops(config, 1, prompt + new_tokens - 1, 0).values())
    lengths = range(prompt, prompt + new_tokens)
    return sum(sum(forward_flops(config, 1, length, 0).values()) for length in lengths)


def roofline_seconds(flops, n_bytes, peak_flops, bandwidth):
    computing = Fraction(flops) / Fraction(peak_flops)
    moving = Fraction(n_bytes) / Fraction(bandwidth)
    return float(computing if computing > moving else moving)


def decode_intensity(config, batch, context, bytes_per_number=2):
    """By the cap and the weights' share, without a forward pass."""
    core = 4 * config.n_layers * config.n_heads * config.head_dim * context
    f = 2 * matmul_params(config) + core
    k = context * kv_bytes_per_token(config, bytes_per_number)
    w = matmul_params(config) * bytes_per_number
    return float(Fraction(f, 1) / (Fraction(w, batch) + k))


def mla_core(config, context, bytes_per_number=2):
    flops = n_bytes = 0
    for _ in range(config.n_heads):
        flops += 2 * config.nope_dim * config.latent_dim
        flops += 2 * context * (config.latent_dim + config.rope_dim)
        flops += 2 * context * config.latent_dim
        flops += 2 * config.latent_dim * config.v_dim
    for width in (config.latent_dim, config.rope_dim):
        n_bytes += context * width * bytes_per_number
    return [flops, n_bytes]
