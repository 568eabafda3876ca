# ruff: noqa: E402, F811, F821
"""Part 12 written in other ways, each right: test_extra_parts.py gives every one full marks.

A section goes behind the solution's module of that name, and its definitions count.
"""

# %% padded: serving.py
from .attention import scaled_dot_product_attention


def _padded(model, rows, cache, sequences):
    """All rows side by side, filled up with token 0, and a mask for each."""
    longest, starts = max(map(len, rows)), [cache.length(s) for s in sequences]
    tokens = np.zeros((len(rows), longest), dtype=int)
    for padded, row in zip(tokens, rows, strict=True):
        padded[: len(row)] = row
    x = model.embed(tokens)
    n_shared = model.config.n_heads // model.config.n_kv_heads
    positions = np.array(starts)[:, None] + np.arange(longest)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        for r, sequence in enumerate(sequences):
            q[r] = apply_rope(q[r], positions[r], model.config.rope_theta)
            k[r] = apply_rope(k[r], positions[r], model.config.rope_theta)
            n = len(rows[r])
            cache.append(layer, sequence, k[r, :, :n], v[r, :, :n])
        held = [cache.read(layer, sequence) for sequence in sequences]
        n_keys = max(keys.shape[1] for keys, _ in held)
        keys, values = np.zeros((2, len(rows), q.shape[1], n_keys, q.shape[3]))
        for r, (of_row, values_of_row) in enumerate(held):
            keys[r, :, : of_row.shape[1]] = np.repeat(of_row, n_shared, axis=0)
            values[r, :, : of_row.shape[1]] = np.repeat(values_of_row, n_shared, axis=0)
        mask = positions[:, None, :, None] >= np.arange(n_keys)
        mask = mask & (
            np.arange(n_keys) < np.array([h[0].shape[1] for h in held])[:, None, None, None]
        )
        heads = scaled_dot_product_attention(q, keys, values, mask)
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    return x


def ragged_prefill(model, rows, cache, sequences):
    x = _padded(model, rows, cache, sequences)
    return model.logits(x[np.arange(len(rows)), [len(row) - 1 for row in rows]])


def ragged_decode_step(model, tokens, cache, sequences):
    return model.logits(_padded(model, tokens.reshape(-1, 1), cache, sequences)[:, 0])


def speculative_step(model, token, draft, cache, sequence):
    held = cache.length(sequence)
    x = _padded(model, [np.append(token, draft)], cache, [sequence])
    greedy, n = model.logits(x[0]).argmax(-1), 0
    while n < len(draft) and draft[n] == greedy[n]:
        n += 1
    cache.truncate(sequence, held + n + 1)
    return greedy[: n + 1]


class Engine(Engine):
    """Padding is work, and the budget counts it: each chunk of a prompt is run by itself."""

    def step(self):
        plan = self._plan()
        decodes = [number for number, count in plan.items() if len(self._left(number)) == 1]
        batches = [decodes] if decodes else []
        batches += [[number] for number in plan if number not in decodes]
        makers, logits = [], np.empty((0, self._model.config.vocab_size))
        for batch in batches:
            rows = [np.array(self._left(number)[: plan[number]]) for number in batch]
            of = [self._requests[number].sequence for number in batch]
            got = ragged_prefill(self._model, rows, self._cache, of)
            done = [place for place, number in enumerate(batch) if not self._left(number)]
            makers += [batch[place] for place in done]
            logits = np.concatenate([logits, got[done]])
        for number, row in zip(makers, logits, strict=True):
            request = self._requests[number]
            request.text.append(int(np.argmax(row)))
            n_made = len(request.text) - request.n_prompt
            if request.text[-1] == request.eos or n_made == request.max_new_tokens:
                self._stop(number)
        return tuple(makers), logits


# %% token_by_token: serving.py
from .paged_cache import attention_in_tiles


def _one(model, token, cache, sequence):
    """One token of one sequence through the model, over the blocks of the cache."""
    at = np.array([cache.length(sequence)])
    x = model.embed(np.array([[token]]))
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q, k = (apply_rope(part, at, model.config.rope_theta) for part in (q, k))
        cache.append(layer, sequence, k[0], v[0])
        keys, values = cache.read(layer, sequence)
        whole = keys[None], values[None]  # one block of all positions
        heads = attention_in_tiles(q[0, :, 0], *whole, [0], keys.shape[1])
        x = model.add_attention(layer, x, heads[None, :, None])
        x = model.add_mlp(layer, x)
    return model.logits(x[0, 0])


def ragged_prefill(model, rows, cache, sequences):
    last = []
    for row, sequence in zip(rows, sequences, strict=True):
        for token in row:
            logits = _one(model, token, cache, sequence)
        last.append(logits)
    return np.stack(last)


def ragged_decode_step(model, tokens, cache, sequences):
    pairs = zip(tokens, sequences, strict=True)
    return np.stack([_one(model, token, cache, sequence) for token, sequence in pairs])


def speculative_step(model, token, draft, cache, sequence):
    start = cache.length(sequence)
    row = np.append(token, draft)
    made = [int(_one(model, token, cache, sequence).argmax()) for token in row]
    right = [a == b for a, b in zip(made, draft, strict=False)] + [False]
    n = right.index(False)
    cache.truncate(sequence, start + n + 1)
    return tuple(made[: n + 1])


class Engine:
    """A scheduler of its own: requests are dicts in two lists, and the plan is a list."""

    def __init__(self, model, cache, token_budget, max_running):
        if max_running > token_budget:
            raise ValueError("the budget does not even let all decode")
        self.model, self.cache, self.budget, self.most = model, cache, token_budget, max_running
        self.room = cache.n_free * cache.block_size
        self.all, self._running, self._waiting = [], [], []

    running = property(lambda self: [r["number"] for r in self._running])
    waiting = property(lambda self: np.array([r["number"] for r in self._waiting], dtype=int))

    def submit(self, prompt, max_new_tokens, eos=None):
        if len(prompt) + max_new_tokens - 1 > self.room:
            raise ValueError("too long")
        request = {"text": list(prompt), "first": len(prompt), "most": max_new_tokens, "eos": eos}
        self._waiting.append(request | {"number": len(self.all), "sequence": None})
        self.all.append(self._waiting[-1])
        return self._waiting[-1]["number"]

    def tokens(self, request):
        return np.array(self.all[request]["text"][self.all[request]["first"] :], dtype=int)

    def cancel(self, request):
        request = self.all[request]
        if request in self._waiting:
            return self._waiting.remove(request)
        return self._end(request)

    def _end(self, request):
        self._running.remove(request)
        self.cache.free(request["sequence"])

    def fork(self, request, token):
        old = self.all[request]
        if old not in self._running or len(old["text"]) == old["first"]:
            raise ValueError("not decoding")
        if len(self._running) >= self.most:
            raise ValueError("full")
        new = {**old, "text": [*old["text"][:-1], token], "number": len(self.all)}
        new["sequence"] = self.cache.fork(old["sequence"])
        self.all.append(new)
        self._running.append(new)
        return new["number"]

    def _rest(self, request):
        return request["text"][self.cache.length(request["sequence"]) :]

    def _cost(self, plan):
        return sum(self.cache.blocks_needed(request["sequence"], n) for request, n in plan)

    def _schedule(self):
        plan, budget, preempted = [], self.budget, False
        for one in (True, False):
            for request in self._running[:]:
                if request not in self._running or (len(self._rest(request)) == 1) != one:
                    continue
                n = min(len(self._rest(request)), budget - sum(n for _, n in plan))
                while n and self._cost([*plan, (request, n)]) > self.cache.n_free:
                    victim, preempted = self._running[-1], True
                    plan = [(planned, n) for planned, n in plan if planned is not victim]
                    self._end(victim)
                    self._waiting.insert(0, victim)
                    if victim is request:
                        n = 0
                if n:
                    plan.append((request, n))
        while not preempted and self._waiting and len(self._running) < self.most:
            request, left = self._waiting[0], budget - sum(n for _, n in plan)
            whole = -(-len(request["text"]) // self.cache.block_size)
            if not left or self._cost(plan) + whole > self.cache.n_free:
                break
            request["sequence"] = self.cache.add()
            plan.append((request, min(left, len(request["text"]))))
            self._running.append(self._waiting.pop(0))
        return plan

    def step(self):
        makers, logits = [], np.zeros((0, self.model.config.vocab_size))
        for request, n in self._schedule():
            row = self._rest(request)[:n]
            (of_row,) = ragged_prefill(self.model, [row], self.cache, [request["sequence"]])
            if self._rest(request):
                continue
            makers.append(request["number"])
            logits = np.vstack([logits, of_row])
            request["text"].append(int(of_row.argmax()))
            made = len(request["text"]) - request["first"]
            if made == request["most"] or request["text"][-1] == request["eos"]:
                self._end(request)
        return makers, logits


# %% rows_in_dicts: paged_cache.py
class PagedKVCache:
    """A block is an object with a dict of rows for each layer, and knows who holds it."""

    class Block:
        def __init__(self, number):
            self.number, self.rows, self.holders = number, {}, set()

    def __init__(self, n_layers, n_kv_heads, head_dim, n_blocks, block_size, dtype):
        self.block_size, self.n_layers = block_size, n_layers
        self.empty = np.empty((n_kv_heads, 0, head_dim), dtype)
        self.blocks = [self.Block(number) for number in range(n_blocks)]
        self.table, self.lengths, self.count = {}, {}, 0

    n_free = property(lambda self: sum(not block.holders for block in self.blocks))
    sequences = property(lambda self: tuple(self.table))

    def add(self):
        self.count += 1
        self.table[self.count], self.lengths[self.count] = [], [0] * self.n_layers
        return self.count

    def length(self, sequence):
        return min(self.lengths[sequence])

    def block_table(self, sequence):
        return np.array([block.number for block in self.table[sequence]], dtype=int)

    def blocks_needed(self, sequence, count):
        length, blocks = self.length(sequence), self.table[sequence]
        copies = length % self.block_size > 0 and len(blocks[-1].holders) > 1
        return (length + count - 1) // self.block_size + 1 - len(blocks) + int(copies)

    def append(self, layer, sequence, k, v):
        lengths, blocks = self.lengths[sequence], self.table[sequence]
        if len(set(lengths)) == 1:
            if self.blocks_needed(sequence, k.shape[1]) > self.n_free:
                raise ValueError("no block is free")
            if lengths[0] % self.block_size and len(blocks[-1].holders) > 1:
                old = blocks.pop()
                old.holders.discard(sequence)
                self._take(sequence).rows = dict(old.rows)
            while len(blocks) * self.block_size < lengths[0] + k.shape[1]:
                self._take(sequence).rows = {}
        for i in range(k.shape[1]):
            block, place = divmod(lengths[layer], self.block_size)
            blocks[block].rows[layer, place] = k[:, i].copy(), v[:, i].copy()
            lengths[layer] += 1

    def _take(self, sequence):
        block = next(block for block in self.blocks if not block.holders)
        block.holders.add(sequence)
        self.table[sequence].append(block)
        return block

    def read(self, layer, sequence):
        places = [divmod(p, self.block_size) for p in range(self.lengths[sequence][layer])]
        rows = [self.table[sequence][block].rows[layer, place] for block, place in places]
        if not rows:
            return [self.empty, self.empty]
        return [np.stack([row[part] for row in rows], axis=1) for part in (0, 1)]

    def truncate(self, sequence, length):
        if length < 0 or length > self.length(sequence):
            raise ValueError("nothing there")
        while len(self.table[sequence]) * self.block_size >= length + self.block_size:
            self.table[sequence].pop().holders.discard(sequence)
        self.lengths[sequence] = [length] * self.n_layers

    def fork(self, sequence):
        new = self.add()
        self.table[new], self.lengths[new] = [*self.table[sequence]], [*self.lengths[sequence]]
        for block in self.table[new]:
            block.holders.add(new)
        return new

    def free(self, sequence):
        for block in self.table.pop(sequence):
            block.holders.discard(sequence)


def attention_in_tiles(q, key_blocks, value_blocks, block_table, length):
    """Each head and position in a loop, with Python's own numbers."""
    block_size, n_shared = key_blocks.shape[2], len(q) // key_blocks.shape[1]
    out = np.zeros_like(q)
    for head, query in enumerate(q):
        top, total = -np.inf, 0.0
        for position in range(length):
            where = block_table[position // block_size], head // n_shared, position % block_size
            score = float(query @ key_blocks[where]) / len(query) ** 0.5
            if score > top:
                shrink = float(np.exp(top - score))
                out[head], total, top = out[head] * shrink, total * shrink, score
            weight = float(np.exp(score - top))
            out[head] += weight * value_blocks[where]
            total += weight
        out[head] /= total
    return out


def quantize_blocks(blocks):
    integers = np.zeros(blocks.shape, np.int8)
    scales = np.ones(blocks.shape[:2], blocks.dtype)
    for at in np.ndindex(scales.shape):
        if blocks[at].any():
            scales[at] = max(blocks[at].max(), -blocks[at].min()) / 127
        integers[at] = np.round(blocks[at] / scales[at])
    return [integers, scales]


def dequantize_blocks(integers, scales):
    return np.einsum("nghd,ng->nghd", integers.astype(scales.dtype), scales)
