"""Letters that are summed over are left out."""

from math import prod

from .bug import Bug, Text


def einsum_flops(spec, *shapes):
    operands, result = spec.split("->")
    sizes = {}
    for letters, shape in zip(operands.split(","), shapes, strict=True):
        for letter, size in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"axis {letter} has sizes {sizes[letter]} and {size}")
    return 2 * prod(sizes[letter] for letter in result)


BUG = Bug(
    name="einsum-result-only",
    part=8,
    summary=Text(
        en="FLOPs of a contraction that leave out the letters summed over",
        zh="漏了求和字母的缩并 FLOPs",
    ),
    explanation=Text(
        en=(
            "The product runs over the letters of the result. But every number of the result is a sum, "
            "with a multiplication and an addition for each value of the letters that are summed over: "
            "for btd,df->btf the letter d is missing, and with it nearly all of the work."
        ),
        zh=(
            "乘积只取了结果里的字母。可是结果的每个数都是一个和，求和字母每取一个值就有一次乘法和一次加法："
            "btd,df->btf 里漏了字母 d，也就漏了几乎全部的工作量。"
        ),
    ),
    hints=(
        Text(
            en="Your number is too small by the size of a letter. Which one?",
            zh="你的数小了一个字母的大小那么多倍。是哪个字母？",
        ),
        Text(
            en="How many multiplications does one number of a matrix product take?",
            zh="矩阵乘积的一个数要做几次乘法？",
        ),
        Text(
            en="Take the dot product a,a->: what does your function give, and how many steps does it take?",
            zh="取点积 a,a->：你的函数给出多少？它实际要做几步？",
        ),
    ),
    replaces=(einsum_flops,),
    cites=("L2 §3.5",),
)
