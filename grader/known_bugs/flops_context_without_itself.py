"""New tokens do not attend to themselves."""

from solution.accounting import forward_flops as right_forward_flops

from .bug import Bug, Text


def forward_flops(config, batch, new_tokens, past, last_only=False):
    flops = right_forward_flops(config, batch, new_tokens, past, last_only)
    pairs = new_tokens * past + new_tokens * (new_tokens - 1) // 2
    queries = config.n_heads * config.head_dim
    flops["attention"] = 4 * config.n_layers * batch * queries * pairs
    return flops


BUG = Bug(
    name="flops-context-without-itself",
    part=8,
    summary=Text(
        en="a forward pass in which no new token attends to itself",
        zh="新 token 不看自己的前向 FLOPs",
    ),
    explanation=Text(
        en=(
            "The context is taken without the token that is being computed: an off-by-one that L2 §4.1 "
            "and §4.3 name. A new token's key is appended before it attends, so the first token of all "
            "has a context of 1 and not of 0."
        ),
        zh=(
            "算上下文时没算正在计算的那个 token：正是 L2 §4.1 和 §4.3 点名的“差一”。新"
            " token 的 key 先追加、再做注意力，所以最开头的那个 token 上下文长度是 1，不是 0。"
        ),
    ),
    hints=(
        Text(
            en='Only "attention" is wrong, and by little. How many keys does the very first token see?',
            zh='只有 "attention" 不对，而且差得不多。最开头的那个 token 看得到几个 key？',
        ),
        Text(
            en="In Part 4: does the new token's key stand in the cache when its query looks?",
            zh="想想第 4 部分：新 token 的 query 去查的时候，它自己的 key 在 cache 里吗？",
        ),
        Text(
            en="The diagonal of the causal mask is True. Is it in your sum?",
            zh="因果掩码的对角线是 True。你的和里有它吗？",
        ),
    ),
    replaces=(forward_flops,),
    cites=("L2 §4.1", "L2 §4.3"),
)
