# Generated from solution/paged_cache.py by `make assignment`; a change belongs there.
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
        raise NotImplementedError("Part 12.1 PagedKVCache.__init__: see PART12.md §12.1")

    @property
    def n_free(self) -> int:
        """How many blocks belong to no sequence."""
        raise NotImplementedError("Part 12.1 PagedKVCache.n_free: see PART12.md §12.1")

    @property
    def sequences(self) -> list[int]:
        """The numbers of the sequences that are held."""
        raise NotImplementedError("Part 12.1 PagedKVCache.sequences: see PART12.md §12.1")

    def add(self) -> int:
        """Begin an empty sequence, which has no block yet; its number, which no other ever had."""
        raise NotImplementedError("Part 12.1 PagedKVCache.add: see PART12.md §12.1")

    def length(self, sequence: int) -> int:
        """How many positions every layer holds of a sequence."""
        raise NotImplementedError("Part 12.1 PagedKVCache.length: see PART12.md §12.1")

    def block_table(self, sequence: int) -> list[int]:
        """The blocks of a sequence in the order of its positions: ceil(length / block_size)."""
        raise NotImplementedError("Part 12.1 PagedKVCache.block_table: see PART12.md §12.1")

    def blocks_needed(self, sequence: int, count: int) -> int:
        """How many free blocks an append of `count` >= 1 positions to all layers would take.

        One more than the length asks for where the first of them falls into a block that other
        sequences hold too: it is copied before it is written.
        """
        raise NotImplementedError("Part 12.1 PagedKVCache.blocks_needed: see PART12.md §12.1")

    def append(self, layer: int, sequence: int, k: np.ndarray, v: np.ndarray) -> None:
        """Write T >= 1 new positions of one layer behind those that it holds of a sequence.

        The layers are written in any order, each with the same number of positions. The first one
        takes the blocks for all of them.

        Args:
            k, v: (G, T, d_h).

        Raises:
            ValueError: too few blocks are free; nothing has changed then.
        """
        raise NotImplementedError("Part 12.1 PagedKVCache.append: see PART12.md §12.1")

    def read(self, layer: int, sequence: int) -> tuple[np.ndarray, np.ndarray]:
        """The keys and values that a layer holds of a sequence, each (G, S, d_h), oldest first."""
        raise NotImplementedError("Part 12.1 PagedKVCache.read: see PART12.md §12.1")

    def truncate(self, sequence: int, length: int) -> None:
        """Keep the first `length` positions of a sequence; blocks without any go back.

        Raises:
            ValueError: length is negative, or more than the sequence has.
        """
        raise NotImplementedError("Part 12.1 PagedKVCache.truncate: see PART12.md §12.1")

    def fork(self, sequence: int) -> int:
        """A new sequence with the same positions, which takes no block: it shares them all.

        Whoever writes into a shared block first copies it (copy on write), so that neither sees
        what the other appends.
        """
        raise NotImplementedError("Part 12.1 PagedKVCache.fork: see PART12.md §12.1")

    def free(self, sequence: int) -> None:
        """Forget a sequence; a block goes back once no sequence holds it."""
        raise NotImplementedError("Part 12.1 PagedKVCache.free: see PART12.md §12.1")


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
    raise NotImplementedError("Part 12.6 attention_in_tiles: see PART12.md §12.6")


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
    raise NotImplementedError("Part 12.7 quantize_blocks: see PART12.md §12.7")


def dequantize_blocks(integers: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """What quantize_blocks made (n_blocks, G, block_size, d_h) of, up to half a scale."""
    raise NotImplementedError("Part 12.8 dequantize_blocks: see PART12.md §12.8")
