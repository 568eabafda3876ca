"""The words of the question may be answers."""

from solution.word2vec import nearest

from .bug import Bug, Text


def analogy(vectors, a, a_star, b):
    return int(nearest(vectors, vectors[a_star] - vectors[a] + vectors[b], 1)[0])


BUG = Bug(
    name="analogy-answers-with-its-question",
    part=9,
    summary=Text(
        en="an analogy whose answer may be one of the three words asked with",
        zh="答案可以是三个提问词之一的类比",
    ),
    explanation=Text(
        en=(
            "Nothing is excluded. In vectors of real text v(a*) - v(a) is short compared with "
            "v(b), so the word nearest to the sum is very often b itself: man is to woman as "
            "king is to king. The paper leaves the three words of the question out of the "
            "search, and its accuracies are measured so."
        ),
        zh=(
            "这里什么都没有排除。"
            "用真实文本学出的向量里，v(a*) - v(a) 比 v(b) 短得多，所以离那个和最近的常常就是 b 自己："
            "man 之于 woman，正如 king 之于 king。"
            "论文在搜索时把三个提问词排除掉，它报告的准确率也是这样量的。"
        ),
    ),
    hints=(
        Text(
            en="How often is your answer one of the three words of the question?",
            zh="你的答案有多少次就是三个提问词之一？",
        ),
        Text(
            en="nearest has a last argument. What do you give it?",
            zh="nearest 还有最后一个参数。你给了它什么？",
        ),
        Text(
            en="Three words are known already and cannot be what is asked for.",
            zh="有三个词是题目里已经给出的，不可能是要找的答案。",
        ),
    ),
    replaces=(analogy,),
    cites=(
        "L2 §1.6",
        "Mikolov et al. 2013a §4",
        "magnitude#29",
    ),
)
