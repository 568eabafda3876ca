"""lm_head runs for every token although only the last is asked for."""

from solution.accounting import forward_flops as right_forward_flops

from .bug import Bug, Text


def forward_flops(config, batch, new_tokens, past, last_only=False):
    return right_forward_flops(config, batch, new_tokens, past)


BUG = Bug(
    name="flops-last-only-ignored",
    part=8,
    summary=Text(
        en="a forward pass that computes logits of every position, whatever is asked for",
        zh="不管要什么都算所有位置 logits 的前向 FLOPs",
    ),
    explanation=Text(
        en=(
            "The argument last_only is not used. Generation needs the logits of the last position only, "
            "and lm_head is the widest matrix: for a prompt of 2048 tokens of Llama-3.1-8B it is 2.2 ms "
            "of an H100, the difference that L2 §4.5 explains."
        ),
        zh=(
            "参数 last_only 没有用上。生成只要最后一个位置的 logits，而 lm_head 是最宽的矩"
            "阵：Llama-3.1-8B 的 2048 个 token 的提示，在 H100 上这一项就是"
            " 2.2 ms，L2 §4.5 解释的正是这个差别。"
        ),
    ),
    hints=(
        Text(
            en='Only "lm_head" is wrong, and only with last_only=True.',
            zh='只有 "lm_head" 不对，而且只在 last_only=True 时。',
        ),
        Text(
            en="How many vectors go through lm_head when a prompt of T tokens is prefilled?",
            zh="prefill 一个 T 个 token 的提示时，有几个向量要过 lm_head？",
        ),
        Text(
            en="One vector for each sequence of the batch: is the batch still in your number, and T no longer?",
            zh="batch 里每个序列一个向量：你的数里还有 batch、已经没有 T 了吗？",
        ),
    ),
    replaces=(forward_flops,),
    cites=("L2 §4.5",),
)
