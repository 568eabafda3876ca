"""The heads of a group are summed."""

from .bug import Bug, Text


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} heads do not form {n_kv_heads} equal groups")
    d_model, width = w.shape
    head_dim = width // n_heads
    grouped = w.reshape(d_model, n_kv_heads, n_heads // n_kv_heads, head_dim)
    return grouped.sum(axis=2).reshape(d_model, n_kv_heads * head_dim)


BUG = Bug(
    name="mean-pool-summed",
    part=5,
    summary=Text(
        en="a pooling that sums the heads of each group instead of averaging them",
        zh="把每组的头相加、而不是取平均的池化",
    ),
    explanation=Text(
        en=(
            "The heads of a group are added up, so the pooled projection is R times too large. Keys "
            "then give scores R times too large, which makes softmax too sharp, and values make the "
            "output of attention R times too large. A group of equal heads should pool to that head and "
            "does not."
        ),
        zh=(
            "把一组的头加了起来，池化后的投影比应有的大 R 倍。key 因此让分数大了 R 倍，"
            "softmax 过于尖锐；value 让 attention 的输出大了 R 倍。一组完全相同的头，"
            "池化后应该还是那个头，这里却不是。"
        ),
    ),
    hints=(
        Text(
            en="Divide your result by the expected one. Is the ratio the same everywhere?",
            zh="用你的结果除以期望的结果。比值处处相同吗？",
        ),
        Text(
            en="Pool a group of equal heads. You should get that head back.",
            zh="池化一组完全相同的头。得到的应该还是那个头。",
        ),
        Text(
            en="A mean is a sum divided by the number of its terms. How many heads does a group have?",
            zh="平均等于总和除以项数。一组有几个头？",
        ),
    ),
    replaces=(mean_pool_kv_heads,),
    cites=("L2 §6.3",),
)
