"""A Llama that runs with a KV cache and keeps an account of itself (L2 §4.1).

The account is made from the arrays that are really multiplied and read, and so can prove the
formulas of `operations` wrong. The oracle (`reference_model.llama_logits`) in turn proves the
logits right.
"""

from __future__ import annotations

import numpy as np

from reference_model.config import ModelConfig, Params, check_params
from reference_model.layers import causal_mask, rmsnorm, rope, silu, softmax

from .work import Work, elementwise_work, matmul_work

BYTES = 2  # accounts are in BF16, whatever the arrays hold


class Counter:
    """Work by name of operation, summed over layers and calls."""

    def __init__(self) -> None:
        self.works: dict[str, Work] = {}

    def add(self, name: str, work: Work) -> None:
        """Enter `work` under `name`."""
        self.works[name] = self.works.get(name, Work()) + work

    def reset(self) -> None:
        """Begin a new account."""
        self.works.clear()


class CountedModel:
    """Holds weights, a cache that grows by concatenation, and a `counter`."""

    def __init__(self, config: ModelConfig, params: Params) -> None:
        check_params(config, params)
        self.config, self.params = config, params
        self.counter = Counter()
        self.reset_cache()

    def reset_cache(self) -> None:
        """Forget all tokens."""
        self._keys: list[np.ndarray | None] = [None] * self.config.n_layers
        self._values: list[np.ndarray | None] = [None] * self.config.n_layers
        self.length = 0

    def forward(self, tokens: np.ndarray, last_only: bool = False) -> np.ndarray:
        """Tokens int (B, T) behind those in the cache -> logits (B, T, V), or (B, 1, V)."""
        x = np.asarray(self.params["embedding"][tokens])
        for layer in range(self.config.n_layers):
            x = self._residual(x, self._attention(layer, x))
            x = self._residual(x, self._mlp(layer, x))
        self.length += tokens.shape[1]
        x = self._norm("final_norm", x[:, -1:] if last_only else x)
        head = self.params["embedding"].T if self.config.tied else self.params["lm_head"]
        return self._multiply("lm_head", x, head)

    def _attention(self, layer: int, x: np.ndarray) -> np.ndarray:
        c, name = self.config, f"layers.{layer}"
        h = self._norm(f"{name}.attention_norm", x)
        q = self._heads(self._project(layer, "w_q", h), c.n_heads)
        k = self._heads(self._project(layer, "w_k", h), c.n_kv_heads)
        v = self._heads(self._project(layer, "w_v", h), c.n_kv_heads)
        q, k = self._rope(q), self._rope(k)
        keys, values = self._append(layer, k, v)
        mixed = self._attend(q, keys, values)
        batch, _, length, _ = mixed.shape
        return self._project(layer, "w_o", mixed.swapaxes(1, 2).reshape(batch, length, -1))

    def _attend(self, q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(B, H, T, d_h) against (B, G, S, d_h): head h reads group h // R."""
        batch, n_heads, query_len, head_dim = q.shape
        grouped = q.reshape(batch, keys.shape[1], -1, query_len, head_dim)
        scores = np.einsum("bgrtd,bgsd->bgrts", grouped, keys) / np.sqrt(head_dim)
        mask = causal_mask(query_len, keys.shape[2])
        weights = softmax(np.where(mask, scores, -np.inf))
        mixed = np.einsum("bgrts,bgsd->bgrtd", weights, values)
        pairs, allowed = scores.size, scores.size // mask.size * int(mask.sum())
        self.counter.add(
            "attention",
            Work(
                flops=4 * pairs * head_dim,
                useful_flops=4 * allowed * head_dim,
                activation_bytes=BYTES * (q.size + mixed.size),
                kv_bytes=BYTES * (keys.size + values.size),
            ),
        )
        return mixed.reshape(batch, n_heads, query_len, -1)

    def _append(self, layer: int, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _appended(self._keys, layer, k), _appended(self._values, layer, v)

    def _mlp(self, layer: int, x: np.ndarray) -> np.ndarray:
        h = self._norm(f"layers.{layer}.mlp_norm", x)
        gate, up = self._project(layer, "w_gate", h), self._project(layer, "w_up", h)
        product = silu(gate) * up
        self.counter.add("swiglu", elementwise_work(gate.size + up.size + product.size, BYTES))
        return self._project(layer, "w_down", product)

    def _heads(self, x: np.ndarray, n_heads: int) -> np.ndarray:
        return x.reshape(*x.shape[:2], n_heads, -1).swapaxes(1, 2)

    def _rope(self, x: np.ndarray) -> np.ndarray:
        positions = np.arange(self.length, self.length + x.shape[2])
        rotated = rope(x, positions, self.config.rope_theta).astype(x.dtype)
        self.counter.add("rope", elementwise_work(x.size + rotated.size, BYTES))
        return rotated

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        normed = rmsnorm(x, self.params[name], self.config.norm_eps).astype(x.dtype)
        self.counter.add("norm", elementwise_work(x.size + normed.size, BYTES))
        return normed

    def _residual(self, x: np.ndarray, change: np.ndarray) -> np.ndarray:
        result = x + change
        self.counter.add("residual", elementwise_work(x.size + change.size + result.size, BYTES))
        return result

    def _project(self, layer: int, name: str, x: np.ndarray) -> np.ndarray:
        return self._multiply(name, x, self.params[f"layers.{layer}.{name}"])

    def _multiply(self, name: str, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        inner, columns = w.shape
        self.counter.add(name, matmul_work(x.size // inner, inner, columns, BYTES))
        return x @ w


def _appended(store: list[np.ndarray | None], layer: int, new: np.ndarray) -> np.ndarray:
    """All of a layer's keys or values, with the `new` ones behind those in the store."""
    old = store[layer]
    result = store[layer] = new if old is None else np.concatenate([old, new], axis=2)
    return result
