"""The sizes of both operands are multiplied."""

from math import prod

from .bug import Bug, Text


def einsum_flops(spec, *shapes):
    sizes = {}
    for letters, shape in zip(spec.split("->")[0].split(","), shapes, strict=True):
        for letter, size in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"axis {letter} has sizes {sizes[letter]} and {size}")
    return 2 * prod(size for shape in shapes for size in shape)


BUG = Bug(
    name="einsum-letters-twice",
    part=8,
    summary=Text(
        en="FLOPs of a contraction that count a shared letter twice",
        zh="公共字母算了两次的缩并 FLOPs",
    ),
    explanation=Text(
        en=(
            "All sizes of both shapes are multiplied, so a letter that both operands have comes in "
            "squared. A shared letter is one loop, not two: for every value of all letters there is one "
            "multiplication and one addition. Only outer products, which share no letter, come out right."
        ),
        zh=(
            "两个形状里所有的大小都乘了起来，两个操作数共有的字母就成了平方。公共字母是一层循环，不是两层：所有字母的"
            "每一组取值对应一次乘法和一次加法。只有没有公共字母的外积算出来是对的。"
        ),
    ),
    hints=(
        Text(
            en="Outer products are right. What do the others have that they have not?",
            zh="外积是对的。其余的有什么是外积没有的？",
        ),
        Text(
            en="Write a matrix product as three nested loops. Over which letters do they run?",
            zh="把矩阵乘法写成三重循环。三层循环各跑哪个字母？",
        ),
        Text(
            en="Your number divided by the right one is the product of the shared letters' sizes.",
            zh="你的数除以正确结果，正好是公共字母大小的乘积。",
        ),
    ),
    replaces=(einsum_flops,),
    cites=("L2 §3.5",),
)
