"""Hints on demand: `pytest assignment/ --hint rope`, three levels, never the solution."""

from __future__ import annotations

from .known_bugs import known_bugs
from .parts import PARTS, Part
from .words import language, spoken, tr, wrap

LEVELS = 3

# For each part three hints, each saying more than the one before: English, Chinese.
PART_HINTS: dict[int, tuple[tuple[str, str], ...]] = {
    1: (
        (
            "Write the formula down with the shape of every factor under it. Which axis is summed "
            "over by each of the two products, and along which axis do the weights sum to 1?",
            "把公式写下来，在每个因子下面标出形状。两次乘法各对哪一维求和？权重沿哪一维加起来等于 1？",
        ),
        (
            "Check three things by hand on the example of D3: the division by the root of the "
            "query's width, the mask applied to the scores, the softmax along the keys.",
            "用 D3 的例子手算三件事：除以 query 宽度的平方根、掩码作用在分数上、softmax 沿 key 那一维。",
        ),
        (
            "Overflow: softmax does not change when one number is taken off every score of a row. "
            "Which number makes the largest exponential 1?",
            "溢出：一行的每个分数减去同一个数，softmax 不变。减去哪个数能让最大的指数等于 1？",
        ),
    ),
    2: (
        (
            "Draw the mask for 3 queries and 7 keys. Which positions do the three queries have?",
            "画出 3 个 query、7 个 key 的掩码。这三个 query 在哪三个位置？",
        ),
        (
            "Split heads on an array whose entries are their own column numbers: what must head 0 "
            "hold of the second position?",
            "拿一个元素等于自己列号的数组来切头：第二个位置上，头 0 应该拿到哪些列？",
        ),
        (
            "A reshape never moves numbers in memory. Cutting columns into heads and bringing the "
            "head axis forward are two steps; merging undoes both, in the other order.",
            "reshape 不会移动内存里的数。把列切成头、把头那一维提到前面，是两步；合并要按相反的顺序撤销这两步。",
        ),
    ),
    3: (
        (
            "Take one pair, position 1 and frequency 1. Where must (1, 0) land, and where (0, 1)?",
            "取一对数、位置 1、频率 1。(1, 0) 应该转到哪里？(0, 1) 呢？",
        ),
        (
            "Pairs are neighbours: entries 0 and 1, 2 and 3. The exponent of pair i is 2i over the "
            "head's width, and theta is an argument.",
            "每一对是相邻的数：0 和 1、2 和 3。第 i 对的指数是 2i 除以头的宽度，theta 是参数。",
        ),
        (
            "Compute both new entries from the old ones before you store either. With positions "
            "(B, T) the angles need axes of length 1 for everything between batch and position.",
            "先用旧值算出两个新值，再存。positions 是 (B, T) 时，角度在 batch 和位置之间要补长度为 1 的维。",
        ),
    ),
    4: (
        (
            "Is step 0 right? Then prefill is, and the fault is in what a decode step does "
            "differently: position, append, mask.",
            "第 0 步对吗？对的话 prefill 就是对的，错在 decode 和它不同的地方：位置、追加、掩码。",
        ),
        (
            "Print for one decode step: the position given to apply_rope, cache.length before and "
            "after, and the shape of the keys you attend to.",
            "在一步 decode 里打印：传给 apply_rope 的位置、前后的 cache.length、参与注意力的 keys 的形状。",
        ),
        (
            "The order in each layer is: rotate with the true positions, append, attend to "
            "everything that append returned. The length moves once all layers have appended.",
            "每一层的顺序：按真实位置旋转、追加、对 append 返回的全部做注意力。所有层都追加之后，长度才前进。",
        ),
    ),
    5: (
        (
            "With 6 query heads and 2 groups, write down which group each head reads.",
            "6 个 query 头、2 组：写出每个头读哪一组。",
        ),
        (
            "Heads that share a group are neighbours: 0 1 2 read group 0. Give the query heads two "
            "axes, one for the group and one for the place in it.",
            "共用一组的头是相邻的：0 1 2 读第 0 组。把 query 头拆成两维：第几组、组里第几个。",
        ),
        (
            "An axis of length 1 broadcasts over the heads of a group without a copy. In pooling, "
            "the same split of the columns shows which axis the mean is over.",
            "长度为 1 的维会在组内的头上广播，不用复制。池化时，同样拆开列，就能看出对哪一维取平均。",
        ),
    ),
    6: (
        (
            "Write the score of one head as a sum of two dot products, one with the latent and one "
            "with the RoPE key. Which of them depends on positions?",
            "把一个头的分数写成两个点积之和：一个和潜在向量，一个和带 RoPE 的 key。哪个和位置有关？",
        ),
        (
            "Put brackets differently: q (c W)^T = (q W^T) c^T. The scale belongs to the full width "
            "of the key, both parts together.",
            "换一种加括号的方式：q (c W)^T = (q W^T) c^T。缩放用的是 key 的总宽度，两部分加在一起。",
        ),
        (
            "What is cached is the normed latent and the rotated shared key, nothing per head. "
            "Mix the latents by the weights first, then expand once.",
            "缓存的是归一化后的潜在向量和旋转后的共享 key，没有任何按头的东西。先按权重混合潜在向量，再上投影一次。",
        ),
    ),
    7: (
        (
            "All three take logits and give logits. What must a logit be so that softmax gives it "
            "probability 0?",
            "三个函数都是 logits 进、logits 出。logit 是多少，softmax 之后概率才是 0？",
        ),
        (
            "For top-p, sort by probability and add up. Is the token that crosses p inside or "
            "outside?",
            "top-p：按概率从大到小排序再累加。越过 p 的那个 token 算在里面还是外面？",
        ),
        (
            "A token stays if the probability of all tokens before it is still below p. Then put "
            "the answer back into the order of the vocabulary.",
            "一个 token 留下，当且仅当排在它前面的概率之和还小于 p。最后把结果放回词表的顺序。",
        ),
    ),
    8: (
        (
            "Write down the shape of every array of one layer before you count anything. Which of "
            "them have H in their shape, which have G, and which have neither?",
            "先写出一层里每个数组的形状，再开始数。哪些形状里有 H，哪些有 G，哪些两个都没有？",
        ),
        (
            "Check against something that runs: `model.counter` after a prefill, or the sizes of the "
            "arrays in `model.params`. The ratio of the two numbers often tells what is missing: "
            "0.5 is a factor 2, H / G a wrong head count.",
            "拿真正运行的东西来对：prefill 之后的 `model.counter`，或 `model.params` 里各数组的大小。"
            "两个数的比值往往就说明少了什么：0.5 是漏了因子 2，H / G 是头数用错了。",
        ),
        (
            "For the core, draw the mask of 3 new tokens behind 4 cached ones and count the ticks: "
            "5 + 6 + 7. Each tick is one dot product and one weighted value, in every query head. "
            "Of a decode step, ask for each byte: is it read once for the batch, or once a sequence?",
            "算注意力核心时，画出 4 个缓存的 token 后面 3 个新 token 的掩码，数一数勾：5 + 6 + 7。"
            "每个勾在每个 query 头里是一次点积加一次加权。算一步 decode 时，对每个字节都问一句："
            "它是整个 batch 只读一次，还是每个序列各读一次？",
        ),
    ),
    9: (
        (
            "Work the pair of the handout by hand, with dot products 0 and log 3. Which numbers are "
            "s, which are errors, and which vector does each error multiply?",
            "把讲义里那一对手算一遍，点积是 0 和 log 3。哪些数是 s，哪些是误差，每个误差乘的是哪个向量？",
        ),
        (
            "An error is the prediction minus the label, 1 for the word really seen and 0 for a "
            "negative. A gradient by u is an error times v; the gradient by v is the sum of all "
            "errors times their u.",
            "误差是预测减标签：真实出现的词标签是 1，负样本是 0。对 u 的梯度是误差乘以 v；对 v 的梯度是所有误差乘以各自的 u 再相加。",
        ),
        (
            "In a step, take all gradients first and change the tables afterwards. Then try a batch "
            "of one pair, and the same pair twice: the second must move every word twice as far.",
            "更新时先把梯度全部算好，再去改表。然后试一批只有一对，再试同一对出现两次：后者每个词都应移动两倍远。",
        ),
    ),
    11: (
        (
            "Write the product down with a unit at every factor: layers, heads, numbers a head, bytes "
            "a number. Which factors does the question name that your product lacks?",
            "把乘积写出来，每个因子都带上单位：层数、头数、每个头多少个数、每个数几个字节。"
            "题目里提到、你的乘积里却没有的因子是哪个？",
        ),
        (
            "Compare with what you know: the weights of the same model, the answer of the question "
            "before, a model of one layer and one head. Is yours too large or too small, and by "
            "what factor?",
            "拿知道的量来比：同一个模型的权重、上一问的答案、只有一层一个头的模型。你的答案是大了还是小了，差几倍？",
        ),
        (
            "Then look at the unit. K, M and G are powers of 1000, Ki, Mi and Gi powers of 1024, a "
            "byte is 8 bits, B is a billion among parameters. Carry all digits and round once.",
            "然后看单位。K、M、G 是 1000 的幂，Ki、Mi、Gi 是 1024 的幂，1 字节是 8 比特，参数量里的 B 是十亿。"
            "中间保留全部位数，最后只四舍五入一次。",
        ),
    ),
}


def hint(topic: str) -> str:
    """The hint asked for by `TOPIC` or `TOPIC:LEVEL`, or what one can ask for."""
    name, _, level_text = topic.partition(":")
    level = int(level_text) if level_text in ("1", "2", "3") else 1
    title, texts = _texts(name.strip().lower())
    if not texts:
        return _what_there_is(name)
    lines = [
        tr("{title}, hint {level} of {levels}", title=title, level=level, levels=LEVELS),
        "",
        *wrap(texts[level - 1], 96),
    ]
    if level < LEVELS:
        more = tr("more: pytest assignment/ --hint {name}:{level}", name=name, level=level + 1)
        lines += ["", more]
    return "\n".join(lines)


def _texts(name: str) -> tuple[str, list[str]]:
    """Title and the three hints of a bug, a part, a module or a function."""
    if name in known_bugs():
        return name, [text[language()] for text in known_bugs()[name].hints]
    part = next((part for part in PARTS if name in _names(part)), None)
    # An exercise of part 11 has several functions, which begin with its name: l2_1, d3_3.
    part = part or next((part for part in PARTS if _begins_a_function(name, part)), None)
    if part is None:
        return "", []
    index = ("en", "zh").index(language())
    title = tr("Part {part}, {title}", part=part.number, title=spoken(part.title))
    return title, [texts[index] for texts in PART_HINTS[part.number]]


def _begins_a_function(name: str, part: Part) -> bool:
    return any(function.lower().startswith(f"{name}_") for function in part.functions)


def _names(part: Part) -> set[str]:
    functions = {function.lower() for function in part.functions}
    sections = {part.section_of(function) for function in part.functions}
    # attention.py holds two parts: its name stands for the first.
    module = {part.module} if part.number != 2 else {"heads", "mask"}
    return {str(part.number), f"part{part.number}"} | functions | sections | module


def _what_there_is(name: str) -> str:
    parts = ", ".join(f"part{part.number} ({part.module})" for part in PARTS)
    close = sorted(bug for bug in known_bugs() if name and name in bug)[:8]
    more = tr("\nBugs with this in their name: {bugs}", bugs=", ".join(close)) if close else ""
    return tr(
        "There is no hint on {name!r}. There are hints on {parts}, each function, and bugs.{more}",
        name=name,
        parts=parts,
        more=more,
    )
