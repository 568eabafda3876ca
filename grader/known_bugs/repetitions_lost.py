"""A word that repeats in the batch moves by one of its gradients only."""

import numpy as np

from solution.word2vec import sgns_gradients

from .bug import Bug, Text


def train_step(inputs, outputs, centers, targets, learning_rate):
    by_center, by_context, by_negatives = sgns_gradients(
        inputs[centers], outputs[targets[:, 0]], outputs[targets[:, 1:]]
    )
    by_targets = np.concatenate([by_context[:, None], by_negatives], axis=1)
    new_inputs, new_outputs = inputs.copy(), outputs.copy()
    new_inputs[centers] -= learning_rate * by_center
    new_outputs[targets] -= learning_rate * by_targets
    return new_inputs, new_outputs


BUG = Bug(
    name="repetitions-lost",
    part=9,
    summary=Text(
        en="a step in which a word that repeats in the batch moves by its last gradient only",
        zh="批里重复出现的词只按最后一个梯度移动的更新",
    ),
    explanation=Text(
        en=(
            "In numpy x[rows] -= change reads the rows, subtracts and writes them back. A row "
            "that stands in the list three times is written three times, each time from its "
            "old value: the last one wins and two changes are lost. No error is raised, and a "
            "batch without repetitions is right. The vectors still become something, only "
            "worse: on the corpus of word_vectors.py the analogies drop from all to nine in "
            "ten."
        ),
        zh=(
            "在 numpy 里，x[rows] -= change 是先取出各行、相减、再写回去。"
            "列表里出现三次的行会被写三次，每次都从旧值算起："
            "最后一次生效，另外两次丢了。"
            "不会报错，没有重复的批也是对的。"
            "向量照样学得出来，只是更差："
            "在 word_vectors.py 的语料上，类比从全对掉到九成左右。"
        ),
    ),
    hints=(
        Text(
            en="A batch in which every word occurs once is right. What is different where a word occurs twice?",
            zh="每个词只出现一次的批是对的。一个词出现两次时有什么不同？",
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
