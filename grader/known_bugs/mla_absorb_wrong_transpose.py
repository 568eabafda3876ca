"""w_uk is reshaped to the wanted shape where it had to be transposed."""

from .bug import Bug, Text


def absorb(q_nope, w_uk):
    return q_nope @ w_uk.reshape(q_nope.shape[1], q_nope.shape[-1], w_uk.shape[0])


BUG = Bug(
    name="mla-absorb-wrong-transpose",
    part=6,
    summary=Text(
        en="an absorb that reshapes w_uk to (H, d_nope, d_c) without transposing it",
        zh="只 reshape、不转置 w_uk 的 absorb",
    ),
    explanation=Text(
        en=(
            "Each head needs the transpose of its own block of w_uk. A reshape straight to "
            "(H, d_nope, d_c) has the right shape, but it only cuts the numbers up anew in "
            "the order in which they lie in memory: rows of the latent run into heads and "
            "the result is a mixture of everything. The naive way does not call absorb and "
            "is right."
        ),
        zh=(
            "每个头需要的是 w_uk 中自己那一块的转置。直接 reshape 成 (H, d_nope, d_c) 形状没错，"
            "但它只是按内存里的顺序把这些数重新切开，潜在向量的维度和头混在了一起，得到的矩阵毫无意义。"
            "naive 写法不调用 absorb，所以是对的。"
        ),
    ),
    hints=(
        Text(
            en="Only the absorbed way is wrong. Test absorb alone: (q W^T) . c must equal q . (c W) for each head.",
            zh="只有 absorbed 错。单独检查 absorb：对每个头，(q W^T)·c 应该等于 q·(c W)。",
        ),
        Text(
            en="A reshape never moves a number in memory. Does the order you want exist in w_uk?",
            zh="reshape 不会移动内存里的任何一个数。你要的顺序在 w_uk 里存在吗？",
        ),
        Text(
            en="First split the columns into heads, then exchange axes, in two separate steps.",
            zh="先把列拆成头，再交换轴，分两步做。",
        ),
    ),
    replaces=(absorb,),
    cites=("L2 §6.4",),
)
