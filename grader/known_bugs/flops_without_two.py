"""Multiplications are counted, additions are not."""

from solution.accounting import forward_flops as right_forward_flops

from .bug import Bug, Text


def forward_flops(config, batch, new_tokens, past, last_only=False):
    flops = right_forward_flops(config, batch, new_tokens, past, last_only)
    return {name: n // 2 for name, n in flops.items()}


BUG = Bug(
    name="flops-without-two",
    part=8,
    summary=Text(
        en="a forward pass whose FLOPs count multiplications only",
        zh="只数乘法、不数加法的前向 FLOPs",
    ),
    explanation=Text(
        en=(
            "A product (M, K) @ (K, N) takes MKN multiplications and as many additions: 2MKN FLOPs. "
            "Counting a multiply-add as one gives MACs, which some papers and data sheets use. Set "
            "against a peak in FLOP/s everything then seems to take half its time."
        ),
        zh=(
            "(M, K) @ (K, N) 要做 MKN 次乘法和同样多次加法：2MKN FLOPs。把一次乘加算作"
            "一次，得到的是 MAC，有些论文和数据手册用它。拿它去除以按 FLOP/s 标的峰值，所有时间看起来就都"
            "减半了。"
        ),
    ),
    hints=(
        Text(
            en="Everything is half of what it should be. Of which two operations does a multiply-add consist?",
            zh="所有的数都只有应有的一半。一次乘加由哪两次运算组成？",
        ),
        Text(
            en="Compare with `flops` of `Matmul` in transformer.py.",
            zh="和 transformer.py 里 `Matmul` 的 `flops` 比一比。",
        ),
        Text(
            en="L2 §4.1 fixes the convention: 2MKN. Do all your operations have the 2, the attention core as well?",
            zh="L2 §4.1 的约定是 2MKN。你的每一项都有这个 2 吗？注意力核心也有吗？",
        ),
    ),
    replaces=(forward_flops,),
    cites=("L2 §4.1",),
)
