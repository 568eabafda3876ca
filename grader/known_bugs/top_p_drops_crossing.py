"""The token that crosses p is dropped, unless it is the only one."""

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def top_p(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, got {p}")
    descending = np.argsort(-logits, axis=-1)
    probabilities = np.take_along_axis(softmax(logits), descending, axis=-1)
    kept = np.cumsum(probabilities, axis=-1) <= p
    kept[..., 0] = True
    keep = np.empty(logits.shape, dtype=bool)
    np.put_along_axis(keep, descending, kept, axis=-1)
    return np.where(keep, logits, -np.inf)


BUG = Bug(
    name="top-p-drops-crossing",
    part=7,
    summary=Text(
        en="a top-p that drops the token that crosses p",
        zh="把跨过 p 的那个 token 也丢掉的 top-p",
    ),
    explanation=Text(
        en=(
            "A token is kept while the sum up to and including it is at most p. The set that "
            "remains has a probability below p, one token less than it needs to reach it. "
            "The rule asks for the smallest set that reaches p, and only with the token that "
            "crosses p does the set reach it. The text becomes a little more conservative "
            "than p says, which nobody notices by reading."
        ),
        zh=(
            "这里只要累计概率（含当前 token）不超过 p 就保留，所以留下的集合概率小于 p，比“达到 p”少一个 token。"
            "规则要的是概率达到 p 的最小集合，而只有算上跨过 p 的那个 token 才达到。结果是采样比 p 所说的更保守一点，"
            "光看生成的文字看不出来。"
        ),
    ),
    hints=(
        Text(
            en="Add up the probabilities of the tokens you keep. Do they reach p?",
            zh="把保留下来的 token 的概率加起来，达到 p 了吗？",
        ),
        Text(
            en="Take probabilities 0.5, 0.3, 0.15, 0.05 and p = 0.6: two tokens should stay. How many do you keep?",
            zh="取概率 0.5、0.3、0.15、0.05，p = 0.6：应该留下两个。你的代码留下几个？",
        ),
        Text(
            en="Whether a token stays depends on the probability collected before it, without its own.",
            zh="一个 token 留不留，取决于它之前已经累计的概率，不包括它自己。",
        ),
    ),
    replaces=(top_p,),
    cites=("L2 §3.3", "C2C#21", "esm#360", "fish-speech#1171"),
)
