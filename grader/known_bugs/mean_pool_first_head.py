"""The first head of each group is kept."""

from .bug import Bug, Text


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} heads do not form {n_kv_heads} equal groups")
    d_model, width = w.shape
    head_dim = width // n_heads
    grouped = w.reshape(d_model, n_kv_heads, n_heads // n_kv_heads, head_dim)
    return grouped[:, :, 0].reshape(d_model, n_kv_heads * head_dim)


BUG = Bug(
    name="mean-pool-first-head",
    part=5,
    summary=Text(
        en="a pooling that keeps the first head of each group and drops the others",
        zh="每组只保留第一个头、丢掉其余的池化",
    ),
    explanation=Text(
        en=(
            "Nothing is averaged: the first head of each group stands for all. The paper compares this "
            "with mean pooling and finds the mean better, because it keeps something of each head. For "
            "equal heads the two agree, so the test that repeats heads and pools them back does not see "
            "it."
        ),
        zh=(
            "没有取平均，而是让每组的第一个头代表整组。GQA 论文比较过这两种做法，均值池化更好，"
            "因为它保留了每个头的一部分信息。各头完全相同时两者一致，所以“重复再池化”的测试看不出来。"
        ),
    ),
    hints=(
        Text(
            en="Change the second head of a group. Does your result change?",
            zh="改动一组里的第二个头。你的结果变了吗？",
        ),
        Text(
            en="Pool the heads 1, 3, 5, 7 of width 1 into two groups. The handout gives 2 and 6.",
            zh="把宽度为 1 的四个头 1、3、5、7 池化成两组。作业说明的结果是 2 和 6。",
        ),
        Text(
            en="Mean pooling uses all R heads of a group, with equal weight.",
            zh="均值池化要用到一组的全部 R 个头，权重相等。",
        ),
    ),
    replaces=(mean_pool_kv_heads,),
    cites=("L2 §6.3",),
)
