"""A token does not see itself."""

import numpy as np

from .bug import Bug, Text


def causal_mask(query_len, key_len):
    query_positions = np.arange(key_len - query_len, key_len)
    return np.arange(key_len) < np.maximum(query_positions, 1)[:, None]


BUG = Bug(
    name="mask-strict",
    part=2,
    summary=Text(
        en="a causal mask in which a token sees only earlier positions and not itself",
        zh="token 只能看更早的位置、看不到自己的因果掩码",
    ),
    explanation=Text(
        en=(
            "The comparison is strict: a position sees what came before and not itself (position 0, "
            "which would have nothing left, is let through). Each output is then made of the values of "
            "earlier tokens only, position 1 merely repeats the value of position 0, and a decode step "
            "never looks at the token it was given, except through its query."
        ),
        zh=(
            "比较用了严格小于：一个位置只看得到前面的，看不到自己（位置 0 会一个都不剩，所以单独放行）。"
            "这样每个输出只由更早的 token 的 value 组成，"
            "位置 1 只是重复位置 0 的 value，"
            "decode 一步除了用新 token 的 query 之外，根本没看新 token 本身。"
        ),
    ),
    hints=(
        Text(
            en="Which key is missing in every row of your mask but the first?",
            zh="除第一行外，你的掩码每一行都少了哪个 key？",
        ),
        Text(
            en="In the table of D3 token 3 gives itself the weight 0.40. Which weight does yours give itself?",
            zh="在 D3 的表里，token 3 给自己的权重是 0.40。你的给了多少？",
        ),
        Text(
            en="Each token sees itself and everything before it. Check the comparison at the diagonal.",
            zh="每个 token 看得到自己和前面的一切。检查对角线上的比较。",
        ),
    ),
    replaces=(causal_mask,),
    cites=("L2 §2.5", "D3 因果掩码"),
)
