"""The vectors are brought to length 1 before they are added."""

import numpy as np

from solution.word2vec import nearest

from .bug import Bug, Text


def analogy(vectors, a, a_star, b):
    unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    query = unit[a_star] - unit[a] + unit[b]
    return int(nearest(unit, query, 1, exclude=(a, a_star, b))[0])


BUG = Bug(
    name="analogy-of-unit-vectors",
    part=9,
    summary=Text(
        en="an analogy that adds vectors brought to length 1, not the vectors as they are",
        zh="先把向量化成长度 1 再相加的类比",
    ),
    explanation=Text(
        en=(
            "Each vector is divided by its length before v(a*) - v(a) + v(b) is formed, as "
            "gensim does. The search by cosine does not care about lengths, but the sum does: "
            "a long vector weighs more in it. The rule of the paper, and of this task, adds "
            "the vectors as they are. On trained vectors the two mostly agree."
        ),
        zh=(
            "这里先把每个向量除以自己的长度，再算 v(a*) - v(a) + v(b)，gensim 就是这样做的。"
            "按余弦搜索不在乎长度，求和却在乎："
            "长的向量占的分量更重。"
            "论文的规则，也就是本题的规则，是把向量原样相加。"
            "对训练好的向量，两者多半一致。"
        ),
    ),
    hints=(
        Text(
            en="Which of your steps changes the lengths of vectors before the sum is formed?",
            zh="在求和之前，你的哪一步改变了向量的长度？",
        ),
        Text(
            en="Make v(b) ten times as long. The answer may change; does yours?",
            zh="把 v(b) 拉长十倍，答案可能会变；你的会变吗？",
        ),
        Text(
            en="Only the comparison is by cosine, not the sum.",
            zh="只有比较用余弦，求和不用。",
        ),
    ),
    replaces=(analogy,),
    cites=(
        "L2 §1.6",
        "Mikolov et al. 2013a §4",
    ),
)
