"""Explanations that more than one question needs."""

from __future__ import annotations

from .question import Text

ONE_OF_K_AND_V = Text(
    en="That is one of K and V; both are cached.",
    zh="这只是 K 和 V 其中之一；两个都要缓存。",
)
ONE_LAYER = Text(
    en="That is one layer; every layer has a cache of its own.",
    zh="这只是一层；每一层都有自己的 cache。",
)
ONE_LAYERS_WORK = Text(
    en="That is one layer; the model has 32.",
    zh="这只是一层；模型有 32 层。",
)
ONE_SEQUENCE = Text(
    en="That is one sequence; four are asked for.",
    zh="这只是一个序列；题目问的是四个。",
)
TWO_BYTES = Text(
    en="That is with two bytes a number. How many does this format take?",
    zh="这是按每个数 2 字节算的。题目里的格式每个数占几个字节？",
)
ONE_BYTE = Text(
    en="That is with one byte a number. How many does BF16 take?",
    zh="这是按每个数 1 字节算的。BF16 每个数占几个字节？",
)
HALF_IN_BF16 = Text(
    en="That is half of it: K and V are both cached, and BF16 takes two bytes a number.",
    zh="这只有一半：K 和 V 都要缓存，而且 BF16 每个数占 2 字节。",
)
FOUR_BYTES = Text(
    en="That is with four bytes a number; BF16 takes two.",
    zh="这是按每个数 4 字节算的；BF16 是 2 字节。",
)
QUERY_HEADS = Text(
    en="That counts the query heads; the cache holds the key/value heads, of which a GQA model has "
    "fewer (L2 §6.2).",
    zh="这是按 query 头数算的；cache 里存的是 KV 头，GQA 模型的 KV 头更少（L2 §6.2）。",
)
DECIMAL_128K = Text(
    en="That is with 128,000 tokens; 128K of context are 128 × 1024.",
    zh="这是按 128,000 个 token 算的；128K 上下文是 128 × 1024 个。",
)
UPSIDE_DOWN = Text(
    en="That is the other way round: look again which of the two is divided by the other.",
    zh="这是反过来的：再看看题目问的是谁是谁的多少倍。",
)
WITHOUT_MULTIPLY_ADD = Text(
    en="A multiplication and an addition are two operations (L2 §3.5).",
    zh="一次乘、一次加，算两次运算（L2 §3.5）。",
)
LAST_LOGITS_ONLY = Text(
    en="That counts lm_head for the last position of each pass only. The lecture's account "
    "(L2 exercise 6, §5.4) takes whole forward passes, with lm_head for every token.",
    zh="这里每次前向只对最后一个位置算了 lm_head。讲义的账（L2 练习 6、§5.4）按完整的前向计，"
    "每个 token 都算 lm_head。",
)
MASKED_SCORES_TOO = Text(
    en="That counts the scores above the diagonal too; the account is of the useful FLOPs, which "
    "the causal mask allows (L2 §4.1).",
    zh="这里把对角线以上的分数也算进去了；账里记的是有用的 FLOPs，"
    "即因果掩码允许的部分（L2 §4.1）。",
)
WITHOUT_ATTENTION_CORE = Text(
    en="The attention core is missing: it has no parameters, but every token takes 4·H·d_h·context "
    "FLOPs in every layer (L2 §4.4).",
    zh="漏了注意力核心：它没有参数，但每个 token 在每一层要算 4·H·d_h·上下文长度 次（L2 §4.4）。",
)
ALL_PARAMETERS = Text(
    en="That multiplies by all parameters; the embedding table is looked up, not multiplied "
    "(L2 §1.8).",
    zh="这里乘的是全部参数；词嵌入表只查表、不做乘法（L2 §1.8）。",
)
