"""split_heads only reshapes."""

from .bug import Bug, Text


def split_heads(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, n_heads, length, width // n_heads)


BUG = Bug(
    name="split-heads-without-transpose",
    part=2,
    summary=Text(
        en="a split into heads by one reshape, which mixes up heads and positions",
        zh="只用一次 reshape 拆头，把头和位置混在一起",
    ),
    explanation=Text(
        en=(
            "A reshape keeps the order of the numbers in memory, and there a position's H * d_h numbers "
            "lie together. Cut directly into (B, H, T, d_h), head 0 receives all of the first positions "
            "instead of the first columns of every position. The shape is right and nothing complains. "
            "With one position or one head there is no difference, so decode steps hide it."
        ),
        zh=(
            "reshape 不改变数据在内存里的顺序，而内存里同一个位置的 H * d_h 个数是挨在一起的。"
            "直接切成 (B, H, T, d_h)，头 0 拿到的就是最前面几个位置的全部数字，"
            "而不是每个位置的前几列。形状是对的，也不报错。只有一个位置或一个头时没有区别，"
            "所以 decode 一步看不出来。"
        ),
    ),
    hints=(
        Text(
            en="The shape is right and the numbers are in the wrong places. Do the operation on np.arange(8) with 2 positions and 2 heads.",
            zh="形状对，但数字的位置不对。用 np.arange(8)、2 个位置、2 个头试一遍。",
        ),
        Text(
            en="Which two axes are neighbours in memory: position and head, or head and feature?",
            zh="在内存里相邻的是哪两个轴：位置和头，还是头和特征？",
        ),
        Text(
            en="Only the last axis may be cut. Bringing the head axis in front of the positions is a second, separate operation.",
            zh="只能切最后一个轴。把头这个轴移到位置前面，是另外一步操作。",
        ),
    ),
    replaces=(split_heads,),
    cites=("L2 §2.6", "D3 多头", "FuxiCTR#30"),
)
