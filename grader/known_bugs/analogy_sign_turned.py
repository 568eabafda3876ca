"""The difference is taken the other way round."""

from solution.word2vec import nearest

from .bug import Bug, Text


def analogy(vectors, a, a_star, b):
    query = vectors[a] - vectors[a_star] + vectors[b]
    return int(nearest(vectors, query, 1, exclude=(a, a_star, b))[0])


BUG = Bug(
    name="analogy-sign-turned",
    part=9,
    summary=Text(
        en="an analogy by v(a) - v(a*) + v(b), with the difference the wrong way round",
        zh="用 v(a) - v(a*) + v(b)、差向量反了的类比",
    ),
    explanation=Text(
        en=(
            "From man to woman one adds v(woman) - v(man): the end minus the start. Here the "
            "arrow is turned and leads from king away from queen. The question a is to a* as "
            "b is to ? then gets the answer to a* is to a as b is to ?."
        ),
        zh=(
            "从 man 到 woman，要加上 v(woman) - v(man)："
            "终点减起点。"
            "这里箭头反了，从 king 出发，离 queen 越来越远。"
            "问的是“a 之于 a*，正如 b 之于谁”，答的却是“a* 之于 a，正如 b 之于谁”。"
        ),
    ),
    hints=(
        Text(
            en="Draw a, a* and b in the plane. Where is the fourth corner of the parallelogram?",
            zh="在平面上画出 a、a* 和 b，平行四边形的第四个角在哪里？",
        ),
        Text(
            en="Ask your function the question backwards, with a and a* exchanged. Is that answer the right one?",
            zh="把 a 和 a* 换过来再问一次，得到的是不是反而是正确答案？",
        ),
        Text(
            en="A vector from one point to another is the end minus the start.",
            zh="从一点到另一点的向量，是终点减起点。",
        ),
    ),
    replaces=(analogy,),
    cites=(
        "L2 §1.6",
        "Mikolov et al. 2013a §4",
    ),
)
