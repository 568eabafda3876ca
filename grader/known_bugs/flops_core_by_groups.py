"""The core is counted with G heads."""

from solution.accounting import forward_flops as right_forward_flops

from .bug import Bug, Text


def forward_flops(config, batch, new_tokens, past, last_only=False):
    flops = right_forward_flops(config, batch, new_tokens, past, last_only)
    flops["attention"] = flops["attention"] // config.n_heads * config.n_kv_heads
    return flops


BUG = Bug(
    name="flops-core-by-groups",
    part=8,
    summary=Text(
        en="a forward pass whose attention core has only as many heads as K and V",
        zh="注意力核心只按 KV 头数算的前向 FLOPs",
    ),
    explanation=Text(
        en=(
            "GQA gives K and V fewer heads, and here the core is counted by them. But every one of the H "
            "query heads computes its own scores and its own sum; sharing keys saves bytes and not "
            "FLOPs. Models with G = H come out right."
        ),
        zh=(
            "GQA 减少的是 K、V 的头，这里把注意力核心也按它们算了。可是 H 个 query 头各算各的分数、"
            "各算各的加权和；共用 key 省的是字节，不是 FLOPs。G = H 的模型算出来是对的。"
        ),
    ),
    hints=(
        Text(
            en='Only "attention" is wrong, and only where G < H. How many heads compute scores?',
            zh='只有 "attention" 不对，而且只在 G < H 时。有几个头在算分数？',
        ),
        Text(
            en="What is the shape of the scores in grouped_query_attention, in all their axes?",
            zh="grouped_query_attention 里分数的形状是什么？各个维都写出来。",
        ),
        Text(
            en='"GQA saves attention FLOPs" stands among the mistakes of Part 5.',
            zh="“GQA 省了注意力的 FLOPs”是第 5 部分列出的错误之一。",
        ),
    ),
    replaces=(forward_flops,),
    cites=("L2 §6.2", "L2 §9", "D3 常见误区"),
)
