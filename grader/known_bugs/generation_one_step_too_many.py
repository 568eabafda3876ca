"""A decode step follows each new token, the last one too."""

from solution.accounting import forward_flops

from .bug import Bug, Text


def generation_flops(config, prompt, new_tokens, cached):
    if cached:
        passes = [(prompt, 0), *((1, prompt + done) for done in range(new_tokens))]
    else:
        passes = [(prompt + done, 0) for done in range(new_tokens)]
    return sum(sum(forward_flops(config, 1, new, past).values()) for new, past in passes)


BUG = Bug(
    name="generation-one-step-too-many",
    part=8,
    summary=Text(
        en="a generation with one decode step too many",
        zh="多走了一步 decode 的生成",
    ),
    explanation=Text(
        en=(
            "The prefill gives the first new token already, so n tokens take n - 1 decode steps; here n "
            "are counted. The last step would compute a token that nobody asked for. Without a cache the "
            "count is right: there each token takes one pass."
        ),
        zh=(
            "prefill 已经给出第一个新 token，所以 n 个 token 只要 n - 1 步"
            " decode；这里算了 n 步。最后一步算的是没人要的 token。没有 cache 的结果是对的：那"
            "里每个 token 正好跑一遍。"
        ),
    ),
    hints=(
        Text(
            en="Without a cache you are right. Which pass gives the first new token?",
            zh="没有 cache 的对。第一个新 token 是哪一遍给出的？",
        ),
        Text(
            en="Take new_tokens = 1. What has to run after the prefill?",
            zh="取 new_tokens = 1。prefill 之后还要跑什么？",
        ),
        Text(
            en="L2 exercise 6 says: prefill and 1999 decode steps for 2000 tokens.",
            zh="L2 练习 6 说：2000 个 token 是 prefill 加 1999 次 decode。",
        ),
    ),
    replaces=(generation_flops,),
    cites=("L2 §5.1", "L2 练习 6"),
)
