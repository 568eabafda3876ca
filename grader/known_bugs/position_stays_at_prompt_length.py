"""All decoded tokens get the position behind the prompt."""

import numpy as np

from solution.attention import causal_mask
from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    mask = causal_mask(length, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    cache.prompt_length = start + length
    return model.logits(x[:, -1])


def decode_step(model, token, cache):
    position = np.array([cache.prompt_length])
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, position, model.config.rope_theta)
        k = apply_rope(k, position, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="position-stays-at-prompt-length",
    part=4,
    summary=Text(
        en="a decode that gives every new token the position right behind the prompt",
        zh="让每个新 token 都停在提示之后第一个位置的 decode",
    ),
    explanation=Text(
        en=(
            "The position is the length of the prompt, which is right for the first decode step "
            "and too small for all later ones. From step 2 on several tokens stand in the same "
            "place. All are stored and seen, but their order is lost."
        ),
        zh=(
            "位置取的是提示的长度：对第一步 decode 是对的，之后就都偏小。从第 2 步起，"
            "好几个 token 站在同一个位置上；它们都存了、也都看得到，但顺序丢失了。"
        ),
    ),
    hints=(
        Text(
            en="Step 1 is right and step 2 is not. What has changed between them?",
            zh="第 1 步对、第 2 步错。这两步之间什么变了？",
        ),
        Text(
            en="Print the positions you give to apply_rope in three decode steps in a row.",
            zh="连续做三步 decode，打印传给 apply_rope 的位置。",
        ),
        Text(
            en="The cache grows with every step. The next position is what it holds now, not what it held after the prompt.",
            zh="每一步 cache 都会变长。下一个位置取决于它现在有多少，而不是提示结束时有多少。",
        ),
    ),
    replaces=(prefill, decode_step),
    cites=("L2 §5.3",),
)
