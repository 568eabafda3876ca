"""merge_heads only reshapes."""

from .bug import Bug, Text


def merge_heads(x):
    batch, n_heads, length, head_dim = x.shape
    return x.reshape(batch, length, n_heads * head_dim)


BUG = Bug(
    name="merge-heads-without-transpose",
    part=2,
    summary=Text(
        en="a merge of heads by one reshape, which mixes up positions and heads",
        zh="只用一次 reshape 合并头，把位置和头混在一起",
    ),
    explanation=Text(
        en=(
            "A reshape keeps the order in memory, and there all positions of head 0 come before head 1. "
            "Flattened directly, the row of position 0 holds head 0's output at the first H positions "
            "instead of all heads' outputs at position 0. The shape is right, later tokens leak into "
            "earlier rows, and with a single position, as in a decode step, there is no difference."
        ),
        zh=(
            "reshape 不改变内存里的顺序，而内存里头 0 的所有位置都排在头 1 之前。直接展平，"
            "位置 0 那一行装的是头 0 在前 H 个位置的输出，而不是所有头在位置 0 的输出。形状是对的，"
            "但后面的 token 漏进了前面的行；只有一个位置时（例如 decode 的一步）没有区别。"
        ),
    ),
    hints=(
        Text(
            en="merge_heads must undo split_heads. Which of its two operations did you undo?",
            zh="merge_heads 应该把 split_heads 还原。它的两步操作，你还原了哪一步？",
        ),
        Text(
            en="Number the entries of a (1, 2, 2, 2) array with np.arange and write down by hand what row 0 should hold.",
            zh="用 np.arange 给一个 (1, 2, 2, 2) 的数组编号，手写出第 0 行应该是什么。",
        ),
        Text(
            en="Head and feature have to be neighbouring axes before they can be joined.",
            zh="头和特征必须先成为相邻的两个轴，然后才能合并。",
        ),
    ),
    replaces=(merge_heads,),
    cites=("L2 §2.6", "D3 多头", "transformer-from-scratch#6", "Transformer-Neural-Network#4"),
)
