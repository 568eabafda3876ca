"""Group g averages the heads g, g + G, g + 2G."""

from .bug import Bug, Text


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} heads do not form {n_kv_heads} equal groups")
    d_model, width = w.shape
    head_dim = width // n_heads
    strided = w.reshape(d_model, n_heads // n_kv_heads, n_kv_heads, head_dim)
    return strided.mean(axis=1).reshape(d_model, n_kv_heads * head_dim)


BUG = Bug(
    name="mean-pool-strided",
    part=5,
    summary=Text(
        en="a pooling in which group g averages the heads g, g + G, g + 2G instead of neighbours",
        zh="第 g 组对第 g、g + G、g + 2G 个头（而不是相邻的头）取平均的池化",
    ),
    explanation=Text(
        en=(
            "The heads are cut into (R, G) instead of (G, R), so a group collects every G-th head. "
            "Query head h later reads group h // R, which was averaged from other heads than its "
            "neighbours. It is the counterpart of tiling in 5.1: the shape is right, and for G = 1 and "
            "G = H there is no difference."
        ),
        zh=(
            "头被切成了 (R, G)，而不是 (G, R)，于是每组收集的是每隔 G 个的头。"
            "之后 query 头 h 去读第 h // R 组，而那一组是由别的头平均出来的。"
            "这和 5.1 里的 tile 是同一类错误：形状对，G = 1 和 G = H 时没有区别。"
        ),
    ),
    hints=(
        Text(
            en="Which heads does your group 0 average when 6 heads form 2 groups?",
            zh="6 个头分成 2 组时，你的第 0 组是哪几个头的平均？",
        ),
        Text(
            en="Fill the columns of head h with h. For H = 6 and G = 2 the groups must come out as 1 and 4.",
            zh="把头 h 的各列都填成 h。H = 6、G = 2 时，两组的结果应该是 1 和 4。",
        ),
        Text(
            en="Neighbouring heads form a group. When you cut the head axis in two, the slower of the two is the group.",
            zh="相邻的头组成一组。把头轴切成两个轴时，变化慢的那个是组。",
        ),
    ),
    replaces=(mean_pool_kv_heads,),
    cites=("L2 §6.3", "L2 §6.2"),
)
