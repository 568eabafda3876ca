"""The gradients are divided by the number of pairs."""

from solution.word2vec import train_step as right_train_step

from .bug import Bug, Text


def train_step(inputs, outputs, centers, targets, learning_rate):
    return right_train_step(inputs, outputs, centers, targets, learning_rate / len(centers))


BUG = Bug(
    name="step-averages-the-batch",
    part=9,
    summary=Text(
        en="a step along the mean of the pairs' gradients, not their sum",
        zh="按各对梯度的平均值而不是总和走的一步",
    ),
    explanation=Text(
        en=(
            "The change is divided by the number of pairs, as many deep-learning programs do. "
            "Here the loss of a batch is the sum over its pairs. A word occurs in few of "
            "them, so with the mean it hardly moves: a batch twice as large then learns half "
            "as much from each pair."
        ),
        zh=(
            "改变量被除以了批里的对数，很多深度学习程序都这样做。"
            "但这里一批的损失是各对损失之和。"
            "一个词只出现在其中少数几对里，取了平均它就几乎不动："
            "批大一倍，每一对就只学到一半。"
        ),
    ),
    hints=(
        Text(
            en="A batch of one pair is right. By which factor is a batch of seven off?",
            zh="只有一对的批是对的。七对的批差了几倍？",
        ),
        Text(
            en="Put the same pair into the batch twice. How far should its words move?",
            zh="把同一对在批里放两次，它的词应该移动多远？",
        ),
        Text(
            en="The loss of the batch is a sum, so its gradient is one.",
            zh="一批的损失是总和，所以梯度也是总和。",
        ),
    ),
    replaces=(train_step,),
    cites=("L2 §1.5",),
)
