"""Accounts of the attention core in a decode step: MHA, GQA, MQA and MLA (L2 §6)."""

from __future__ import annotations

from dataclasses import dataclass

from reference_model.config import MLAConfig

from .hardware import Hardware


@dataclass(frozen=True)
class CoreAccount:
    """One new token of one sequence in one layer.

    Attributes:
        flops: scores, weighted sum, and what is done to the cache before they can be computed.
        cache_bytes: read from the cache.
    """

    flops: int
    cache_bytes: int

    @property
    def intensity(self) -> float:
        """FLOPs per byte read."""
        return self.flops / self.cache_bytes

    def seconds(self, hardware: Hardware, batch: int = 1, n_layers: int = 1) -> tuple[float, float]:
        """(reading the cache, computing) in seconds."""
        times = batch * n_layers
        reading = times * self.cache_bytes / hardware.bandwidth
        return reading, times * self.flops / hardware.flops


def gqa_core(
    n_heads: int,
    n_kv_heads: int,
    key_dim: int,
    value_dim: int,
    context: int,
    bytes_per_number: int = 2,
) -> CoreAccount:
    """G = H is MHA, G = 1 is MQA; every head scores and sums for itself (L2 §6.1, §6.2)."""
    numbers = n_kv_heads * (key_dim + value_dim)
    flops = 2 * n_heads * (key_dim + value_dim) * context
    return CoreAccount(flops, numbers * context * bytes_per_number)


def mla_absorbed_core(config: MLAConfig, context: int, bytes_per_number: int = 2) -> CoreAccount:
    """Scores and sums in the latent space: the cache is d_c + d_R numbers a token (L2 §6.4).

    The two products that carry the query in and the result out do not grow with the context; they
    are counted.
    """
    c = config
    cached = c.latent_dim + c.rope_dim
    in_and_out = 2 * c.n_heads * c.latent_dim * (c.nope_dim + c.v_dim)
    flops = 2 * c.n_heads * (cached + c.latent_dim) * context + in_and_out
    return CoreAccount(flops, cached * context * bytes_per_number)


def mla_expanded_core(config: MLAConfig, context: int, bytes_per_number: int = 2) -> CoreAccount:
    """The same latent, expanded to every head's keys and values at every step (L2 §6.4, §9)."""
    c = config
    expand = 2 * c.latent_dim * c.n_heads * (c.nope_dim + c.v_dim)
    attend = 2 * c.n_heads * (c.nope_dim + c.rope_dim + c.v_dim)
    cached = c.latent_dim + c.rope_dim
    return CoreAccount((expand + attend) * context, cached * context * bytes_per_number)
