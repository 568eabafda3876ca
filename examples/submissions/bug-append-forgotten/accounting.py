MATRICES = ["w_q", "w_k", "w_v", "w_o", "w_gate", "w_up", "w_down"]


def shape_of(name, config):
    heads = config.n_kv_heads if name in ("w_k", "w_v") else config.n_heads
    if name in ("w_q", "w_k", "w_v"):
        return config.d_model, heads * config.head_dim
    if name == "w_o":
        return heads * config.head_dim, config.d_model
    if name == "w_down":
        return config.d_ff, config.d_model
    return config.d_model, config.d_ff


def n_params(config):
    n = config.vocab_size * config.d_model  # embedding
    for layer in range(config.n_layers):
        n += 2 * config.d_model  # norms
        for name in MATRICES:
            rows, cols = shape_of(name, config)
            n += rows * cols
    n += config.d_model
    if not config.tied:
        n += config.d_model * config.vocab_size
    return n


def matmul_params(config):
    n = 0
    for layer in range(config.n_layers):
        for name in MATRICES:
            rows, cols = shape_of(name, config)
            n += rows * cols
    return n + config.d_model * config.vocab_size


def kv_bytes_per_token(config, bytes_per_number=2):
    numbers = 0
    for layer in range(config.n_layers):
        for group in range(config.n_kv_heads):
            numbers += config.head_dim  # k
            numbers += config.head_dim  # v
    return numbers * bytes_per_number


def einsum_flops(spec, *shapes):
    sizes = {}
    operands = spec.split("->")[0].split(",")
    for i in range(len(operands)):
        if len(operands[i]) != len(shapes[i]):
            raise ValueError("letters and axes differ")
        for j in range(len(operands[i])):
            letter = operands[i][j]
            if letter not in sizes:
                sizes[letter] = shapes[i][j]
            elif sizes[letter] != shapes[i][j]:
                raise ValueError("sizes differ for " + letter)
    flops = 2
    for letter in sizes:
        flops *= sizes[letter]
    return flops


def forward_flops(config, batch, new_tokens, past, last_only=False):
    flops = {}
    for name in MATRICES:
        rows, cols = shape_of(name, config)
        flops[name] = 0
        for layer in range(config.n_layers):
            flops[name] += 2 * batch * new_tokens * rows * cols
    looked_at = 0
    for t in range(new_tokens):
        looked_at += past + t + 1
    one_head = 2 * looked_at * config.head_dim  # scores
    one_head += 2 * looked_at * config.head_dim  # weighted sum
    flops["attention"] = batch * config.n_heads * config.n_layers * one_head
    positions = 1 if last_only else new_tokens
    flops["lm_head"] = 2 * batch * positions * config.d_model * config.vocab_size
    return flops


def generation_flops(config, prompt, new_tokens, cached):
    total = 0
    length = prompt
    for i in range(new_tokens):
        if i == 0 or not cached:
            flops = forward_flops(config, 1, length, 0)
        else:
            flops = forward_flops(config, 1, 1, length - 1)
        for name in flops:
            total += flops[name]
        length += 1
    return total


def roofline_seconds(flops, n_bytes, peak_flops, bandwidth):
    compute = flops / peak_flops
    memory = n_bytes / bandwidth
    if compute > memory:
        return compute
    return memory


def decode_intensity(config, batch, context, bytes_per_number=2):
    flops = 0
    n_bytes = matmul_params(config) * bytes_per_number
    one = forward_flops(config, 1, 1, context - 1)
    flops += batch * sum(one.values())
    n_bytes += batch * context * kv_bytes_per_token(config, bytes_per_number)
    return flops / n_bytes


def mla_core(config, context, bytes_per_number=2):
    flops = 0
    for head in range(config.n_heads):
        flops += 2 * config.nope_dim * config.latent_dim
        flops += 2 * (config.latent_dim + config.rope_dim) * context
        flops += 2 * config.latent_dim * context
        flops += 2 * config.latent_dim * config.v_dim
    cached = (config.latent_dim + config.rope_dim) * context
    return flops, cached * bytes_per_number
