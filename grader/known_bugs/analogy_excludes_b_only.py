"""Only the third word is left out of the search."""

from solution.word2vec import nearest

from .bug import Bug, Text


def analogy(vectors, a, a_star, b):
    query = vectors[a_star] - vectors[a] + vectors[b]
    return int(nearest(vectors, query, 1, exclude=(b,))[0])


BUG = Bug(
    name="analogy-excludes-b-only",
    part=9,
    summary=Text(
        en="an analogy that leaves only b out of the search",
        zh="搜索时只排除了 b 的类比",
    ),
    explanation=Text(
        en=(
            "b is the most frequent wrong answer, and it is excluded; a* is the next: it "
            "stands in the sum with its full weight. All three words of the question are left "
            "out, which the paper calls discarding the input question words."
        ),
        zh=(
            "最常见的错误答案是 b，它被排除了；"
            "其次是 a*："
            "它在和式里是完整的一份。"
            "三个提问词都要排除，论文的说法是在搜索时去掉提问用的词。"
        ),
    ),
    hints=(
        Text(
            en="How often is your answer a*?",
            zh="你的答案有多少次是 a*？",
        ),
        Text(
            en="Which words does the sum contain with a plus sign? Each of them is close to it.",
            zh="和式里哪些词前面是加号？它们都离这个和很近。",
        ),
        Text(
            en="Exclude all the words of the question.",
            zh="把提问用的词全部排除。",
        ),
    ),
    replaces=(analogy,),
    cites=(
        "L2 §1.6",
        "Mikolov et al. 2013a §4",
    ),
)
