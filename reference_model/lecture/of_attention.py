"""Tables of L2 §2 and D3: attention by experiment."""

from __future__ import annotations

import numpy as np

from reference_model.accounting import GROUPS, analytic_ops, total
from reference_model.config import ModelConfig
from reference_model.laboratory import causality, lookup, positions, recurrence, saturation
from reference_model.layers import softmax

from .table import Table, table, texts


@table("temperature")
def temperature() -> Table:
    logits = np.array([2, 1, 0])
    rows = [(t, *(f"{p:.3f}" for p in softmax(logits / t))) for t in (1, 0.5, 2)]
    return Table(
        "D3  Logits [2, 1, 0] at a temperature", ("T", "first", "second", "third"), texts(rows)
    )


@table("recurrence")
def recurrence_against_product() -> Table:
    ratio = recurrence.recurrence_ratio()
    return Table(
        "L2 §2.1  256 vectors of 256 numbers, one after another or at once",
        ("time one by one / at once",),
        texts([(ratio,)]),
        "The same FLOPs. The document measured 9 to 11; the ratio is the machine's.",
    )


@table("soft-lookup")
def soft_lookup() -> Table:
    rows = [
        (t, " ".join(f"{w:.2f}" for w in weights), f"{result:.1f}")
        for t, weights, result in lookup.lookup_table()
    ]
    return Table(
        "L2 §2.2  A query like key 2; values 10, 20, 30, 40, 50",
        ("temperature", "weights", "result"),
        texts(rows),
        "Low: a dictionary. High: the mean.",
    )


@table("saturation")
def softmax_saturation() -> Table:
    rows = [
        (
            r.dim,
            "/ sqrt(d)" if r.scaled else "none",
            f"{r.largest_weight:.2f}",
            f"{r.jacobian_norm:.2f}",
        )
        for r in saturation.saturation_table()
    ]
    return Table(
        "L2 §2.4  One query, 64 keys, means of 200",
        ("d", "scaling", "largest weight", "norm of the Jacobian"),
        texts(rows),
        "Unscaled scores of many dimensions leave one weight and no gradient.",
    )


@table("causal-leak")
def causal_leak() -> Table:
    rows: list[tuple[str, ...]] = []
    for masked in (True, False):
        change = causality.change_of_outputs(masked)
        rows.append(
            ("causal" if masked else "none", f"{change[:5].max():.2f}", f"{change[5:].max():.2f}")
        )
    return Table(
        "L2 §2.5  Token 6 of 12 is another: largest change of the outputs",
        ("mask", "before it", "from it on"),
        rows,
        "With the mask nothing before a token depends on it: keys and values can be kept.",
    )


@table("heads")
def heads() -> Table:
    rows = []
    for n_heads, n_kv_heads in ((1, 1), (8, 8), (16, 16), (64, 64), (8, 2), (8, 1)):
        config = ModelConfig("", 1, 512, n_heads, n_kv_heads, 512 // n_heads, 1, 2)
        ops = analytic_ops(config, 1, 1024, 0)
        projections = total(ops[name] for name in GROUPS["attention projections"])
        core = ops["attention"].flops
        kv = config.kv_bytes_per_token()
        rows.append((n_heads, n_kv_heads, projections.flops / 1e9, core / 1e9, kv))
    return Table(
        "L2 §2.6  d = 512, T = 1024, one layer",
        ("query heads", "K/V heads", "projections, GFLOP", "core, GFLOP", "KV bytes a token"),
        texts(rows),
        "Heads cost nothing; fewer K/V heads save bytes, not the core's FLOPs.",
    )


@table("positions")
def of_positions() -> Table:
    scores = positions.relative_scores()
    weights = positions.previous_token_weights()
    rows: list[tuple[str, ...]] = [
        (
            "(a) order of 10 tokens changed: outputs only follow",
            f"{positions.permutation_error():.0e}",
        ),
        ("(b) sinusoidal: position + 7 is one rotation", f"{positions.linearity_error():.0e}"),
        ("(c) q·k at (5, 2), (105, 102), (10005, 10002)", ", ".join(f"{s:.10f}" for s in scores)),
        (
            "(d) weight on the token before, at 3, 7 and 11",
            ", ".join(f"{weights[i, i - 1]:.3f}" for i in (3, 7, 11)),
        ),
    ]
    return Table("L2 §2.7  Positions", ("experiment", "result"), rows)
