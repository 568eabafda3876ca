"""The unit of every account: what was computed and what was moved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """FLOPs and bytes of one operation or of many together.

    Attributes:
        flops: executed.
        useful_flops: without those whose result the causal mask throws away.
        weight_bytes, activation_bytes, kv_bytes: read from or written to memory.
    """

    flops: int = 0
    useful_flops: int = 0
    weight_bytes: int = 0
    activation_bytes: int = 0
    kv_bytes: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.flops + other.flops,
            self.useful_flops + other.useful_flops,
            self.weight_bytes + other.weight_bytes,
            self.activation_bytes + other.activation_bytes,
            self.kv_bytes + other.kv_bytes,
        )

    @property
    def bytes(self) -> int:
        """All bytes moved."""
        return self.weight_bytes + self.activation_bytes + self.kv_bytes

    @property
    def intensity(self) -> float:
        """Useful FLOPs per byte moved (L2 §4.5)."""
        return self.useful_flops / self.bytes


def total(works: Iterable[Work]) -> Work:
    """The sum of several accounts."""
    return sum(works, Work())


def matmul_work(rows: int, inner: int, columns: int, bytes_per_number: int = 2) -> Work:
    """(rows, inner) @ weights (inner, columns): 2MKN FLOPs, the weights read once (L2 §4.1)."""
    flops = 2 * rows * inner * columns
    return Work(
        flops,
        flops,
        weight_bytes=inner * columns * bytes_per_number,
        activation_bytes=(rows * inner + rows * columns) * bytes_per_number,
    )


def elementwise_work(numbers: int, bytes_per_number: int = 2) -> Work:
    """`numbers` read or written; the few FLOPs per number are not counted (L2 §4.3)."""
    return Work(activation_bytes=numbers * bytes_per_number)


def attention_work(
    batch: int,
    query_len: int,
    key_len: int,
    n_heads: int,
    n_kv_heads: int,
    head_dim: int,
    bytes_per_number: int = 2,
) -> Work:
    """The attention core as one fused kernel: 4BTSHd_h FLOPs, K and V read once (L2 §4.1).

    The queries are the last `query_len` of `key_len` positions; query t of them may see
    key_len - query_len + t + 1 keys.
    """
    per_pair = 4 * batch * n_heads * head_dim
    seen = query_len * (key_len - query_len) + query_len * (query_len + 1) // 2
    return Work(
        flops=per_pair * query_len * key_len,
        useful_flops=per_pair * seen,
        activation_bytes=2 * batch * query_len * n_heads * head_dim * bytes_per_number,
        kv_bytes=2 * batch * key_len * n_kv_heads * head_dim * bytes_per_number,
    )
