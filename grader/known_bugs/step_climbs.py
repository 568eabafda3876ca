"""The step goes along the gradient, uphill."""

from solution.word2vec import train_step as right_train_step

from .bug import Bug, Text


def train_step(inputs, outputs, centers, targets, learning_rate):
    return right_train_step(inputs, outputs, centers, targets, -learning_rate)


BUG = Bug(
    name="step-climbs",
    part=9,
    summary=Text(
        en="a step along the gradient, which makes the loss larger",
        zh="沿着梯度方向走、让损失变大的一步",
    ),
    explanation=Text(
        en=(
            "The gradient points where the loss grows. The step adds it in place of "
            "subtracting it, so every step makes the words that belong together less alike. "
            "Papers that maximise an objective add its gradient; the loss here is that "
            "objective with a minus sign."
        ),
        zh=(
            "梯度指向损失增大的方向。"
            "这里把它加上去，而不是减掉，于是每走一步，本该相近的词就更不像。"
            "有的论文是让目标函数最大，那就加上它的梯度；"
            "这里的损失是那个目标函数加了负号。"
        ),
    ),
    hints=(
        Text(
            en="Compute the loss of the batch before and after a step. Which way does it go?",
            zh="算一算一步前后这批的损失，它往哪边走？",
        ),
        Text(
            en="Compare how far your vectors moved with how far they should, sign included.",
            zh="比一比你的向量移动了多少、应该移动多少，连符号一起看。",
        ),
        Text(
            en="Descent goes against the gradient.",
            zh="下降要逆着梯度走。",
        ),
    ),
    replaces=(train_step,),
    cites=("L2 §1.5",),
)
