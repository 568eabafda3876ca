"""Arithmetic and traffic are added."""

from .bug import Bug, Text


def roofline_seconds(flops, n_bytes, peak_flops, bandwidth):
    return flops / peak_flops + n_bytes / bandwidth


BUG = Bug(
    name="roofline-adds",
    part=8,
    summary=Text(
        en="a roofline that adds the two times",
        zh="把两个时间相加的 roofline",
    ),
    explanation=Text(
        en=(
            "The time of the arithmetic and the time of the traffic are added, as if the machine did "
            "nothing else while data moves. A GPU computes on one tile while the next is on its way, so "
            "the larger of the two is what bounds it from below; the sum is up to twice that."
        ),
        zh=(
            "把计算的时间和搬运的时间相加了，好像数据在路上时机器什么也不做。GPU 一边算这一块，一边搬下一块，所以"
            "下界是两者中较大的那个；相加最多会大到两倍。"
        ),
    ),
    hints=(
        Text(
            en="Near the ridge you are too slow by a factor of almost 2, far from it hardly at all.",
            zh="在屋脊点附近你慢了将近一倍，离它远的地方几乎不差。",
        ),
        Text(
            en="Which of the two waits for the other, when both go on at the same time?",
            zh="两件事同时进行时，谁等谁？",
        ),
        Text(
            en="A bound that nothing can beat may not be larger than what a perfect machine takes.",
            zh="谁也快不过的下界，不能比一台完美的机器花的时间还长。",
        ),
    ),
    replaces=(roofline_seconds,),
    cites=("L2 §4.5",),
)
