"""The last token of the prompt is run twice."""

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
    prefill(model, prompt, cache)
    token = prompt[:, -1]
    while len(generated) < max_new_tokens and not ended.all():
        token = decode_step(model, token, cache).argmax(axis=-1)
        if eos is not None:
            token = np.where(ended, eos, token)
            ended |= token == eos
        generated.append(token)
    return np.stack(generated, axis=1) if generated else np.empty((batch, 0), dtype=prompt.dtype)


BUG = Bug(
    name="generate-feeds-last-prompt-token-again",
    part=4,
    summary=Text(
        en="a generation that runs the last token of the prompt twice",
        zh="把提示的最后一个 token 运行两遍的生成",
    ),
    explanation=Text(
        en=(
            "The logits of the prefill are ignored, and the first decode step gets the last "
            "token of the prompt, which the prefill has already cached. That token stands in "
            "the cache twice, everything behind it is one position too far, and all tokens are "
            "chosen for a text in which it is repeated."
        ),
        zh=(
            "没有使用 prefill 的 logits，"
            "第一步 decode 送入的是提示的最后一个 token，"
            "而 prefill 已经把它放进 cache。于是它在 cache 里出现两次，"
            "后面的位置都多了 1，所有 token 都是按一段重复了它的文本选出来的。"
        ),
    ),
    hints=(
        Text(
            en="Which logits choose your first new token?",
            zh="第一个新 token 是由哪组 logits 选出的？",
        ),
        Text(
            en="Print cache.length when the first new token is chosen. How long is the prompt?",
            zh="选出第一个新 token 时打印 cache.length。提示有多长？",
        ),
        Text(
            en="The prefill returns the logits behind the whole prompt: the first new token needs no decode step.",
            zh="prefill 返回的就是整个提示之后的 logits：第一个新 token 不需要 decode。",
        ),
    ),
    replaces=(generate,),
    cites=("L2 §5.1",),
)
