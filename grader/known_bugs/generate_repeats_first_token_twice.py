"""The first new token is put out twice."""

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
        if len(generated) > 1:
            logits = decode_step(model, generated[-1], cache)
        token = logits.argmax(axis=-1)
        if eos is not None:
            token = np.where(ended, eos, token)
            ended |= token == eos
        generated.append(token)
    return np.stack(generated, axis=1) if generated else np.empty((batch, 0), dtype=prompt.dtype)


BUG = Bug(
    name="generate-repeats-first-token-twice",
    part=4,
    summary=Text(
        en="a generation that puts out its first token twice",
        zh="第一个新 token 输出两次的生成",
    ),
    explanation=Text(
        en=(
            "The token chosen from the prefill's logits is put out, and then the same logits "
            "are used once more before the first decode step. The output holds that token "
            "twice, only its second copy is fed to the model, and everything behind it is one "
            "place late."
        ),
        zh=(
            "先输出由 prefill 的 logits 选出的 token，"
            "第一步 decode 之前又用同一组 logits 选了一次。输出里这个 token 出现两次，"
            "只有一次送进了模型，后面的内容都晚了一位。"
        ),
    ),
    hints=(
        Text(
            en="Compare your output with the expected one shifted by one place.",
            zh="把你的输出和错开一位的正确输出比较。",
        ),
        Text(
            en="How many decode steps are needed for n new tokens, if the prefill already gives the first?",
            zh="prefill 已经给出第一个新 token，那么 n 个新 token 需要几步 decode？",
        ),
        Text(
            en="Each set of logits may choose one token. Walk through your loop for max_new_tokens = 2.",
            zh="每组 logits 只能选一个 token。取 max_new_tokens = 2，把循环走一遍。",
        ),
    ),
    replaces=(generate,),
    cites=("L2 §5.1",),
)
