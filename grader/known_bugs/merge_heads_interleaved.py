"""merge_heads lays the heads' features alternately."""

from .bug import Bug, Text


def merge_heads(x):
    batch, n_heads, length, head_dim = x.shape
    return x.transpose(0, 2, 3, 1).reshape(batch, length, n_heads * head_dim)


BUG = Bug(
    name="merge-heads-interleaved",
    part=2,
    summary=Text(
        en="a merge that interleaves the heads' features instead of laying the heads side by side",
        zh="把各头的特征交错排列、而不是逐头拼接的合并方式",
    ),
    explanation=Text(
        en=(
            "The head axis is moved to the very end before flattening, so the merged row starts with "
            "feature 0 of every head, then feature 1 of every head. Each position has the right numbers "
            "in the wrong order, and w_o, whose rows are ordered head by head, mixes the wrong ones."
        ),
        zh=(
            "展平之前，头这个轴被移到了最后，于是合并后的一行先是各个头的第 0 个特征，"
            "再是各个头的第 1 个特征。每个位置的数字都对，但顺序错了；w_o 的行是按头排列的，"
            "乘出来就张冠李戴。"
        ),
    ),
    hints=(
        Text(
            en="Every position holds the right numbers in another order. What is the order in the docstring?",
            zh="每个位置的数字都对，只是顺序不同。函数说明里规定的顺序是什么？",
        ),
        Text(
            en="Merge an array in which head h is filled with h, for 2 heads of width 3. Expected: 0 0 0 1 1 1.",
            zh="合并一个数组，其中头 h 的元素全是 h（2 个头，宽度 3）。应得到 0 0 0 1 1 1。",
        ),
        Text(
            en="The heads lie side by side: all features of head 0, then all of head 1. Which axis must vary fastest?",
            zh="各头首尾相接：先是头 0 的全部特征，再是头 1 的。哪个轴应该变化最快？",
        ),
    ),
    replaces=(merge_heads,),
    cites=("L2 §2.6", "D3 多头"),
)
