"""The result is already a softmax."""

from solution.attention import softmax

from .bug import Bug, Text


def apply_temperature(logits, temperature):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    return softmax(logits / temperature)


BUG = Bug(
    name="temperature-returns-probabilities",
    part=7,
    summary=Text(
        en="softmax(logits / T), probabilities instead of logits",
        zh="softmax(logits / T)，是概率而不是 logits",
    ),
    explanation=Text(
        en=(
            "The division is right, but the softmax is applied as well. The function hands "
            "on logits, because top-k, top-p and the sampler come after it and take a "
            "softmax themselves; a softmax of probabilities, which all lie between 0 and 1, "
            "is nearly uniform, so the sampled text turns to noise."
        ),
        zh=(
            "除法是对的，但多做了一次 softmax。这个函数要交出 logits，"
            "因为后面的 top-k、top-p 和采样还会自己做 softmax；而概率都在 0 到 1 之间，"
            "对它们再做一次 softmax 几乎是均匀分布，采样出来的文字就成了噪声。"
        ),
    ),
    hints=(
        Text(
            en="Sum a row of your result. Should a row of logits sum to this?",
            zh="把结果的一行加起来。一行 logits 的和应该是这个数吗？",
        ),
        Text(
            en="At T = 1 the function should change nothing. What does yours do?",
            zh="T = 1 时这个函数应该什么都不改变。你的呢？",
        ),
        Text(
            en="The softmax belongs to whoever samples, once, at the end.",
            zh="softmax 由最后采样的一步来做，只做一次。",
        ),
    ),
    replaces=(apply_temperature,),
    cites=("D3 语言模型只做一件事", "L2 §3.3"),
)
