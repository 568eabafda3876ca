"""The outputs' gradients are taken after the inputs have moved."""

import numpy as np

from solution.word2vec import sgns_gradients

from .bug import Bug, Text


def train_step(inputs, outputs, centers, targets, learning_rate):
    new_inputs, new_outputs = inputs.copy(), outputs.copy()
    context, negatives = outputs[targets[:, 0]], outputs[targets[:, 1:]]
    by_center, _, _ = sgns_gradients(inputs[centers], context, negatives)
    np.subtract.at(new_inputs, centers, learning_rate * by_center)
    _, by_context, by_negatives = sgns_gradients(new_inputs[centers], context, negatives)
    by_targets = np.concatenate([by_context[:, None], by_negatives], axis=1)
    np.subtract.at(new_outputs, targets, learning_rate * by_targets)
    return new_inputs, new_outputs


BUG = Bug(
    name="gradient-at-moved-vectors",
    part=9,
    summary=Text(
        en="a step that takes the gradients of the outputs at inputs that have already moved",
        zh="用已经更新过的 inputs 计算 outputs 梯度的更新",
    ),
    explanation=Text(
        en=(
            "The inputs are changed first, and the gradients of the outputs then use the new "
            "v. A step of gradient descent takes all its derivatives at one point, the old "
            "one. With a small learning rate the two are close, so training works and the "
            "difference only shows when numbers are compared."
        ),
        zh=(
            "这里先改了 inputs，再用新的 v 去算 outputs 的梯度。"
            "梯度下降的一步，所有导数都要在同一点取，也就是旧的那一点。"
            "学习率小的时候两者很接近，训练照常进行，只有比数字才看得出差别。"
        ),
    ),
    hints=(
        Text(
            en="The new inputs are right and the outputs are not. Which v do their gradients use?",
            zh="新的 inputs 是对的，outputs 不对。它们的梯度用的是哪个 v？",
        ),
        Text(
            en="Exchange the order of your two updates. Does the result change? It must not.",
            zh="把两个更新的先后换一下，结果变了吗？不应该变。",
        ),
        Text(
            en="Compute all three gradients first, then change both tables.",
            zh="先把三个梯度都算出来，再去改两张表。",
        ),
    ),
    replaces=(train_step,),
    cites=(
        "L2 §1.5",
        "gensim#287",
    ),
)
