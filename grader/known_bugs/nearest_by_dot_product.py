"""Words are ranked by dot product."""

import numpy as np

from .bug import Bug, Text


def nearest(vectors, query, count, exclude=()):
    products = vectors @ query
    products[list(exclude)] = -np.inf
    return np.argsort(-products)[:count]


BUG = Bug(
    name="nearest-by-dot-product",
    part=9,
    summary=Text(
        en="the words with the largest dot product, not the largest cosine",
        zh="按点积而不是余弦相似度找出的最近的词",
    ),
    explanation=Text(
        en=(
            "A dot product grows with the length of the vectors, so a long vector is near to "
            "everything, even at a wide angle. The cosine divides by the lengths and leaves "
            "the direction, which holds the meaning. Dividing by the length of the query "
            "alone changes no order. With vectors of about the same length the two agree, "
            "which hides it."
        ),
        zh=(
            "点积随向量长度增大，长的向量和谁都“近”，哪怕夹角很大。"
            "余弦除掉了长度，只留方向，而意思就在方向里。"
            "只除以 query 的长度不改变次序。"
            "向量长度差不多时两者一致，所以不容易发现。"
        ),
    ),
    hints=(
        Text(
            en="Make one vector ten times as long. Should it come any nearer?",
            zh="把一个向量拉长十倍，它应该变得更近吗？",
        ),
        Text(
            en="Which of the two lengths in the cosine differs from word to word?",
            zh="余弦的分母里有两个长度，哪一个是每个词不同的？",
        ),
        Text(
            en="Divide each product by the length of that word's vector.",
            zh="每个点积要除以那个词的向量的长度。",
        ),
    ),
    replaces=(nearest,),
    cites=(
        "L2 §1.6",
        "magnitude#57",
    ),
)
