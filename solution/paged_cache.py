"""Part 12: a KV cache in pages, read tile by tile, and kept in int8 (L2 §5.5; Kwon et al. 2023)."""

from __future__ import annotations

import numpy as np


class PagedKVCache:
    """Keys and values of many sequences in blocks of one pool, with a block table a sequence.

    Position p of a sequence lies in the block `block_table(sequence)[p // block_size]`, at place
    p % block_size, in every layer. A block belongs to one sequence, or to several that were forked
    and have written nothing into it since. What lies in a block that is free, or behind the end of
    a sequence, is never seen again.

    Attributes:
        block_size: positions a block.
        n_free: blocks that belong to nobody.
        sequences: the numbers of all sequences that have not been freed, oldest first.

    Source: Kwon et al. 2023 §4.2-4.4.
    """

    def __init__(
        self,
        n_layers: int,
        n_kv_heads: int,
        head_dim: int,
        n_blocks: int,
        block_size: int,
        dtype: np.dtype,
    ) -> None:
        """A pool of n_blocks free blocks."""
        ### BEGIN SOLUTION
        self.block_size = block_size
        shape = (n_layers, n_blocks, n_kv_heads, block_size, head_dim)
        self._keys, self._values = np.zeros(shape, dtype), np.zeros(shape, dtype)
        self._free = list(range(n_blocks))
        self._owners = [0] * n_blocks
        self._tables: dict[int, list[int]] = {}
        self._lengths: dict[int, list[int]] = {}
        self._next = 0
        ### END SOLUTION

    @property
    def n_free(self) -> int:
        """How many blocks belong to no sequence."""
        ### BEGIN SOLUTION
        return len(self._free)
        ### END SOLUTION

    @property
    def sequences(self) -> list[int]:
        """The numbers of the sequences that are held."""
        ### BEGIN SOLUTION
        return list(self._tables)
        ### END SOLUTION

    def add(self) -> int:
        """Begin an empty sequence, which has no block yet; its number, which no other ever had."""
        ### BEGIN SOLUTION
        return self._hold([], [0] * len(self._keys))
        ### END SOLUTION

    def length(self, sequence: int) -> int:
        """How many positions every layer holds of a sequence."""
        ### BEGIN SOLUTION
        return min(self._lengths[sequence])
        ### END SOLUTION

    def block_table(self, sequence: int) -> list[int]:
        """The blocks of a sequence in the order of its positions: ceil(length / block_size)."""
        ### BEGIN SOLUTION
        return list(self._tables[sequence])
        ### END SOLUTION

    def blocks_needed(self, sequence: int, count: int) -> int:
        """How many free blocks an append of `count` >= 1 positions to all layers would take.

        One more than the length asks for where the first of them falls into a block that other
        sequences hold too: it is copied before it is written.
        """
        ### BEGIN SOLUTION
        table, length = self._tables[sequence], self.length(sequence)
        more = -(-(length + count) // self.block_size) - len(table)
        shared = length < len(table) * self.block_size and self._owners[table[-1]] > 1
        return more + shared
        ### END SOLUTION

    def append(self, layer: int, sequence: int, k: np.ndarray, v: np.ndarray) -> None:
        """Write T >= 1 new positions of one layer behind those that it holds of a sequence.

        The layers are written in any order, each with the same number of positions. The first one
        takes the blocks for all of them.

        Args:
            k, v: (G, T, d_h).

        Raises:
            ValueError: too few blocks are free; nothing has changed then.
        """
        ### BEGIN SOLUTION
        start = self._lengths[sequence][layer]
        end = start + k.shape[1]
        if start == max(self._lengths[sequence]):
            self._make_room(sequence, k.shape[1])
        at = np.arange(start, end)
        blocks = np.array(self._tables[sequence])[at // self.block_size]
        self._keys[layer, blocks, :, at % self.block_size] = k.swapaxes(0, 1)
        self._values[layer, blocks, :, at % self.block_size] = v.swapaxes(0, 1)
        self._lengths[sequence][layer] = end
        ### END SOLUTION

    def read(self, layer: int, sequence: int) -> tuple[np.ndarray, np.ndarray]:
        """The keys and values that a layer holds of a sequence, each (G, S, d_h), oldest first."""
        ### BEGIN SOLUTION
        length, table = self._lengths[sequence][layer], self._tables[sequence]
        keys, values = self._keys[layer, table], self._values[layer, table]
        n_kv_heads, head_dim = keys.shape[1], keys.shape[3]
        return (
            keys.swapaxes(0, 1).reshape(n_kv_heads, -1, head_dim)[:, :length],
            values.swapaxes(0, 1).reshape(n_kv_heads, -1, head_dim)[:, :length],
        )
        ### END SOLUTION

    def truncate(self, sequence: int, length: int) -> None:
        """Keep the first `length` positions of a sequence; blocks without any go back.

        Raises:
            ValueError: length is negative, or more than the sequence has.
        """
        ### BEGIN SOLUTION
        if not 0 <= length <= self.length(sequence):
            raise ValueError(f"cannot truncate to {length}: it has {self.length(sequence)}")
        n_kept = -(-length // self.block_size)
        self._give_back(self._tables[sequence][n_kept:])
        self._tables[sequence] = self._tables[sequence][:n_kept]
        self._lengths[sequence] = [length] * len(self._keys)
        ### END SOLUTION

    def fork(self, sequence: int) -> int:
        """A new sequence with the same positions, which takes no block: it shares them all.

        Whoever writes into a shared block first copies it (copy on write), so that neither sees
        what the other appends.
        """
        ### BEGIN SOLUTION
        for block in self._tables[sequence]:
            self._owners[block] += 1
        return self._hold(list(self._tables[sequence]), list(self._lengths[sequence]))
        ### END SOLUTION

    def free(self, sequence: int) -> None:
        """Forget a sequence; a block goes back once no sequence holds it."""
        ### BEGIN SOLUTION
        self._give_back(self._tables.pop(sequence))
        del self._lengths[sequence]
        ### END SOLUTION

    ### BEGIN SOLUTION
    def _hold(self, table: list[int], lengths: list[int]) -> int:
        number, self._next = self._next, self._next + 1
        self._tables[number], self._lengths[number] = table, lengths
        return number

    def _take(self) -> int:
        block = self._free.pop()
        self._owners[block] = 1
        return block

    def _give_back(self, blocks: list[int]) -> None:
        for block in blocks:
            self._owners[block] -= 1
            if not self._owners[block]:
                self._free.append(block)

    def _make_room(self, sequence: int, count: int) -> None:
        """Take the blocks for `count` positions more, and make the last block its own."""
        needed = self.blocks_needed(sequence, count)
        if needed > self.n_free:
            raise ValueError(f"{count} positions take {needed} blocks, {self.n_free} are free")
        table, length = self._tables[sequence], self.length(sequence)
        if length < len(table) * self.block_size and self._owners[table[-1]] > 1:
            shared, table[-1] = table[-1], self._take()
            self._keys[:, table[-1]] = self._keys[:, shared]
            self._values[:, table[-1]] = self._values[:, shared]
            self._give_back([shared])
        while len(table) * self.block_size < length + count:
            table.append(self._take())

    ### END SOLUTION


def attention_in_tiles(
    q: np.ndarray,
    key_blocks: np.ndarray,
    value_blocks: np.ndarray,
    block_table: list[int],
    length: int,
) -> np.ndarray:
    """One query attends to `length` positions in blocks, one block at a time.

    No more than one block's scores are there at once: with a running maximum, the sum of weights
    and the weighted values are scaled down whenever a larger score comes (online softmax).

    Args:
        q: (H, d_h); query head h reads key/value head h // (H / G).
        key_blocks, value_blocks: one layer's pool, (n_blocks, G, block_size, d_h). Blocks of
            others, and places behind the last position, hold anything.
        block_table: the sequence's blocks in order, ceil(length / block_size) of them.
        length: how many positions there are, 1 or more.

    Returns:
        (H, d_h).

    Source: Milakov and Gimelshein 2018; Dao et al. 2022 §3.1; Kwon et al. 2023 §4.1.
    """
    ### BEGIN SOLUTION
    n_kv_heads, block_size, head_dim = key_blocks.shape[1:]
    grouped = q.reshape(n_kv_heads, -1, head_dim) / np.sqrt(head_dim)
    largest = np.full((*grouped.shape[:2], 1), -np.inf)
    total = np.zeros_like(largest)
    mixed = np.zeros(grouped.shape)
    for tile, block in enumerate(block_table):
        n_held = min(block_size, length - tile * block_size)
        scores = grouped @ key_blocks[block, :, :n_held].swapaxes(-1, -2)
        larger = np.maximum(largest, scores.max(axis=-1, keepdims=True))
        shrink, weights = np.exp(largest - larger), np.exp(scores - larger)
        total = total * shrink + weights.sum(axis=-1, keepdims=True)
        mixed = mixed * shrink + weights @ value_blocks[block, :, :n_held]
        largest = larger
    return (mixed / total).reshape(q.shape).astype(q.dtype)
    ### END SOLUTION


def quantize_blocks(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys or values as int8 with one scale a block and head: x is about scale * integer.

    The scale is the largest absolute value of the block's head over 127, so that the error of a
    number is half a scale at most; a head of zeros has a scale of 1.

    Args:
        blocks: (n_blocks, G, block_size, d_h).

    Returns:
        int8 of that shape between -127 and 127, and the scales (n_blocks, G) in the dtype of
        `blocks`.

    Source: Dettmers et al. 2022 §2 (absmax).
    """
    ### BEGIN SOLUTION
    largest = np.abs(blocks).max(axis=(2, 3))
    scales = np.where(largest > 0, largest / 127, 1).astype(blocks.dtype)
    return np.rint(blocks / scales[:, :, None, None]).astype(np.int8), scales
    ### END SOLUTION


def dequantize_blocks(integers: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """What quantize_blocks made (n_blocks, G, block_size, d_h) of, up to half a scale."""
    ### BEGIN SOLUTION
    return integers * scales[:, :, None, None]
    ### END SOLUTION
