"""Head h takes the columns h, h + H, h + 2H."""

from .bug import Bug, Text


def split_heads(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, width // n_heads, n_heads).transpose(0, 3, 1, 2)


BUG = Bug(
    name="split-heads-interleaved",
    part=2,
    summary=Text(
        en="a split in which head h takes every H-th column instead of a block of columns",
        zh="头 h 取每隔 H 列的一列、而不是连续一段列的拆头方式",
    ),
    explanation=Text(
        en=(
            "The last axis is cut into (d_h, H) instead of (H, d_h), so neighbouring columns go to "
            "different heads: head h owns the columns h, h + H, h + 2H and so on. A model trained that "
            "way would work just as well, but the weights here lay each head's columns side by side, so "
            "every head gets pieces of all the others."
        ),
        zh=(
            "最后一个轴被切成了 (d_h, H)，而不是 (H, d_h)，于是相邻的列分给了不同的头："
            "头 h 拿到第 h、h + H、h + 2H……列。用这种方式训练的模型同样能工作，"
            "但这里的权重是每个头的列连续排放的，结果每个头都拿到了其他头的碎片。"
        ),
    ),
    hints=(
        Text(
            en="Which columns of position 0 does your head 0 hold?",
            zh="你的头 0 拿到了位置 0 的哪几列？",
        ),
        Text(
            en="Try np.arange(6) as one position with 2 heads. Head 0 must be [0, 1, 2].",
            zh="用 np.arange(6) 作为一个位置、2 个头试试。头 0 应该是 [0, 1, 2]。",
        ),
        Text(
            en="Head h owns a block of d_h neighbouring columns. The slower of the two axes you cut is the head.",
            zh="头 h 拥有连续的 d_h 列。切出的两个轴里，变化慢的那个才是头。",
        ),
    ),
    replaces=(split_heads,),
    cites=("L2 §2.6", "D3 多头"),
)
