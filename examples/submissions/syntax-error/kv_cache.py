import numpy as np

from .gqa import grouped_query_attention
from .rope import apply_rope


class KVCache:
    # one python list per layer, one entry (B, G, d_h) per token

    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        self.max_len = max_len
        self.dtype = dtype
        self.k_lists = [[] for _ in range(n_layers)]
        self.v_lists = [[] for _ in range(n_layers)]

    @property
    def length(self):
        return min(len(one_layer) for one_layer in self.k_lists)

    def append(self, layer, k, v):
        n_new = k.shape[2]
        if len(self.k_lists[layer]) + n_new > self.max_len:
            raise ValueError(f"cache is full (max_len={self.max_len})")
        for t in range(n_new):
            self.k_lists[layer].append(k[:, :, t].astype(self.dtype))
            self.v_lists[layer].append(v[:, :, t].astype(self.dtype))
        return np.stack(self.k_lists[layer], axis=2), np.stack(self.v_lists[layer], axis=2)

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError(f"can't truncate {self.length} tokens to {length}")
        for layer in range(len(self.k_lists)):
            del self.k_lists[layer][length:]
            del self.v_lists[layer][length:]


def decode_step(model, token, cache):
    position = np.array([cache.length])  # read it once, before the first append
    theta = model.config.rope_theta
    x = model.embed(token.reshape(-1, 1))
    for i in range(model.config.n_layers):
        q, k, v = model.project_qkv(i, x)
        K, V = cache.append(i, apply_rope(k, position, theta), v)
        # everything in the cache is in the past, so no mask
        out = grouped_query_attention(apply_rope(q, position, theta), K, V)
        x = model.add_mlp(i, model.add_attention(i, x, out))
    return model.logits(x[:, 0])


def prefill(model, tokens, cache):
    # slow but simple: feed the prompt one token after the other
    for t in range(tokens.shape[1]):
        logits = decode_step(model, tokens[:, t], cache)
    return logits


def generate(model, prompt, max_new_tokens, eos=None):
    B, T = prompt.shape
    c = model.config
    cache = KVCache(c.n_layers, B, c.n_kv_heads, T + max_new_tokens, c.head_dim, model.dtype)
    logits = prefill(model, prompt, cache)
    rows = [[] for _ in range(B)]
    finished = [False] * B
    for step in range(max_new_tokens):
        for b in range(B):
            rows[b].append(eos if finished[b] else int(np.argmax(logits[b])))
            if eos is not None and rows[b][-1] == eos:
                finished[b] = True
        if all(finished) or step == max_new_tokens - 1:
            break
        logits = decode_step(model, np.array([row[-1] for row in rows]), cache)
    return np.array(rows, dtype=int)
