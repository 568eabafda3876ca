"""Neighbouring columns are averaged."""

from .bug import Bug, Text


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} heads do not form {n_kv_heads} equal groups")
    d_model, width = w.shape
    columns = w.reshape(d_model, width * n_kv_heads // n_heads, n_heads // n_kv_heads)
    return columns.mean(axis=2)


BUG = Bug(
    name="mean-pool-wrong-axis",
    part=5,
    summary=Text(
        en="a pooling that averages neighbouring columns instead of the same column of neighbouring heads",
        zh="对相邻的列取平均、而不是对相邻各头的同一列取平均的池化",
    ),
    explanation=Text(
        en=(
            "Each run of R columns is averaged, which also leaves G * d_h columns. But neighbouring "
            "columns are different features of one head, and different features must not be mixed: "
            "averaged are the same feature of R different heads. For d_h = 1, as in the example of the "
            "handout, the two agree."
        ),
        zh=(
            "每 R 个相邻的列取了平均，剩下的也是 G * d_h 列。可是相邻的列是同一个头的不同特征，"
            "不能混在一起：该平均的是 R 个不同的头的同一个特征。"
            "d_h = 1 时（例如作业说明里的例子）两者一致。"
        ),
    ),
    hints=(
        Text(
            en="The example of the handout has d_h = 1 and is right. What changes when d_h is larger?",
            zh="作业说明的例子 d_h = 1，是对的。d_h 更大时有什么不同？",
        ),
        Text(
            en="Number the columns of a matrix with 4 heads of width 2 from 0 to 7. Which two columns make column 0 of the result for G = 2?",
            zh="4 个头、宽度 2，把列编号为 0 到 7。G = 2 时，结果的第 0 列由哪两列平均得到？",
        ),
        Text(
            en="Feature j of group g is the mean of feature j over the heads of this group. Give the heads an axis of their own first.",
            zh="第 g 组的第 j 个特征，是该组各头第 j 个特征的平均。先给头留出单独的一个轴。",
        ),
    ),
    replaces=(mean_pool_kv_heads,),
    cites=("L2 §6.3",),
)
