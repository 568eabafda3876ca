"""Every token is chosen from the logits of the prefill."""

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
    logits = prefill(model, prompt, cache)
    while len(generated) < max_new_tokens and not ended.all():
        token = logits.argmax(axis=-1)
        if eos is not None:
            token = np.where(ended, eos, token)
            ended |= token == eos
        generated.append(token)
        decode_step(model, token, cache)
    return np.stack(generated, axis=1) if generated else np.empty((batch, 0), dtype=prompt.dtype)


BUG = Bug(
    name="generate-argmax-of-prompt",
    part=4,
    summary=Text(
        en="a generation that chooses every token from the logits of the prompt",
        zh="每个 token 都按提示的 logits 来选的生成",
    ),
    explanation=Text(
        en=(
            "decode_step is called, but the logits it returns are thrown away, so every step "
            "takes the argmax of the prefill's logits again. The first token is right and is "
            "repeated to the end."
        ),
        zh=(
            "调用了 decode_step，却丢掉了它返回的 logits，"
            "于是每一步都对 prefill 的 logits 取 argmax。第一个 token 是对的，"
            "后面一直重复它。"
        ),
    ),
    hints=(
        Text(
            en="All your tokens are the same. Which logits does each of them come from?",
            zh="生成的 token 全都一样。每个 token 分别来自哪一组 logits？",
        ),
        Text(
            en="decode_step returns something. What do you do with it?",
            zh="decode_step 有返回值。你拿它做了什么？",
        ),
        Text(
            en="The logits of step t choose the token that is fed in step t + 1: keep the newest ones.",
            zh="第 t 步的 logits 决定第 t + 1 步送入的 token：要保留最新的 logits。",
        ),
    ),
    replaces=(generate,),
    cites=("L2 §5.1",),
)
