"""Tables of L2 §4: parameters, FLOPs, bytes, rooflines."""

from __future__ import annotations

from reference_model.accounting import (
    GROUPS,
    H100,
    LLAMA31_8B,
    LLAMA31_70B,
    LLAMA31_405B,
    SMALL,
    analytic_ops,
    attention_equals_matmuls,
    prefill_seconds,
    seconds,
    seconds_one_by_one,
    total,
)
from reference_model.config import param_shapes

from .table import Table, table, texts


@table("parameters")
def parameters() -> Table:
    rows = []
    for config in (SMALL, LLAMA31_8B, LLAMA31_70B, LLAMA31_405B):
        sizes = {name: a * b for name, (a, *rest) in param_shapes(config).items() for b in rest}
        shares = [
            sum(size for name, size in sizes.items() if name.endswith(ending))
            for ending in (GROUPS["attention projections"], GROUPS["MLP"], ("embedding", "lm_head"))
        ]
        n = config.n_params()
        rows.append(
            (config.name, n, config.matmul_params(), *(f"{share / n:.1%}" for share in shares))
        )
    columns = ("model", "parameters", "multiplied", "attention", "MLP", "vocabulary")
    return Table("L2 §4.2  Where the parameters are", columns, texts(rows))


@table("attention-share")
def attention_share() -> Table:
    contexts = (1024, 8192, 32768, 131072)
    rows = []
    for config in (LLAMA31_8B, LLAMA31_70B, LLAMA31_405B):
        shares = []
        for context in contexts:
            ops = analytic_ops(config, 1, 1, context - 1)
            share = ops["attention"].useful_flops / total(ops.values()).useful_flops
            shares.append(f"{share:.0%}")
        rows.append((config.name, round(attention_equals_matmuls(config)), *shares))
    return Table(
        "L2 §4.4  Attention core's share of a token's FLOPs",
        ("model", "equal at a context of", *(f"{context:,}" for context in contexts)),
        texts(rows),
    )


def _roofline(title: str, batch: int, new: int, past: int, note: str = "") -> Table:
    ops = analytic_ops(LLAMA31_8B, batch, new, past, last_only=True)
    rows = []
    for name, members in GROUPS.items():
        work = total(ops[member] for member in members)
        time = 1e3 * sum(seconds(ops[member], H100) for member in members)
        bound = "arithmetic" if work.intensity > H100.ridge else "memory"
        rows.append(
            (name, work.useful_flops / 1e9, work.bytes / 1e9, work.intensity, bound, f"{time:.2f}")
        )
    columns = ("", "GFLOP", "GB", "FLOP/byte", "bound by", "ms")
    return Table(title, columns, texts(rows), note)


@table("prefill")
def prefill() -> Table:
    ops = analytic_ops(LLAMA31_8B, 1, 2048, 0, last_only=True)
    apart, whole = seconds_one_by_one(ops, H100), prefill_seconds(LLAMA31_8B, 2048, H100)
    note = f"One by one {1e3 * apart:.1f} ms, as one roofline {1e3 * whole:.1f} ms."
    return _roofline("L2 §4.5  Prefill of 2048 tokens, Llama-3.1-8B, H100", 1, 2048, 0, note)


@table("decode-alone")
def decode_alone() -> Table:
    return _roofline("L2 §4.5  Decode step, batch 1, context 2048", 1, 1, 2047)


@table("decode-batch")
def decode_batch() -> Table:
    note = "The core's intensity stays at R = 4, and reading KV takes longer than the MLP."
    return _roofline("L2 §4.5  Decode step, batch 64, context 2048", 64, 1, 2047, note)
