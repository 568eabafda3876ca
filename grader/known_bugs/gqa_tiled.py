"""Key/value heads are tiled instead of repeated."""

import numpy as np

from solution.attention import scaled_dot_product_attention

from .bug import Bug, Text


def grouped_query_attention(q, k, v, mask=None):
    n_heads, n_groups = q.shape[1], k.shape[1]
    if n_heads % n_groups:
        raise ValueError(f"{n_heads} heads cannot share {n_groups} groups")
    k, v = (np.tile(x, (1, n_heads // n_groups, 1, 1)) for x in (k, v))
    return scaled_dot_product_attention(q, k, v, mask)


BUG = Bug(
    name="gqa-tiled",
    part=5,
    summary=Text(
        en="grouped-query attention in which query head h reads key/value head h mod G",
        zh="query 头 h 读取第 h mod G 个 key/value 头的 GQA",
    ),
    explanation=Text(
        en=(
            "The key/value heads are tiled, 0 1 0 1, where each has to be repeated, 0 0 1 1. Reading "
            "head h mod G, taking groups as the inner axis, or splitting the query heads into (R, G) "
            "comes to the same. All shapes fit, and for G = 1 and G = H there is no difference, so "
            "multi-head and multi-query models are right; in between, most query heads read keys that "
            "were never meant for them."
        ),
        zh=(
            "key/value 头被整体平铺成 0 1 0 1，而应该是逐个重复的 0 0 1 1。"
            "读取第 h mod G 个头、把组放在内层轴、把 query 头拆成 (R, G)，都是同一个错误。"
            "形状全都对得上，G = 1 和 G = H 时没有区别，所以 MHA 和 MQA 模型是对的；"
            "介于两者之间时，多数 query 头读到的都不是为它们准备的 key。"
        ),
    ),
    hints=(
        Text(
            en="Head 0 is right, and so are models with G = 1 or G = H. Which group should head 1 read, and which does it?",
            zh="头 0 是对的，G = 1 或 G = H 的模型也是对的。头 1 应该读哪一组？实际读了哪一组？",
        ),
        Text(
            en="Take H = 6, G = 2 and a single key, fill the values of group g with g, and print the output of the six heads.",
            zh="取 H = 6、G = 2、只有一个 key，让第 g 组的 value 全等于 g，打印六个头的输出。",
        ),
        Text(
            en="Neighbouring heads share a group: the expected order is 0 0 0 1 1 1. Is yours 0 1 0 1 0 1?",
            zh="相邻的头共用一组：应得到 0 0 0 1 1 1。你的是不是 0 1 0 1 0 1？",
        ),
    ),
    replaces=(grouped_query_attention,),
    cites=("L2 §6.2", "D3 GQA", "onnx#7274", "jax-js#180", "axlearn#842"),
)
