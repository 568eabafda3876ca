"""The columns of the up-projections are split with the heads fastest."""

from .bug import Bug, Text


def _per_head(w, n_heads):
    return w.reshape(w.shape[0], -1, n_heads).transpose(2, 0, 1)


BUG = Bug(
    name="mla-up-projection-interleaved",
    part=6,
    summary=Text(
        en="latent attention that deals the columns of the up-projections out to the heads in turn",
        zh="把上投影矩阵的列轮流分给各个头的 MLA",
    ),
    explanation=Text(
        en=(
            "The heads lie side by side in w_uk and w_uv: head h owns d_nope, or d_v, "
            "neighbouring columns. Splitting the columns with the head as the fastest axis "
            "gives head h the columns h, h + H, h + 2H and so on, a piece of every head. The "
            "shapes are right, the naive and the absorbed way agree, and with one head "
            "nothing is wrong."
        ),
        zh=(
            "w_uk 和 w_uv 里各个头并排放：第 h 个头占相邻的 d_nope（或 d_v）列。如果拆开时让头成为变化最快的轴，"
            "第 h 个头拿到的就是第 h、h + H、h + 2H……列，也就是每个头的一小块。形状没错，"
            "naive 和 absorbed 也一致，只有一个头时完全正确。"
        ),
    ),
    hints=(
        Text(
            en="One head is right and several are not. Which columns of w_uk does head 1 get in your code?",
            zh="一个头时对，多个头时错。你的代码里第 1 个头拿到 w_uk 的哪些列？",
        ),
        Text(
            en="Replace w_uk by np.arange of its columns in one row and look at what head 0 gets.",
            zh="把 w_uk 换成一行 np.arange（列号），看看第 0 个头拿到什么。",
        ),
        Text(
            en="Heads side by side: a head's columns are neighbours. The order of the two axes in your reshape decides this.",
            zh="头是并排放的：一个头的列彼此相邻。reshape 里两个轴的先后决定了这一点。",
        ),
    ),
    replaces=(_per_head,),
    cites=("L2 §6.4", "D3 多头"),
)
