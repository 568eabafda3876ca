"""The softmax comes first, and the probabilities are divided by the temperature."""

from solution.attention import softmax

from .bug import Bug, Text


def apply_temperature(logits, temperature):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    return softmax(logits) / temperature


BUG = Bug(
    name="temperature-on-probabilities",
    part=7,
    summary=Text(
        en="probabilities divided by the temperature",
        zh="除以 temperature 的概率",
    ),
    explanation=Text(
        en=(
            "The temperature is applied after the softmax. Dividing probabilities by a "
            "number changes none of their ratios: after renormalising, the distribution is "
            "the one without a temperature, and the setting has no effect. And what is "
            "passed on are no longer logits, so top-k, top-p and the final softmax read them "
            "wrongly."
        ),
        zh=(
            "temperature 用在了 softmax 之后。所有概率除以同一个数，彼此的比例不变，"
            "重新归一后和没有 temperature 一样，这个设置就不起作用。而且传下去的已经不是 logits，"
            "后面的 top-k、top-p 和最后的 softmax 都会读错。"
        ),
    ),
    hints=(
        Text(
            en="What does the caller do with your result: is softmax still to come?",
            zh="调用者拿到你的结果之后还要做什么？softmax 是不是还在后面？",
        ),
        Text(
            en="Normalise your result for T = 0.5 and for T = 2. Do the two distributions differ?",
            zh="分别把 T = 0.5 和 T = 2 的结果归一化，两个分布有区别吗？",
        ),
        Text(
            en="The temperature belongs before the softmax: logits in, logits out.",
            zh="temperature 在 softmax 之前起作用：进来是 logits，出去也是 logits。",
        ),
    ),
    replaces=(apply_temperature,),
    cites=("D3 语言模型只做一件事", "gemma.cpp#981"),
)
