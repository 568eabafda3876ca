"""Cases for part 8: sizes of models, and what the reference counts of them.

Among the drawn models are tied ones, and such with one key/value head, with some and with as many
as query heads; H d_h is never d. A large one is with them: its counts overflow 32 bits, and those
of a generation from a long text 64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from reference_model import MLAConfig, ModelConfig, accounting, as_config
from reference_model.accounting import GROUPS, Hardware, Work, analytic_ops

from .draw import Draw

Fields = dict[str, Any]
Sizes = dict[str, Any]

GROUPINGS = ((1, 4), (2, 3), (3, 2), (5, 1))  # key/value heads, query heads of each
PRODUCTS = tuple(op for name, ops in GROUPS.items() if name != "elementwise" for op in ops)


def drawn_model(draw: Draw, kv_heads: int, group: int, tied: bool, n_layers: int) -> Sizes:
    """Small sizes, distinct where bugs could confuse them."""
    n_heads, head_dim = kv_heads * group, draw.choice((6, 8, 10))
    return {
        "name": "drawn",
        "n_layers": n_layers,
        "d_model": n_heads * head_dim + draw.choice((4, 12, 14)),
        "n_heads": n_heads,
        "n_kv_heads": kv_heads,
        "head_dim": head_dim,
        "d_ff": draw.choice(range(91, 99)),
        "vocab_size": draw.choice(range(131, 149)),
        "tied": tied,
    }


def drawn_models(draw: Draw, n_layers: tuple[int, ...] = (7, 9, 11)) -> list[Sizes]:
    """One of each grouping, half of them tied."""
    return [
        drawn_model(draw, *grouping, tied=i % 2 == 0, n_layers=draw.choice(n_layers))
        for i, grouping in enumerate(GROUPINGS)
    ]


def large_model(draw: Draw) -> Sizes:
    """Llama-3.1-405B with a vocabulary that no data sheet lists."""
    llama = accounting.LLAMA31_405B.to_dict()
    names = ("n_layers", "d_model", "n_heads", "n_kv_heads", "head_dim", "d_ff")
    vocab_size = 128 * draw.choice(range(700, 1000))
    return {"name": "large"} | {n: llama[n] for n in names} | {"vocab_size": vocab_size}


def asked(calls: list[Fields], answer: Callable[..., Any]) -> Fields:
    """Calls, as arguments by name, and what is expected of each."""
    return {"calls": calls, "expected": [answer(**_with_config(call)) for call in calls]}


def _with_config(call: Fields) -> Fields:
    return call | {"config": as_config(call["config"])} if "config" in call else call


def of_model(draw: Draw, answer: Callable[[ModelConfig], int]) -> Fields:
    return asked([{"config": c} for c in (*drawn_models(draw), large_model(draw))], answer)


def kv_bytes(draw: Draw) -> Fields:
    """In BF16, which is the default, and in one and four bytes."""
    first, *others = drawn_models(draw)
    calls: list[dict[str, Any]] = [
        {"config": first},
        {"config": large_model(draw), "bytes_per_number": 1},
    ]
    calls += [{"config": c, "bytes_per_number": draw.choice((1, 4))} for c in others]
    return asked(calls, lambda config, **more: config.kv_bytes_per_token(**more))


def einsum(draw: Draw) -> Fields:
    """A projection, scores with batch letters, an outer product, a dot product; any letters."""
    forms = ("abc,cd->abd", "abcd,abed->abce", "ab,cd->abcd", "a,a->", "abc,bcd->ad")
    specs, shapes = [], []
    for form in forms:
        letters = "".join(draw.rng.permutation(list("bdfhklmnstv")))
        spec = form.translate(str.maketrans("abcde", letters[:5]))
        sizes = dict(zip(letters, draw.rng.permutation((2, 3, 5, 7, 11)).tolist(), strict=False))
        specs.append(spec)
        shapes.append([[sizes[x] for x in part] for part in spec.split("->")[0].split(",")])
    # A layer of 405B over long texts: the count has 57 bits.
    specs.append("btd,df->btf")
    shapes.append([[draw.choice(range(40, 60)), 131072, 16384], [16384, 53248]])
    counts = [accounting.einsum_flops(s, *of) for s, of in zip(specs, shapes, strict=True)]
    return {"specs": specs, "shapes": shapes, "expected": counts}


def forward(draw: Draw) -> Fields:
    """A prefill, a decode step, and new tokens behind a cache, with lm_head for all or the last."""
    calls = []
    for config in (*drawn_models(draw), large_model(draw)):
        new_tokens, past = draw.choice(((1, 29), (13, 0), (5, 23)))
        calls.append(_pass(config, draw.choice((2, 3)), new_tokens, past))
    first, second = drawn_models(draw)[1:3]
    calls += [_pass(first, 3, 1, 31), _pass(first, 1, 17, 0, True), _pass(second, 2, 5, 19, True)]
    return asked(calls, _useful_flops)


def _pass(config: Sizes, batch: int, new_tokens: int, past: int, last: bool = False) -> Fields:
    call = {"config": config, "batch": batch, "new_tokens": new_tokens, "past": past}
    return call | {"last_only": True} if last else call


def _useful_flops(**call: Any) -> dict[str, int]:
    works = analytic_ops(**call)
    return {name: works[name].useful_flops for name in PRODUCTS}


def running(draw: Draw) -> Fields:
    """Sizes of models that are to run in the test, a few layers each."""
    configs = drawn_models(draw, n_layers=(2, 3))
    shapes = ((2, 1, 9), (1, 6, 0), (3, 4, 5), (2, 1, 0))  # batch, new tokens, past
    return {"calls": [_pass(c, *shape) for c, shape in zip(configs, shapes, strict=True)]}


def generation(draw: Draw) -> Fields:
    first, second, *_ = drawn_models(draw)
    calls = [
        {"config": config, "prompt": prompt, "new_tokens": new_tokens, "cached": cached}
        for config, prompt, new_tokens in (
            (first, draw.choice((11, 12, 13)), 1),
            (second, draw.choice((5, 6, 7)), draw.choice((17, 19, 23))),
            (large_model(draw), draw.choice(range(1_200_000, 1_300_000)), 3),
        )
        for cached in (True, False)
    ]
    return asked(calls, accounting.generation_flops)


def roofline(draw: Draw) -> Fields:
    """Both sides of the ridge."""
    calls = []
    for intensity in (0.01, 0.6, 1.7, 80.0):  # in ridges
        machine = {"peak_flops": 1e12 * draw.rng.uniform(100, 900)}
        machine["bandwidth"] = 1e12 * draw.rng.uniform(1, 5)
        n_bytes = int(draw.rng.integers(10**9, 10**11))
        ridge = machine["peak_flops"] / machine["bandwidth"]
        calls.append({"flops": int(n_bytes * ridge * intensity), "n_bytes": n_bytes, **machine})
    return asked(calls, _seconds)


def _seconds(flops: int, n_bytes: int, peak_flops: float, bandwidth: float) -> float:
    machine = Hardware("drawn", peak_flops, bandwidth)
    return accounting.seconds(Work(useful_flops=flops, weight_bytes=n_bytes), machine)


def intensity(draw: Draw) -> Fields:
    first, second, third, _ = drawn_models(draw)
    calls = [
        {"config": first, "batch": 1, "context": draw.choice(range(20, 40))},
        {"config": second, "batch": 50, "context": draw.choice(range(300, 400))},
        {"config": third, "batch": 8, "context": 57, "bytes_per_number": 1},
        {"config": large_model(draw), "batch": 64, "context": draw.choice(range(4000, 9000))},
    ]
    return asked(calls, accounting.decode_intensity)


def mla_core(draw: Draw) -> Fields:
    deepseek = accounting.DEEPSEEK_V3_ATTENTION.to_dict()
    calls = [
        {"config": drawn_latent_model(draw), "context": draw.choice(range(30, 90))},
        {"config": drawn_latent_model(draw), "context": 41, "bytes_per_number": 1},
        {"config": deepseek, "context": draw.choice(range(30_000, 40_000))},
    ]
    return asked(calls, _absorbed)


def drawn_latent_model(draw: Draw) -> Sizes:
    return {
        "name": "drawn",
        "n_layers": draw.choice((3, 5)),
        "d_model": 70,
        "n_heads": draw.choice((6, 7, 8)),
        "latent_dim": draw.choice((21, 23, 25)),
        "nope_dim": 12,
        "rope_dim": draw.choice((4, 8)),
        "v_dim": draw.choice((13, 15)),
        "query_latent_dim": None,
        "d_ff": 90,
        "vocab_size": 130,
    }


def _absorbed(config: MLAConfig, context: int, bytes_per_number: int = 2) -> list[int]:
    account = accounting.mla_absorbed_core(config, context, bytes_per_number)
    return [account.flops, account.cache_bytes]


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    "accounting/n_params": partial(of_model, answer=lambda config: config.n_params()),
    "accounting/matmul_params": partial(of_model, answer=lambda config: config.matmul_params()),
    "accounting/kv_bytes": kv_bytes,
    "accounting/einsum": einsum,
    "accounting/forward": forward,
    "accounting/running": running,
    "accounting/generation": generation,
    "accounting/roofline": roofline,
    "accounting/intensity": intensity,
    "accounting/mla_core": mla_core,
}
