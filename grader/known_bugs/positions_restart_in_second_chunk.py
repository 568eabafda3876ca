"""A prefill that continues a cache starts at position 0 again."""

import numpy as np

from solution.attention import causal_mask
from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(length)
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
    return model.logits(x[:, -1])


def decode_step(model, token, cache):
    position = np.array([cache.length])
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
    name="positions-restart-in-second-chunk",
    part=4,
    summary=Text(
        en="a prefill that starts at position 0 again when it continues a cache",
        zh="续写 cache 时位置又从 0 开始的 prefill",
    ),
    explanation=Text(
        en=(
            "The positions of a chunk are arange(T), whatever the cache holds. The first chunk "
            "is right and so are decode steps; the second chunk of a prompt is rotated as if it "
            "stood at the start of the text. The mask and the stored rows look right, so "
            "nothing but a comparison with one whole prefill shows it."
        ),
        zh=(
            "不管 cache 里有多少内容，每一块的位置都取 arange(T)。第一块是对的，"
            "decode 也是对的；提示的第二块却被当成文本开头来旋转。掩码和存入的行数都正常，"
            "只有和一次做完的 prefill 比较才能看出来。"
        ),
    ),
    hints=(
        Text(
            en="A prefill in one piece is right, in two pieces it is not. What does the second piece have to know about the first?",
            zh="一次做完的 prefill 对，分两块就错。第二块需要知道关于第一块的什么信息？",
        ),
        Text(
            en="Print the positions of the second chunk when 4 tokens are cached and 3 arrive.",
            zh="cache 里已有 4 个 token，又来 3 个。打印第二块的位置。",
        ),
        Text(
            en="They should be 4, 5, 6: the range starts at cache.length, read once before the layers.",
            zh="应该是 4、5、6：区间从 cache.length 开始，在进入各层之前读一次。",
        ),
    ),
    replaces=(prefill, decode_step),
    cites=("L2 §5.3", "MemOS#2315"),
)
