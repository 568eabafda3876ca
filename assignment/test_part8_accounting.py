"""Part 8: parameters, bytes and FLOPs by formula, against counting and against a running model."""

import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from .harness import draws
from .harness.compare import check, check_refused
from .harness.counts import (
    Answer,
    answers_by_name,
    answers_of_pair,
    as_count,
    as_number,
    ask,
    check_counts,
    check_names,
    check_numbers,
)
from .harness.models import weight_shapes
from .harness.points import graded
from .harness.words import tr
from .transformer import ModelConfig, Transformer

OPERATIONS = "w_q w_k w_v attention w_o w_gate w_up w_down lm_head".split()

# Models of the lectures. SMALL is the one of L2 §4.2, EXERCISE_1 that of L2 exercise 1.
_NAMES = "name n_layers d_model n_heads n_kv_heads head_dim d_ff vocab_size".split()


def _model(*sizes):
    return dict(zip(_NAMES, sizes, strict=True))


SMALL = _model("small", 4, 128, 8, 2, 16, 344, 512)
EXERCISE_1 = _model("exercise 1", 64, 4096, 32, 32, 128, 16384, 32000)
LLAMA2_7B = _model("Llama-2-7B", 32, 4096, 32, 32, 128, 11008, 32000)
LLAMA31_8B = _model("Llama-3.1-8B", 32, 4096, 32, 8, 128, 14336, 128256)
LLAMA31_70B = _model("Llama-3.1-70B", 80, 8192, 64, 8, 128, 28672, 128256)
LLAMA31_405B = _model("Llama-3.1-405B", 126, 16384, 128, 8, 128, 53248, 128256)


def _answers(student, function, case):
    """The student's answers to the calls of a case."""
    for call, expected in zip(case.calls, case.expected, strict=True):
        typed, got = ask(student, function, call)
        yield Answer(typed, got, expected)


def _figures(student, function, figures):
    """The student's answers for models of the lectures, and the figures printed there."""
    for config, more, expected in figures:
        typed, got = ask(student, function, {"config": config} | more)
        yield Answer(typed, got, expected)


@graded("8.1", 1)
def test_n_params(student, oracle):
    """Every number of a model counts once: the lecture's models and others, tied or not."""
    figures = [
        (SMALL, {}, 824_448),
        (SMALL | {"tied": True}, {}, 758_912),
        (EXERCISE_1, {}, 17_442_541_568),
        (LLAMA2_7B, {}, 6_738_415_616),
        (LLAMA31_8B, {}, 8_030_261_248),
        (LLAMA31_70B, {}, 70_553_706_496),
        (LLAMA31_405B, {}, 405_853_388_800),
    ]
    answers = [*_figures(student, "n_params", figures)]
    check_counts([*answers, *_answers(student, "n_params", oracle("accounting/n_params"))])


@graded("8.2", 1)
def test_matmul_params(student, oracle):
    """lm_head is multiplied, tied or not; norms and the embedding table are not."""
    figures = [
        (SMALL, {}, 757_760),
        (SMALL | {"tied": True}, {}, 757_760),
        (LLAMA31_8B, {}, 7_504_658_432),
        (LLAMA31_405B, {}, 403_747_897_344),
    ]
    answers = [*_figures(student, "matmul_params", figures)]
    case = oracle("accounting/matmul_params")
    check_counts([*answers, *_answers(student, "matmul_params", case)])


@graded("8.3", 1)
def test_kv_bytes_per_token(student, oracle):
    """K and V of G heads in every layer, in the bytes asked for: 512 KiB in exercise 1."""
    figures = [
        (SMALL, {}, 512),
        (EXERCISE_1, {"bytes_per_number": 1}, 512 * 1024),
        (LLAMA31_70B, {"bytes_per_number": 1}, 163_840),
        (LLAMA31_70B, {}, 2 * 163_840),
    ]
    answers = [*_figures(student, "kv_bytes_per_token", figures)]
    case = oracle("accounting/kv_bytes")
    check_counts([*answers, *_answers(student, "kv_bytes_per_token", case)])


@graded("8.4", 0.75)
def test_einsum_flops(student, oracle):
    """Each letter counts once, wherever it stands: 80,640 in exercise 3."""
    case = oracle("accounting/einsum")
    contractions = [("ijkl,ijmno->klmno", [(2, 3, 4, 5), (2, 3, 6, 7, 8)], 80_640)]
    contractions += zip(case.specs, case.shapes, case.expected, strict=True)
    answers = []
    for spec, shapes, expected in contractions:
        shapes = [tuple(shape) for shape in shapes]
        typed = f'einsum_flops("{spec}", {", ".join(map(str, shapes))})'
        answers.append(Answer(typed, student.einsum_flops(spec, *shapes), expected))
    check_counts(answers)


@graded("8.4", 0.25, beside="test_einsum_flops")
def test_senseless_contractions(student):
    """A letter of two sizes, and a shape that does not fit its operand, raise a ValueError."""
    a, b, c = (int(size) for size in draws.rng(0).permutation(range(2, 12))[:3])
    typed = f'einsum_flops("ab,bc->ac", {(a, b)}, {(b, c)})'
    check_counts([Answer(typed, student.einsum_flops("ab,bc->ac", (a, b), (b, c)), 2 * a * b * c)])
    for shapes in [((a, b), (c, a)), ((a, b), (b, c, a)), ((a,), (b, c))]:
        what = f'einsum_flops("ab,bc->ac", {shapes[0]}, {shapes[1]})'
        check_refused(lambda shapes=shapes: student.einsum_flops("ab,bc->ac", *shapes), what)


@graded("8.5", 0.75)
def test_forward_flops(student, oracle):
    """FLOPs of every product and of the attention core, which counts what the mask allows."""
    case, answers = oracle("accounting/forward"), []
    for call, expected in zip(case.calls, case.expected, strict=True):
        answers += answers_by_name(*ask(student, "forward_flops", call), expected)
    check_counts(answers)


@graded("8.5", 1)
def test_a_running_model_counts_the_same(student, oracle):
    """The formulas give what the given model's Counter logs while it runs."""
    answers = []
    for call in oracle("accounting/running").calls:
        counted = _counted_while_running(**call)
        answers += answers_by_name(*ask(student, "forward_flops", call), counted)
    check_counts(answers)


def _counted_while_running(config, batch, new_tokens, past):
    """Runs the given model on new tokens behind `past` others: FLOPs by operation.

    Counter logs the products. The core is counted from a mask: for each True, a query and a key
    are multiplied, and later a weight and a value.
    """
    model = Transformer(ModelConfig(**config), _weights(config))
    may_attend = np.tri(new_tokens, past + new_tokens, past, dtype=bool)
    flops = Counter(attention=0)
    x = model.embed(draws.rng(0).integers(config["vocab_size"], size=(batch, new_tokens)))
    for layer in range(config["n_layers"]):
        q = model.project_qkv(layer, x)[0]
        flops["attention"] += 2 * 2 * q[:, :, 0].size * int(may_attend.sum())
        # Queries stand for the heads' outputs: to a count, what is in them does not matter.
        mixed = model.add_attention(layer, x, heads=q)
        x = model.add_mlp(layer, mixed)
    model.logits(x)
    for matmul in model.counter.matmuls:
        flops[matmul.name] += matmul.flops
    return dict(flops)


def _weights(config):
    """Random weights for a model of these sizes."""
    rng = draws.rng(1)
    weights = {name: rng.standard_normal(shape) for name, shape in weight_shapes(config).items()}
    if config["tied"]:
        del weights["lm_head"]
    return weights


@graded("8.5", 0.5, beside=("test_forward_flops", "test_a_running_model_counts_the_same"))
@given(
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    batch=st.integers(1, 3),
    length=st.integers(2, 6),
    past=st.integers(0, 9),
)
def test_token_by_token_costs_as_much_as_all_at_once(student, kv_heads, group, batch, length, past):
    """With a cache nothing is computed twice: the FLOPs of the steps add up to a prefill's."""
    config = SMALL | {"n_heads": kv_heads * group, "n_kv_heads": kv_heads}
    call = {"config": config, "batch": batch, "new_tokens": length, "past": past}
    typed, at_once = _counts_by_name(student, call)
    steps = Counter()
    for step in range(length):
        steps.update(_counts_by_name(student, call | {"new_tokens": 1, "past": past + step})[1])
    check_counts(answers_by_name(typed, at_once, steps))
    check(min(steps.values()) > 0, tr("forward_flops counts nothing for some operation"))
    _, longer = _counts_by_name(student, call | {"past": past + 1})
    grows = longer["attention"] > at_once["attention"]
    check(grows, tr("behind a longer cache, the attention core must take more FLOPs"))


def _counts_by_name(student, call):
    typed, got = ask(student, "forward_flops", call)
    check_names(typed, got, OPERATIONS)
    return typed, {name: as_count(f"{typed}[{name!r}]", got[name]) for name in OPERATIONS}


@graded("8.6", 1)
def test_generation_flops(student, oracle):
    """With a cache a prefill and a step for each further token, without a pass for every token."""
    # As L2 exercise 6, with fewer new tokens: any way to count is fast enough.
    exercise = {"prompt": 2000, "new_tokens": 20}
    figures = [
        (LLAMA31_8B, exercise | {"cached": True}, 31_372_933_595_136),
        (LLAMA31_8B, exercise | {"cached": False}, 624_406_377_267_200),
    ]
    answers = [*_figures(student, "generation_flops", figures)]
    case = oracle("accounting/generation")
    check_counts([*answers, *_answers(student, "generation_flops", case)])


@graded("8.7", 0.75)
def test_roofline_seconds(student, oracle):
    """The larger of arithmetic and traffic, on both sides of the ridge."""
    check_numbers(_answers(student, "roofline_seconds", oracle("accounting/roofline")))


@graded("8.8", 0.75)
def test_decode_intensity(student, oracle):
    """B f / (W + B k): the weights are read once, K and V for each sequence."""
    check_numbers(_answers(student, "decode_intensity", oracle("accounting/intensity")))


@graded("8.8", 0.25, beside="test_decode_intensity")
@given(
    group=st.integers(1, 4),
    batch=st.integers(1, 200),
    context=st.integers(2, 300),
)
def test_intensity_has_a_cap(student, group, batch, context):
    """A larger batch helps, less and less: every sequence reads its own K and V."""
    config = SMALL | {"n_heads": 2 * group, "n_kv_heads": 2}
    got = []
    for n in (batch, 2 * batch, 10**6, 10**7):
        call = {"config": config, "batch": n, "context": context}
        got.append(as_number(*ask(student, "decode_intensity", call)))
    twice = got[0] < got[1] < 2 * got[0]
    check(twice, tr("twice the batch must give more than the intensity, and less than twice it"))
    capped = math.isclose(got[2], got[3], rel_tol=0.01) and got[3] > got[1]
    check(capped, tr("as the batch grows, the intensity must grow towards a limit"))


@graded("8.9", 1)
def test_mla_core(student, oracle):
    """Absorbed MLA: FLOPs of one token's core, and the bytes of latents and RoPE keys."""
    case, answers = oracle("accounting/mla_core"), []
    for call, expected in zip(case.calls, case.expected, strict=True):
        answers += answers_of_pair(*ask(student, "mla_core", call), expected)
    check_counts(answers)
