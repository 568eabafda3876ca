"""Tables of L2 §5 and §6: the cache, batches, and attention made for inference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reference_model.accounting import (
    DEEPSEEK_V3_ATTENTION,
    H100,
    LLAMA2_7B,
    LLAMA31_8B,
    LLAMA31_70B,
    LLAMA31_405B,
    SMALL,
    analytic_ops,
    decode_intensity,
    decode_intensity_cap,
    decode_step_seconds,
    einsum_flops,
    generation_flops,
    generation_passes,
    gqa_core,
    gqa_intensity,
    mla_absorbed_core,
    mla_expanded_core,
    total,
)
from reference_model.config import ModelConfig
from reference_model.laboratory import decoding, pooling
from reference_model.layers import attention as attention_of
from reference_model.word2vec import training_cost

from .of_accounts import counted_step
from .table import Figure, Table, table, texts


@table("decode-correctness")
def decode_correctness() -> Table:
    rows = []
    for run in decoding.decode_table():
        errors = [f"{run.errors[step]:.0e}" for step in (0, 1, 2, -1)]
        rows.append((run.name, *errors, f"{run.same_tokens} of {len(run.errors)}"))
    columns = ("decode", "step 0", "step 1", "step 2", "last step", "steps with the right tokens")
    note = "Neither bug raises anything, and step 0 is right in both."
    return Table("L2 §5.3  Largest error of the logits against a recompute", columns, rows, note)


@table("what-a-cache-saves")
def what_a_cache_saves() -> Table:
    runs = [decoding.saving(n_tokens) for n_tokens in (16, 64, 256)]
    rows = [(run.n_tokens, run.flops_ratio, run.time_ratio) for run in runs]
    without, cached = (generation_flops(LLAMA31_8B, 1000, 8000, c) for c in (False, True))
    executed = _executed(LLAMA31_8B, 1000, 8000, False) / _executed(LLAMA31_8B, 1000, 8000, True)
    note = (
        "On one thread. Time gains less than FLOPs: one vector at a time uses a machine badly. "
        f"Llama-3.1-8B, 1000 + 8000 tokens: {without / cached:,.0f} times the FLOPs; "
        f"{executed:,.0f} times with those that the mask hides."
    )
    return Table(
        "L2 §5.4  Without a cache / with one, prompt of 64 tokens",
        ("tokens", "FLOPs", "time"),
        texts(rows),
        note,
        (
            Figure("FLOPs at 256 tokens", "139 times", runs[-1].flops_ratio),
            Figure("time at 256 tokens", "45 times", None, "A clock's; the trend is the point."),
            Figure(
                "FLOPs of Llama-3.1-8B, 1000 + 8000 tokens",
                "4,200 times",
                without / cached,
                "“About”. Useful FLOPs and lm_head for every token, as in exercise 6, whose three "
                f"figures come out; with those that the mask hides {executed:,.0f}.",
            ),
        ),
    )


def _executed(config: ModelConfig, prompt: int, new_tokens: int, cached: bool) -> int:
    passes = generation_passes(prompt, new_tokens, cached)
    return sum(total(analytic_ops(config, 1, *sizes).values()).flops for sizes in passes)


@table("kv-memory")
def kv_memory() -> Table:
    rows = []
    for config in (LLAMA31_8B, LLAMA31_70B, LLAMA31_405B):
        per_token, weights = config.kv_bytes_per_token(), 2 * config.n_params()
        at_128k = 131_072 * per_token / 1e9
        rows.append((config.name, per_token / 1024, weights / 1e9, weights // per_token, at_128k))
    columns = ("model", "KiB a token", "weights, GB", "tokens as large as the weights", "128K, GB")
    figures = (
        Figure("Llama-3.1-8B: a token", "128 KiB", rows[0][1]),
        Figure(
            "Llama-3.1-8B: tokens as large as the weights",
            "120,000 tokens",
            rows[0][3],
            "“About 12 万”, rounded there.",
        ),
        Figure(
            "8 sequences of 128K, over the weights",
            "8 times",
            8 * rows[0][4] / rows[0][2],
            "“More than 8 times”.",
        ),
    )
    return Table("L2 §5.5  KV cache in BF16", columns, texts(rows), figures=figures)


@table("small-batches")
def small_batches() -> Table:
    """Counted while the small model runs: the new token is the 128th."""
    rows = []
    for batch in (1, 4, 16, 64):
        work = total(counted_step(SMALL, batch, 1, 127).values())
        per_byte = work.useful_flops / (work.weight_bytes + work.kv_bytes)
        rows.append(
            (batch, work.useful_flops / 1e6, work.weight_bytes / 1e6, work.kv_bytes / 1e6, per_byte)
        )
    cap = decode_intensity_cap(SMALL, 128)
    note = f"Weights are read once, KV once a sequence: at most {cap:.1f}."
    title = "L2 §5.6  Decode steps of the small model as they run, context 128"
    return Table(title, ("batch", "MFLOP", "weights, MB", "KV, MB", "FLOP/byte"), texts(rows), note)


@table("batched-decode")
def batched_decode() -> Table:
    rows = []
    for batch in (1, 16, 64, 256, 1024):
        step = decode_step_seconds(LLAMA31_8B, batch, 4096, H100)
        intensity = decode_intensity(LLAMA31_8B, batch, 4096)
        rows.append((batch, intensity, 1e3 * step, round(batch / step)))
    cap = decode_intensity_cap(LLAMA31_8B, 4096)
    note = f"The intensity's cap f / k is {cap:.1f}."
    title = "L2 §5.6  Llama-3.1-8B on an H100, context 4096"
    last, before = rows[-1], rows[-2]
    figures = (
        Figure("cap", "32 FLOP/byte", cap),
        Figure("batch 1024: intensity", "31.1 FLOP/byte", last[1]),
        Figure("batch 1024: a step", "169 ms", last[2]),
        Figure("batch 1024: speed", "6,074 tok/s", last[3]),
        Figure("its gain over batch 256", "8 %", 100 * (last[3] / before[3] - 1)),
    )
    columns = ("batch", "FLOP/byte", "step, ms", "tokens/s")
    return Table(title, columns, texts(rows), note, figures)


@table("bytes-per-flop")
def bytes_per_flop() -> Table:
    """Shazeer 2019, §2.4 and §3: numbers moved for each multiply-add of an attention layer."""
    d, n_heads = 1024, 16
    rows = []
    for batch, context in ((1, 128), (64, 128), (1024, 128), (1024, 1024), (1024, 8192)):
        moved = [
            _moved_per_multiply_add(
                ModelConfig("", 1, d, n_heads, groups, 64, 1, 2), batch, context
            )
            for groups in (n_heads, 1)
        ]
        rules = [context / d / shared + 1 / batch for shared in (1, n_heads)]
        rows.append((batch, context, moved[0], rules[0], moved[1], rules[1]))
    return Table(
        "L2 §6.1  Numbers moved for each multiply-add, a layer of d = 1024 with 16 heads",
        ("batch b", "context n", "MHA", "n/d + 1/b", "MQA", "n/(d h) + 1/b"),
        texts(rows),
        "Θ(n/d + 1/b): the paper's orders, without constants. A batch presses 1/b; only fewer K/V "
        "heads press n/d. Where n is far above d the core's own multiply-adds, which Θ leaves out, "
        "hold MHA's ratio at 1.",
    )


def _moved_per_multiply_add(config: ModelConfig, batch: int, context: int) -> float:
    ops = analytic_ops(config, batch, 1, context - 1)
    work = total(ops[name] for name in ("w_q", "w_k", "w_v", "attention", "w_o"))
    return (work.bytes / 2) / (work.useful_flops / 2)


@table("small-groups")
def small_groups() -> Table:
    rows = []
    for groups in (8, 4, 2, 1):
        config = replace(SMALL, n_kv_heads=groups)
        core = counted_step(config, 16, 1, 127)["attention"]
        per_byte = core.useful_flops / core.kv_bytes
        kv = config.kv_bytes_per_token()
        rows.append((groups, 8 // groups, config.n_params(), kv, core.kv_bytes / 1e6, per_byte))
    return Table(
        "L2 §6.2  The small model with H = 8 and other G, as it runs: batch 16, context 128",
        ("groups G", "R = H / G", "parameters", "KV bytes a token", "KV read, MB", "FLOP/byte"),
        texts(rows),
        "The core's intensity is R, exactly. The model hardly gets smaller.",
    )


@table("gqa-intensity")
def intensity_of_groups() -> Table:
    rows = [(s, f"{gqa_intensity(8, s):.2f}") for s in (128, 1024, 32768)]
    figures = tuple(
        Figure(f"S = {s:,}", text, gqa_intensity(8, s))
        for s, text in ((128, "7.53"), (1024, "7.94"), (32768, "8.00"))
    )
    title = "L2 exercise 4  S R / (R + S), R = 8"
    return Table(title, ("context S", "FLOP/byte"), texts(rows), figures=figures)


@table("mean-pooling")
def mean_pooling() -> Table:
    results = pooling.pooling_table()
    groups = sorted({result.n_kv_heads for result in results}, reverse=True)
    rows = []
    for correlation in sorted({result.correlation for result in results}, reverse=True):
        of_row = {r.n_kv_heads: r for r in results if r.correlation == correlation}
        cells = [f"{of_row[g].kl:.3f} / {of_row[g].agreement:.0%}" for g in groups]
        rows.append((f"{correlation:.1f}", *cells))
    columns = ("correlation of the heads", *(f"8 → {g}" for g in groups))
    note = (
        "Exact where the heads of a group are the same; else training must mend it. Published, "
        "after 5 % of the training again (Ainslie et al. 2023): T5-XXL with MHA 1.51 ms and 47.2 "
        "points, GQA-8 0.28 ms and 47.1, MQA 0.24 ms and 46.6."
    )
    return Table("L2 §6.3  Mean pooling: KL / same likeliest token", columns, rows, note)


@table("mla")
def latent_attention() -> Table:
    context = 32_768
    accounts = {
        "MHA": gqa_core(128, 128, 192, 128, context),
        "MLA, expanded at each step": mla_expanded_core(DEEPSEEK_V3_ATTENTION, context),
        "MLA, absorbed": mla_absorbed_core(DEEPSEEK_V3_ATTENTION, context),
    }
    rows = [(n, a.cache_bytes / 1e6, a.flops / 1e9, a.intensity) for n, a in accounts.items()]
    title = "L2 §6.4  One token, one layer, context 32,768, DeepSeek-V3's sizes"
    mha, expanded, absorbed = accounts.values()
    figures = (
        Figure("numbers a token and layer", "576", 512 + 64),
        Figure("MHA's bytes, over absorbed", "71 times", mha.cache_bytes / absorbed.cache_bytes),
        Figure("absorbed FLOPs, over MHA's", "3.4 times", absorbed.flops / mha.flops),
        Figure(
            "absorbed: intensity",
            "240 FLOP/byte",
            absorbed.intensity,
            "“About”. With the products that carry the query in and the result out; 241.8 without.",
        ),
        Figure(
            "expanded FLOPs, over MHA's",
            "100 times",
            expanded.flops / mha.flops,
            "“Hundreds of times”; over the absorbed core it is "
            f"{expanded.flops / absorbed.flops:.0f} times.",
        ),
    )
    return Table(title, ("", "cache read, MB", "GFLOP", "FLOP/byte"), texts(rows), figures=figures)


@table("variants")
def four_variants() -> Table:
    context, n_layers, batch = 32_768, 61, 32
    cores = {
        "MHA": gqa_core(128, 128, 128, 128, context),
        "GQA, 8 groups": gqa_core(128, 8, 128, 128, context),
        "MQA": gqa_core(128, 1, 128, 128, context),
        "MLA": mla_absorbed_core(DEEPSEEK_V3_ATTENTION, context),
    }
    rows = []
    for name, core in cores.items():
        reading, computing = core.seconds(H100, batch, n_layers)
        of_sequence = n_layers * core.cache_bytes / 1e9
        rows.append((name, of_sequence, 1e3 * reading, 1e3 * computing, core.intensity))
    columns = ("", "KV of a sequence, GB", "reading, ms", "computing, ms", "FLOP/byte")
    figures = (
        Figure("MHA: KV of a sequence", "131 GB", rows[0][1]),
        Figure("MLA, in groups of GQA", "2.25 groups", (512 + 64) / (2 * 128)),
        Figure(
            "MLA computes, over the others",
            "4 times",
            rows[3][3] / rows[0][3],
            "“More than 4 times”.",
        ),
    )
    note = (
        "MLA's latent belongs to all heads: tensor parallelism, which deals heads out to devices, "
        "cannot cut it, and each would hold all of it. So MLA is dealt out by sequences."
    )
    title = "L2 §6.5  61 layers, 128 heads, batch 32, H100"
    return Table(title, columns, texts(rows), note, figures)


@table("exercises")
def exercises() -> Table:
    """The exercises of L2 that a number answers, and D3's; what no table above has."""
    first = ModelConfig("q1", 64, 4096, 32, 32, 128, 16384, 32000)
    attention = 64 * 4 * 4096**2
    costs = {"window": 5, "dim": 300, "n_negative": 15}
    negative = training_cost("skip-gram, negative sampling", **costs)
    softmax = training_cost("skip-gram, full softmax", **costs)
    cached, without = (generation_flops(LLAMA31_8B, 2000, 2000, c) for c in (True, False))
    latent, mha = DEEPSEEK_V3_ATTENTION.kv_bytes_per_token(), 2 * 61 * 128 * 128 * 2
    keys = LLAMA31_70B.kv_bytes_per_token(1) * 4 * 131_072 / 1e9
    by_hand = attention_of(
        np.array([[0.0, 2]]) * np.sqrt(2),
        np.array([[1.0, 0], [0, 1], [1, 0]]),
        np.array([[2.0, 0], [0, 2], [4, 4]]),
    )[0]
    figures = (
        Figure("L2 1: parameters", "17.44 B", first.n_params() / 1e9),
        Figure("L2 1: attention", "24.6 %", 100 * attention / first.n_params()),
        Figure("L2 1: KV of a token in int8", "512 KiB", first.kv_bytes_per_token(1) / 1024),
        Figure("L2 2: negative sampling", "25,500", negative),
        Figure("L2 2: full softmax", "1.5 × 10⁹", softmax / 1e9),
        Figure("L2 2: ratio", "60,000 times", softmax / negative, "“About 6 万”."),
        Figure(
            "L2 3: FLOPs",
            "80,640",
            einsum_flops("ijkl,ijmno->klmno", (2, 3, 4, 5), (2, 3, 6, 7, 8)),
        ),
        Figure("L2 5: KV in FP8", "85.9 GB", keys),
        Figure("L2 5: KV in BF16", "171.8 GB", 2 * keys),
        Figure("L2 5: weights in FP8", "70.6 GB", LLAMA31_70B.n_params() / 1e9),
        Figure("L2 6: with a cache", "64.2 TFLOP", cached / 1e12),
        Figure("L2 6: without", "94.9 PFLOP", without / 1e15),
        Figure("L2 6: ratio", "1,480 times", without / cached, "“About”, rounded there."),
        Figure("L2 7: MLA, BF16", "68.6 KiB", latent / 1024),
        Figure("L2 7: MLA, FP8", "34.3 KiB", latent / 2048),
        Figure("L2 7: MHA, BF16", "3.81 MiB", mha / 2**20),
        Figure("L2 7: ratio", "57 times", mha / latent),
        Figure("D3 3: q of a head", "128", LLAMA2_7B.d_model // LLAMA2_7B.n_heads),
        Figure("D3 4: entries", "16 times", (4000 / 1000) ** 2),
        Figure("D3 7: first number", "0.64", by_hand[0]),
        Figure("D3 7: second number", "2.00", by_hand[1]),
    )
    rows = texts((f.what, f.shown) for f in figures)
    return Table("L2 §10, D3 自测  Exercises", ("", "answer"), rows, figures=figures)
