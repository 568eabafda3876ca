"""A row that has ended goes on while others are not done."""

import numpy as np

from solution.kv_cache import KVCache, decode_step, prefill

from .bug import Bug, Text


def generate(model, prompt, max_new_tokens, eos=None):
    batch, length = prompt.shape
    config = model.config
    cache = KVCache(
        config.n_layers,
        batch,
        config.n_kv_heads,
        length + max_new_tokens,
        config.head_dim,
        model.dtype,
    )
    ended = np.zeros(batch, dtype=bool)
    generated = []
    while len(generated) < max_new_tokens and not ended.all():
        if generated:
            logits = decode_step(model, generated[-1], cache)
        else:
            logits = prefill(model, prompt, cache)
        token = logits.argmax(axis=-1)
        if eos is not None:
            ended |= token == eos
        generated.append(token)
    return np.stack(generated, axis=1) if generated else np.empty((batch, 0), dtype=prompt.dtype)


BUG = Bug(
    name="generate-ignores-eos-padding",
    part=4,
    summary=Text(
        en="a generation whose ended rows go on until all rows have ended",
        zh="已结束的行继续生成、直到所有行都结束的生成",
    ),
    explanation=Text(
        en=(
            "It is remembered which rows have made eos, and generation stops when all have, but "
            "the tokens of ended rows are not replaced. While another row is still running, an "
            "ended one puts out whatever follows. With one row, or without eos, nothing is "
            "wrong."
        ),
        zh=(
            "记住了哪些行生成过 eos，全部结束时也会停，但没有替换已结束各行的 token。"
            "别的行还在生成时，已结束的行会继续输出后面的内容。只有一行，或者没有 eos 时，看不出问题。"
        ),
    ),
    hints=(
        Text(
            en="Look at the row that ends first. What stands behind its eos?",
            zh="看最先结束的那一行。它的 eos 后面是什么？",
        ),
        Text(
            en="What is the token of a row that has ended, whatever its logits say?",
            zh="一行结束之后，不管 logits 怎样，它的 token 应该是什么？",
        ),
        Text(
            en="Before you put a token out, replace it by eos in all rows that had ended before this step.",
            zh="输出 token 之前，把这一步之前已结束的各行换成 eos。",
        ),
    ),
    replaces=(generate,),
    cites=("L2 §5.1", "mistral-inference#270", "flash-attention#2784"),
)
