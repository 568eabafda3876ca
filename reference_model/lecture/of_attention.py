"""Tables of D3 and L2 §2: attention by hand and by experiment."""

from __future__ import annotations

import numpy as np

from reference_model.accounting import GROUPS, LLAMA2_7B, analytic_ops, total
from reference_model.config import ModelConfig
from reference_model.laboratory import one_head, positions
from reference_model.layers import attention, attention_weights, causal_mask, softmax

from .table import Figure, Table, table, texts

BY_HAND = {
    "q": np.array([[0.0, 1], [1, 1], [1, 0]]),
    "k": np.array([[1.0, 0], [0, 1], [1, 1]]),
    "v": np.array([[10.0, 0], [0, 10], [5, 5]]),
}


@table("temperature")
def temperature() -> Table:
    rows = {t: softmax(np.array([2, 1, 0]) / t) for t in (1, 0.5, 2)}
    printed = {
        1: ("0.665", "0.245", "0.090"),
        0.5: ("0.867", "0.117", "0.016"),
        2: ("0.506", "0.307", "0.186"),
    }
    figures = [
        Figure(f"T = {t}, token {i + 1}", printed[t][i], float(p))
        for t, row in rows.items()
        for i, p in enumerate(row)
    ]
    return Table(
        "D3  Logits [2, 1, 0] at a temperature",
        ("T", "first", "second", "third"),
        texts((t, *(f"{p:.3f}" for p in row)) for t, row in rows.items()),
        figures=tuple(figures),
    )


@table("by-hand")
def by_hand() -> Table:
    q, k, v = BY_HAND.values()
    mask = causal_mask(3, 3)
    weights, outputs = attention_weights(q, k, mask), attention(q, k, v, mask)
    scores = q[2] @ k.T / np.sqrt(2)
    rounds = (
        "The document rounds the weights to 0.4, 0.2, 0.4 first; its code prints 6.02 and 3.98."
    )
    return Table(
        "D3  Three tokens, one head of width 2",
        ("token", "weights", "output"),
        [
            (f"{i + 1}", " ".join(f"{w:.3f}" for w in row), " ".join(f"{o:.4f}" for o in out))
            for i, (row, out) in enumerate(zip(weights, outputs, strict=True))
        ],
        figures=(
            Figure("token 3's scaled score", "0.71", scores[0]),
            Figure("its exponential", "2.03", float(np.exp(scores[0]))),
            Figure("their sum", "5.06", float(np.exp(scores).sum())),
            Figure("token 3's weight on token 1", "0.40", weights[2, 0]),
            Figure("token 3's output, first number", "6.00", outputs[2, 0], rounds),
            Figure("token 3's output, second number", "4.00", outputs[2, 1], rounds),
        ),
    )


@table("shapes")
def shapes() -> Table:
    """D3's two tables: one head of Llama-2-7B, in a prefill and in the decode step behind it."""
    d, width, prompt = LLAMA2_7B.d_model, LLAMA2_7B.head_dim, 2000
    rows = []
    for name, new, seen in (("prefill", prompt, prompt), ("decode", 1, prompt + 1)):
        steps = ((new, d), (new, width), (seen, width), (new, seen), (new, width), (new, d))
        rows.append((name, *(f"{a:,} × {b:,}" for a, b in steps)))
    cells = prompt**2
    core = analytic_ops(LLAMA2_7B, 1, prompt, 0)["attention"].useful_flops
    return Table(
        "D3  Llama-2-7B, a prompt of 2,000 tokens and the step behind it",
        ("", "x", "q of a head", "k and v", "weights", "head", "after W_o"),
        rows,
        f"Weights of all heads and layers: {cells * 32 * 32:,}.",
        (
            Figure("W_q of one head", "524,288", d * width),
            Figure("W_q of all heads", "16.8 M", d * d / 1e6),
            Figure("the four matrices", "67.1 M", 4 * d * d / 1e6),
            Figure("entries of a head's attention matrix", "4 M", cells / 1e6),
            Figure(
                "FLOPs of the core, by D3's 2·L·n²·d",
                "1.0486 TFLOP",
                core / 1e12,
                "A token sees itself: n (n + 1) / 2 pairs and not n² / 2.",
            ),
        ),
    )


@table("layer-types")
def layer_types() -> Table:
    """Vaswani et al. 2017, Table 1, in numbers: d = 512, kernel 3, a neighbourhood of 16."""
    d, kernel, near = 512, 3, 16

    def row(name, order, count, steps, path):
        millions = [f"{count(n) / 1e6:,.1f}" for n in (50, 512, 8192)]
        return (name, order, *millions, steps, path)

    return Table(
        "L2 §2.1  Kinds of layers (Vaswani et al. 2017, Table 1), d = 512",
        ("layer", "operations", "n = 50, M", "n = 512, M", "n = 8,192, M", "steps", "path"),
        [
            row("self-attention", "n²·d", lambda n: n * n * d, "1", "1"),
            row("recurrent", "n·d²", lambda n: n * d * d, "n", "n"),
            row("convolution, k = 3", "k·n·d²", lambda n: kernel * n * d * d, "1", "log_k n"),
            row("self-attention, r = 16", "r·n·d", lambda n: near * n * d, "1", "n / r"),
        ],
        "Attention is the cheaper one while n < d. What it gains is one step and one path: see "
        "`recurrence` for what the steps cost. The last row is today's sliding window.",
    )


@table("recurrence")
def recurrence_against_product() -> Table:
    ratio = one_head.recurrence_ratio()
    return Table(
        "L2 §2.1  256 vectors of 256 numbers, one after another or at once",
        ("time one by one / at once",),
        texts([(ratio,)]),
        "The same FLOPs, on one thread. The ratio is the machine's.",
        (Figure("time one by one, over at once", "10 times", None, "9 to 11 there; a clock's."),),
    )


@table("soft-lookup")
def soft_lookup() -> Table:
    rows = [
        (t, " ".join(f"{w:.2f}" for w in weights), f"{result:.1f}")
        for t, weights, result in one_head.lookup_table()
    ]
    return Table(
        "L2 §2.2  A query like key 2; values 10, 20, 30, 40, 50",
        ("temperature", "weights", "result"),
        texts(rows),
        "Low: a dictionary. High: the mean.",
    )


@table("saturation")
def softmax_saturation() -> Table:
    made = one_head.saturation_table()
    rows = [
        (
            r.dim,
            "/ sqrt(d)" if r.scaled else "none",
            f"{r.largest_weight:.2f}",
            f"{r.jacobian_norm:.2f}",
        )
        for r in made
    ]
    unscaled = {r.dim: r for r in made if not r.scaled}
    drawn = "Drawn vectors; five draws give {}."
    return Table(
        "L2 §2.4  One query, 64 keys, means of 200",
        ("d", "scaling", "largest weight", "norm of the Jacobian"),
        texts(rows),
        "Unscaled scores of many dimensions leave one weight and no gradient.",
        (
            Figure(
                "largest weight at d = 1024, unscaled",
                "0.96",
                unscaled[1024].largest_weight,
                drawn.format("0.938 to 0.952"),
                drawn=True,
            ),
            Figure(
                "norm of the Jacobian at d = 16, unscaled",
                "0.30",
                unscaled[16].jacobian_norm,
                "The document does not say at which small d.",
                drawn=True,
            ),
            Figure(
                "the same at d = 1024",
                "0.06",
                unscaled[1024].jacobian_norm,
                drawn.format("0.061 to 0.081"),
                drawn=True,
            ),
        ),
    )


@table("causal-leak")
def causal_leak() -> Table:
    rows: list[tuple[str, ...]] = []
    for masked in (True, False):
        change = one_head.change_of_outputs(masked)
        rows.append(
            ("causal" if masked else "none", f"{change[:5].max():.2f}", f"{change[5:].max():.2f}")
        )
    before = float(one_head.change_of_outputs(False)[:5].max())
    return Table(
        "L2 §2.5  Token 6 of 12 is another: largest change of the outputs",
        ("mask", "before it", "from it on"),
        rows,
        "With the mask nothing before a token depends on it: keys and values can be kept.",
        (
            Figure(
                "largest change before it, without a mask",
                "0.80",
                before,
                "Of drawn vectors: 200 draws give 0.11 to 1.92. With the mask it is 0 in each.",
                drawn=True,
            ),
        ),
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
    before = [float(weights[i, i - 1]) for i in (3, 7, 11)]
    rows: list[tuple[str, ...]] = [
        (
            "(a) order of 10 tokens changed: outputs only follow",
            f"{positions.permutation_error():.0e}",
        ),
        ("(b) sinusoidal: position + 7 is one rotation", f"{positions.linearity_error():.0e}"),
        ("(c) q·k at (5, 2), (105, 102), (10005, 10002)", ", ".join(f"{s:.10f}" for s in scores)),
        ("(d) weight on the token before, at 3, 7 and 11", ", ".join(f"{w:.3f}" for w in before)),
    ]
    return Table(
        "L2 §2.7  Positions",
        ("experiment", "result"),
        rows,
        figures=(
            *(
                Figure(f"q·k at {pair}", "3.6432231984", score)
                for pair, score in zip(
                    ("(5, 2)", "(105, 102)", "(10005, 10002)"), scores, strict=True
                )
            ),
            Figure(
                "weight on the token before",
                "above 0.98",
                min(before),
                "Another sharpness of the head; the document gives a bound.",
            ),
        ),
    )
