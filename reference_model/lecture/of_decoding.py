"""Tables of L2 §5 and §6: the cache, batches, and attention made for inference."""

from __future__ import annotations

from reference_model.accounting import (
    DEEPSEEK_V3_ATTENTION,
    H100,
    LLAMA31_8B,
    LLAMA31_70B,
    LLAMA31_405B,
    decode_intensity,
    decode_intensity_cap,
    decode_step_seconds,
    generation_flops,
    gqa_core,
    gqa_intensity,
    mla_absorbed_core,
    mla_expanded_core,
)
from reference_model.laboratory import decoding, pooling, savings

from .table import Table, table, texts


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
    runs = [savings.saving(n_tokens) for n_tokens in (16, 64)]
    rows = [(run.n_tokens, run.flops_ratio, run.time_ratio) for run in runs]
    long = [generation_flops(LLAMA31_8B, 1000, 8000, cached) for cached in (False, True)]
    note = f"Llama-3.1-8B, 1000 + 8000 tokens: {long[0] / long[1]:,.0f} times the FLOPs."
    title = "L2 §5.4  Without a cache / with one, prompt of 64 tokens"
    return Table(title, ("tokens", "FLOPs", "time"), texts(rows), note)


@table("kv-memory")
def kv_memory() -> Table:
    rows = []
    for config in (LLAMA31_8B, LLAMA31_70B, LLAMA31_405B):
        per_token, weights = config.kv_bytes_per_token(), 2 * config.n_params()
        at_128k = 131_072 * per_token / 1e9
        rows.append((config.name, per_token / 1024, weights / 1e9, weights // per_token, at_128k))
    columns = ("model", "KiB a token", "weights, GB", "tokens as large as the weights", "128K, GB")
    return Table("L2 §5.5  KV cache in BF16", columns, texts(rows))


@table("batched-decode")
def batched_decode() -> Table:
    rows = []
    for batch in (1, 16, 64, 256, 1024):
        step = decode_step_seconds(LLAMA31_8B, batch, 4096, H100)
        intensity = decode_intensity(LLAMA31_8B, batch, 4096)
        rows.append((batch, intensity, 1e3 * step, round(batch / step)))
    note = f"The intensity's cap f / k is {decode_intensity_cap(LLAMA31_8B, 4096):.1f}."
    title = "L2 §5.6  Llama-3.1-8B on an H100, context 4096"
    return Table(title, ("batch", "FLOP/byte", "step, ms", "tokens/s"), texts(rows), note)


@table("gqa-intensity")
def intensity_of_groups() -> Table:
    rows = [(s, f"{gqa_intensity(8, s):.2f}") for s in (128, 1024, 32768)]
    return Table("L2 exercise 4  S R / (R + S), R = 8", ("context S", "FLOP/byte"), texts(rows))


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
    note = "Exact where the heads of a group are the same; else training must mend it."
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
    return Table(title, ("", "cache read, MB", "GFLOP", "FLOP/byte"), texts(rows))


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
    return Table("L2 §6.5  61 layers, 128 heads, batch 32, H100", columns, texts(rows))
