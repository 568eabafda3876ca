"""The sum over a group is divided by the number of groups."""

from .bug import Bug, Text


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} heads do not form {n_kv_heads} equal groups")
    d_model, width = w.shape
    head_dim = width // n_heads
    grouped = w.reshape(d_model, n_kv_heads, n_heads // n_kv_heads, head_dim)
    return grouped.sum(axis=2).reshape(d_model, n_kv_heads * head_dim) / n_kv_heads


BUG = Bug(
    name="mean-pool-wrong-count",
    part=5,
    summary=Text(
        en="a pooling that divides the sum of a group's heads by G, the number of groups, instead of R",
        zh="把一组的头相加后除以组数 G、而不是除以 R 的池化",
    ),
    explanation=Text(
        en=(
            "The heads of a group are summed and the sum is divided by the number of groups instead of "
            "the number of heads in a group. The result is off by the factor R / G everywhere, and "
            "right when G = R, for instance for 4 heads in 2 groups, the example of the handout."
        ),
        zh=(
            "把一组的头相加之后，除以的是组数，而不是每组的头数。结果处处差一个因子 R / G；"
            "G = R 时正好是对的，例如作业说明里 4 个头分 2 组的例子。"
        ),
    ),
    hints=(
        Text(
            en="The example of the handout is right. What is special about 4 heads in 2 groups?",
            zh="作业说明里的例子是对的。4 个头分 2 组有什么特殊之处？",
        ),
        Text(
            en="Pool 6 heads into 2 groups and divide by the expected result. Which factor do you get?",
            zh="把 6 个头池化成 2 组，除以期望的结果。得到的因子是多少？",
        ),
        Text(
            en="How many matrices are added up for one group? Divide by that number.",
            zh="每一组是由几个头的矩阵相加的？除以这个数。",
        ),
    ),
    replaces=(mean_pool_kv_heads,),
    cites=("L2 §6.3",),
)
