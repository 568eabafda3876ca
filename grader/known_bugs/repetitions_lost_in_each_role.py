"""Context and negatives are subtracted one after the other, and repetitions in either are lost."""

from solution.word2vec import sgns_gradients

from .bug import Bug, Text


def train_step(inputs, outputs, centers, targets, learning_rate):
    by_center, by_context, by_negatives = sgns_gradients(
        inputs[centers], outputs[targets[:, 0]], outputs[targets[:, 1:]]
    )
    new_inputs, new_outputs = inputs.copy(), outputs.copy()
    new_inputs[centers] -= learning_rate * by_center
    new_outputs[targets[:, 0]] -= learning_rate * by_context
    new_outputs[targets[:, 1:]] -= learning_rate * by_negatives
    return new_inputs, new_outputs


BUG = Bug(
    name="repetitions-lost-in-each-role",
    part=9,
    summary=Text(
        en="a step in which a word that repeats as center, as context or as negative moves by one gradient of each role",
        zh="同一角色里重复出现的词只按其中一个梯度移动的更新",
    ),
    explanation=Text(
        en=(
            "In numpy x[rows] -= change writes a row that stands in the list several times "
            "once for each, always from its old value, so only the last change stays. "
            "Centers, contexts and negatives are subtracted in three such steps: a word moves "
            "once in each role, however often it has that role in the batch. No error is "
            "raised, and a batch without repetitions is right. On the corpus of "
            "word_vectors.py the analogies drop from all to six in ten."
        ),
        zh=(
            "在 numpy 里，x[rows] -= change 碰到列表里重复的行，每次都从旧值算起再写回，所以只留下最后一次。"
            "中心词、上下文、负样本分三步这样减掉："
            "一个词在批里不管以同一角色出现几次，都只动一次。"
            "不会报错，没有重复的批也是对的。"
            "在 word_vectors.py 的语料上，类比从全对掉到六成左右。"
        ),
    ),
    hints=(
        Text(
            en="A batch in which every word occurs once is right. What is different where a word is the center of two pairs?",
            zh="每个词只出现一次的批是对的。一个词是两对的中心词时有什么不同？",
        ),
        Text(
            en="Try in Python: x = np.zeros(1), then x[[0, 0]] -= 1. What is x?",
            zh="在 Python 里试试：x = np.zeros(1)，再 x[[0, 0]] -= 1。x 是多少？",
        ),
        Text(
            en="numpy's ufuncs have a method that counts every repetition; a loop over the pairs does too.",
            zh="numpy 的 ufunc 有一个方法，重复的下标每次都算；对每一对写循环也行。",
        ),
    ),
    replaces=(train_step,),
    cites=(
        "L2 §1.5",
        "gensim#242",
        "CS224n-2019-solutions#5",
    ),
)
