import math


def einsum_flops(spec, *shapes):
    """every letter is one loop"""
    inputs = spec.split("->")[0].split(",")
    if [len(letters) for letters in inputs] != [len(shape) for shape in shapes]:
        raise ValueError(f"{spec} does not fit {shapes}")
    pairs = {(letter, n) for op, shape in zip(inputs, shapes) for letter, n in zip(op, shape)}
    sizes = dict(pairs)
    if len(sizes) < len(pairs):
        raise ValueError(f"a letter of {spec} has two sizes in {shapes}")
    return 2 * math.prod(sizes.values())


# name: (letters of the weight, where w: width, q: query heads, g: kv heads, h: head, f: MLP)
WEIGHTS = {"w_q": "wqh", "w_k": "wgh", "w_v": "wgh", "w_o": "qhw"}
WEIGHTS.update({"w_gate": "wf", "w_up": "wf", "w_down": "fw"})


def _sizes(config):
    return {
        "w": config.d_model,
        "q": config.n_heads,
        "g": config.n_kv_heads,
        "h": config.head_dim,
        "f": config.d_ff,
        "v": config.vocab_size,
        "l": config.n_layers,
    }


def _count(config, letters):
    return math.prod(_sizes(config)[letter] for letter in letters)


def n_params(config):
    layers = sum(_count(config, "l" + letters) for letters in WEIGHTS.values())
    norms = 2 * _count(config, "lw") + config.d_model
    return layers + norms + _count(config, "vw") * (1 if config.tied else 2)


def matmul_params(config):
    return sum(_count(config, "l" + letters) for letters in WEIGHTS.values()) + _count(config, "wv")


def kv_bytes_per_token(config, bytes_per_number=2):
    return 2 * _count(config, "lgh") * bytes_per_number


def forward_flops(config, batch, new_tokens, past, last_only=False):
    sizes = _sizes(config)
    flops = {}
    for name, letters in WEIGHTS.items():
        inner = "qh" if name == "w_o" else letters[0]
        shapes = [[batch, new_tokens, *(sizes[x] for x in inner)], [sizes[x] for x in letters]]
        outer = "".join(x for x in letters if x not in inner)
        flops[name] = config.n_layers * einsum_flops(f"bt{inner},{letters}->bt{outer}", *shapes)
    seen = new_tokens * past + new_tokens * (new_tokens + 1) // 2
    q, k = (batch, sizes["q"], sizes["h"]), (batch, seen, sizes["q"], sizes["h"])
    scores = einsum_flops("bqh,bsqh->bqs", q, k)
    flops["attention"] = 2 * config.n_layers * scores  # the sum costs as much as the scores
    out = 1 if last_only else new_tokens
    flops["lm_head"] = einsum_flops(
        "btw,wv->btv", (batch, out, sizes["w"]), (sizes["w"], sizes["v"])
    )
    return flops


def generation_flops(config, prompt, new_tokens, cached):
    def whole(tokens, past):
        return sum(forward_flops(config, 1, tokens, past).values())

    if not cached:
        return sum(whole(prompt + n, 0) for n in range(new_tokens))
    return whole(prompt, 0) + sum(whole(1, prompt + n) for n in range(new_tokens - 1))


def roofline_seconds(flops, n_bytes, peak_flops, bandwidth):
    return max(flops / peak_flops, n_bytes / bandwidth)


def decode_intensity(config, batch, context, bytes_per_number=2):
    f = sum(forward_flops(config, 1, 1, context - 1).values())
    W = matmul_params(config) * bytes_per_number
    k = kv_bytes_per_token(config, bytes_per_number) * context
    return batch * f / (W + batch * k)


def mla_core(config, context, bytes_per_number=2):
    H, c, r = config.n_heads, config.latent_dim, config.rope_dim
    flops = einsum_flops("hn,hnc->hc", (H, config.nope_dim), (H, config.nope_dim, c))
    flops += einsum_flops("hx,sx->hs", (H, c + r), (context, c + r))
    flops += einsum_flops("hs,sc->hc", (H, context), (context, c))
    flops += einsum_flops("hc,hcv->hv", (H, c), (H, c, config.v_dim))
    return flops, (c + r) * context * bytes_per_number
