"""Tables of L2 §3.5 and §4: contractions, parameters, FLOPs, bytes, rooflines."""

from __future__ import annotations

from math import prod

import numpy as np

from reference_model.accounting import (
    GROUPS,
    H100,
    LLAMA31_8B,
    LLAMA31_70B,
    LLAMA31_405B,
    SMALL,
    CountedModel,
    Work,
    analytic_ops,
    attention_equals_matmuls,
    einsum_flops,
    layer_einsums,
    prefill_seconds,
    seconds,
    seconds_one_by_one,
    total,
)
from reference_model.config import ModelConfig, param_shapes
from reference_model.init import init_llama

from .table import Figure, Table, table, texts


@table("einsums")
def einsums() -> Table:
    config, tokens = LLAMA31_8B, 2048
    flops = {
        name: (spec, einsum_flops(spec, *shapes))
        for name, (spec, *shapes) in layer_einsums(config, tokens).items()
    }
    rows = texts((name, spec, f"{count / 1e9:.1f}") for name, (spec, count) in flops.items())
    whole = sum(count for _, count in flops.values())
    ops = analytic_ops(config, 1, tokens, 0)
    counted = (total(ops.values()).flops - ops["lm_head"].flops) // config.n_layers
    return Table(
        "L2 §3.5  A layer of Llama-3.1-8B as nine contractions, T = 2048",
        ("", "contraction", "GFLOP"),
        rows,
        f"Their sum {whole:,} is what the account of the whole model has for a layer: {counted:,}.",
        (Figure("the nine together", "962.1 GFLOP", whole / 1e9),),
    )


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
    of_layer = param_shapes(SMALL)
    sizes = {
        name: sum(prod(of_layer[f"layers.0.{w}"]) for w in GROUPS[name])
        for name in ("attention projections", "MLP")
    }
    big = LLAMA31_8B
    attention = big.n_layers * sum(
        prod(param_shapes(big)[f"layers.0.{w}"]) for w in GROUPS["attention projections"]
    )
    figures = (
        Figure("small model: attention, a layer", "40,960", sizes["attention projections"]),
        Figure("small model: MLP, a layer", "132,096", sizes["MLP"]),
        Figure("small model: all", "824,448", SMALL.n_params()),
        Figure("small model: multiplied", "757,760", SMALL.matmul_params()),
        Figure(
            "Llama-3.1-8B: lm_head", "6.5 %", 100 * big.vocab_size * big.d_model / big.n_params()
        ),
        Figure("Llama-3.1-8B: attention", "17 %", 100 * attention / big.n_params()),
    )
    return Table("L2 §4.2  Where the parameters are", columns, texts(rows), figures=figures)


def counted_step(
    config: ModelConfig, batch: int, new: int, past: int, seed: int = 0
) -> dict[str, Work]:
    """What the counter says of `new` tokens behind `past`, after the model has run them."""
    model = CountedModel(config, init_llama(config, seed))
    tokens = np.random.default_rng(seed).integers(config.vocab_size, size=(batch, past + new))
    if past:
        model.forward(tokens[:, :past])
    model.counter.reset()
    model.forward(tokens[:, past:])
    return model.counter.works


@table("one-pass")
def one_pass() -> Table:
    runs = {"prefill, B = 1, T = 128": (1, 128, 0), "decode, B = 8, 127 cached": (8, 1, 127)}
    rows: list[tuple[object, ...]] = []
    for name, sizes in runs.items():
        for how, ops in (
            ("counted", counted_step(SMALL, *sizes)),
            ("formula", analytic_ops(SMALL, *sizes)),
        ):
            whole, core = total(ops.values()), ops["attention"]
            rows.append(
                (name, how, whole.useful_flops, core.flops, whole.weight_bytes, whole.kv_bytes)
            )
    prefill = analytic_ops(SMALL, 1, 128, 0)
    elementwise = total(prefill[name] for name in GROUPS["elementwise"]).bytes
    mlp = total(prefill[name] for name in GROUPS["MLP"]).weight_bytes
    core = prefill["attention"]
    return Table(
        "L2 §4.3  The small model, counted while it runs and by formula",
        ("", "", "FLOPs", "core, masked too", "weight bytes", "KV bytes"),
        texts(rows),
        "Equal to the last digit. The core computes about twice what the mask lets count.",
        (
            Figure("prefill: elementwise bytes", "2.76 MB", elementwise / 1e6),
            Figure("prefill: the MLP's weights", "1.06 MB", mlp / 1e6),
            Figure(
                "prefill: FLOPs of the core, over useful", "2 times", core.flops / core.useful_flops
            ),
        ),
    )


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
    plain = ModelConfig("", 1, 4096, 32, 32, 128, 4 * 4096, 1)
    return Table(
        "L2 §4.4  Attention core's share of a token's FLOPs",
        ("model", "equal at a context of", *(f"{context:,}" for context in contexts)),
        texts(rows),
        "MHA with F = 4 D, without a vocabulary, gets there at T = 8 D: 2·(4 + 12)·D² FLOPs in the "
        "matrices, 4·D·T in the core.",
        (
            *(
                Figure(f"{config.name}: equal at", text, attention_equals_matmuls(config))
                for config, text in (
                    (LLAMA31_8B, "28,628 tokens"),
                    (LLAMA31_70B, "53,026 tokens"),
                    (LLAMA31_405B, "97,789 tokens"),
                )
            ),
            Figure("T > ? D, MHA with F = 4 D", "8 D", attention_equals_matmuls(plain) / 4096),
        ),
    )


def _roofline(
    title: str, batch: int, new: int, past: int, note: str = "", figures: tuple[Figure, ...] = ()
) -> Table:
    ops = analytic_ops(LLAMA31_8B, batch, new, past, last_only=True)
    rows = []
    for name, members in GROUPS.items():
        work = total(ops[member] for member in members)
        bound = "arithmetic" if work.intensity > H100.ridge else "memory"
        time = f"{_milliseconds(ops, name):.2f}"
        rows.append((name, work.useful_flops / 1e9, work.bytes / 1e9, work.intensity, bound, time))
    columns = ("", "GFLOP", "GB", "FLOP/byte", "bound by", "ms")
    return Table(title, columns, texts(rows), note, figures)


def _milliseconds(ops: dict[str, Work], group: str) -> float:
    return 1e3 * sum(seconds(ops[member], H100) for member in GROUPS[group])


@table("prefill")
def prefill() -> Table:
    ops = analytic_ops(LLAMA31_8B, 1, 2048, 0, last_only=True)
    apart = 1e3 * seconds_one_by_one(ops, H100)
    whole = 1e3 * prefill_seconds(LLAMA31_8B, 2048, H100)
    c = LLAMA31_8B
    writing = 1e3 * 2048 * c.kv_bytes_per_token() / H100.bandwidth
    note = (
        f"One by one {apart:.1f} ms, as one roofline {whole:.1f} ms. "
        f"With writing K and V as an operation of its own {apart + writing:.2f} ms."
    )
    head = analytic_ops(LLAMA31_8B, 1, 2048, 0)["lm_head"]
    why = "Writing K and V is part of their products here. As an operation of its own it takes {}."
    figures = (
        Figure("ridge of an H100", "295 FLOP/byte", H100.ridge),
        Figure("one by one", "34.1 ms", apart, why.format(f"{writing:.3f} ms more: 34.10")),
        Figure("the same, with K and V written for themselves", "34.1 ms", apart + writing),
        Figure("as one roofline", "32.2 ms", whole),
        Figure("one by one, over one roofline", "6 %", 100 * (apart / whole - 1)),
        Figure("elementwise", "3.69 ms", _milliseconds(ops, "elementwise")),
        Figure("lm_head for each token of the prompt", "2.2 ms", 1e3 * seconds(head, H100)),
        *(
            Figure(f"{name}: bytes", text, ops[name].bytes / 1e9)
            for name, text in (
                ("swiglu", "5.64 GB"),
                ("residual", "3.22 GB"),
                ("norm", "2.15 GB"),
                ("rope", "1.34 GB"),
            )
        ),
        Figure(
            "elementwise: bytes",
            "12.35 GB",
            total(ops[name] for name in GROUPS["elementwise"]).bytes / 1e9,
        ),
    )
    title = "L2 §4.5  Prefill of 2048 tokens, Llama-3.1-8B, H100"
    return _roofline(title, 1, 2048, 0, note, figures)


@table("decode-alone")
def decode_alone() -> Table:
    ops = analytic_ops(LLAMA31_8B, 1, 1, 2047, last_only=True)
    figures = tuple(
        Figure(name, text, _milliseconds(ops, name))
        for name, text in (
            ("MLP", "3.37 ms"),
            ("attention projections", "0.80 ms"),
            ("lm_head", "0.31 ms"),
        )
    )
    return _roofline("L2 §4.5  Decode step, batch 1, context 2048", 1, 1, 2047, figures=figures)


@table("decode-batch")
def decode_batch() -> Table:
    ops = analytic_ops(LLAMA31_8B, 64, 1, 2047, last_only=True)
    core, whole = ops["attention"], total(ops.values())
    share = 100 * core.useful_flops / whole.useful_flops
    mlp = total(ops[name] for name in GROUPS["MLP"])
    note = (
        "The core's intensity stays at R = 4, and reading KV takes longer than the MLP: "
        f"with {share:.0f} % of the FLOPs it is the longest item (pitfall 8)."
    )
    figures = (
        Figure("attention core", "5.1 ms", _milliseconds(ops, "attention core")),
        Figure("MLP", "3.4 ms", _milliseconds(ops, "MLP")),
        Figure("core's share of the FLOPs", "7 %", share),
        Figure("core's intensity", "4.0 FLOP/byte", core.intensity),
        Figure(
            "MLP's intensity",
            "60 FLOP/byte",
            mlp.intensity,
            "“About 60”, with activations counted.",
        ),
    )
    return _roofline("L2 §4.5  Decode step, batch 64, context 2048", 64, 1, 2047, note, figures)
