"""Each decode step is fed the token before the newest."""

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
    previous = prompt[:, -1]
    logits = prefill(model, prompt, cache)
    while len(generated) < max_new_tokens and not ended.all():
        token = logits.argmax(axis=-1)
        if eos is not None:
            token = np.where(ended, eos, token)
            ended |= token == eos
        generated.append(token)
        logits = decode_step(model, previous, cache)
        previous = token
    return np.stack(generated, axis=1) if generated else np.empty((batch, 0), dtype=prompt.dtype)


BUG = Bug(
    name="generate-feeds-token-before-last",
    part=4,
    summary=Text(
        en="a generation that feeds each decode step the token before the newest",
        zh="每一步都送入倒数第二个 token 的生成",
    ),
    explanation=Text(
        en=(
            "The token fed to decode_step is one behind: the first step gets the last token of "
            "the prompt once more, the second the first new token, and so on. The first new "
            "token is right, since it needs no decode step; after it the model continues "
            "another text than the one put out."
        ),
        zh=(
            "送进 decode_step 的 token 总是慢一拍："
            "第一步又送了一遍提示的最后一个 token，第二步才送第一个新 token，依此类推。"
            "第一个新 token 不需要 decode，所以是对的；之后模型续写的就不是输出的那段文本了。"
        ),
    ),
    hints=(
        Text(
            en="The first new token is right and the second is not. Which token did the first decode step get?",
            zh="第一个新 token 对，第二个错。第一步 decode 收到的是哪个 token？",
        ),
        Text(
            en="Print the token you feed and the token you put out, step by step.",
            zh="逐步打印送入的 token 和输出的 token。",
        ),
        Text(
            en="The prefill has read the whole prompt. What is fed next is the token just chosen.",
            zh="prefill 已经读完整个提示。接下来送入的是刚选出的 token。",
        ),
    ),
    replaces=(generate,),
    cites=("L2 §5.1",),
)
