"""Numbers as answers (part 8): what counts as a count, what is said of others, and fair cases."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import solution.exercises
from assignment.harness import words
from assignment.harness.cases import Case, load_cases
from assignment.harness.compare import Mismatch
from assignment.harness.counts import (
    Answer,
    answers_by_name,
    answers_of_pair,
    as_count,
    as_number,
    ask,
    check_counts,
    check_numbers,
)
from assignment.harness.diagnosis import SAME, difference, print_of
from assignment.harness.exercises import explanation
from assignment.harness.points import grading_of
from assignment.harness.student import LocalBackend, NotStarted, Student
from grader.authoring.cases import exercises as cases
from grader.authoring.cases import make_cases
from grader.authoring.cases.draw import Draw
from grader.authoring.exercises import FORMULAS
from grader.authoring.golden import PUBLIC_SEED
from grader.grading.suite import Suite, collect_all, collect_public
from grader.sandbox.wire import UnsupportedArray
from reference_model import ModelConfig, init_llama, llama_logits, param_shapes
from reference_model.accounting import (
    DEEPSEEK_V3_ATTENTION,
    GROUPS,
    H100,
    LLAMA2_7B,
    LLAMA31_8B,
    LLAMA31_70B,
    SMALL,
    CountedModel,
    Work,
    analytic_ops,
    attention_equals_matmuls,
    decode_intensity,
    decode_intensity_cap,
    decode_step_seconds,
    einsum,
    einsum_flops,
    generation_flops,
    gqa_core,
    gqa_intensity,
    measure_this_cpu,
    mla_absorbed_core,
    mla_expanded_core,
    prefill_seconds,
    seconds,
    seconds_one_by_one,
    total,
)


def said(call, *arguments) -> str:
    with pytest.raises(Mismatch) as caught:
        call(*arguments)
    return str(caught.value)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint16, np.int32, np.array])
def test_every_integer_is_a_count(kind):
    check_counts([Answer("f()", kind(824), 824)])
    assert type(as_count("f()", kind(824))) is int


@pytest.mark.parametrize(
    "got", [824, 824.0, np.float64(824), np.float32(824), np.int64(824), np.array(824.0)]
)
def test_every_real_number_is_a_number(got):
    check_numbers([Answer("f()", got, 824.0)])
    assert type(as_number("f()", got)) is float


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (824.0, "the float 824.0, expected an int: floats are exact up to 2**53 only"),
        (np.float32(824), "the float 824.0, expected an int"),
        (None, "None (is a return missing?), expected an int"),
        (True, "something of type bool, expected an int"),
        ("824", "something of type str, expected an int"),
        (np.array([824]), "something of type ndarray, expected an int"),
    ],
)
def test_what_is_no_count_is_named(got, words):
    text = said(check_counts, [Answer("n_params(ModelConfig(…))", got, 824)])
    assert text.startswith(f"n_params(ModelConfig(…))\ngot {words}")


@pytest.mark.parametrize("got", [None, "0.5", True, 1j, [0.5]])
def test_what_is_no_number_is_named(got):
    assert "expected a number" in said(check_numbers, [Answer("f()", got, 0.5)])


def test_a_wrong_count_is_shown_with_its_ratio():
    answers = [Answer("f(1)", 3, 3), Answer("f(2)", 1_000_000, 2_000_000), Answer("f(3)", 0, 7)]
    assert said(check_counts, answers).splitlines() == [
        "f(2)",
        "got 1,000,000, expected 2,000,000: 0.5 of it, too small by 1,000,000",
        "2 of 3 numbers are wrong",
    ]


def test_a_ratio_that_rounds_to_1_is_not_shown():
    assert "expected 10,000,000: too large by 7\n" in said(
        check_counts, [Answer("f()", 10_000_007, 10_000_000)]
    )


def test_two_numbers_in_the_wrong_order_are_told_so():
    words = said(lambda got: answers_of_pair("mla_core(...)", got, (30, 20)), (20, 30))
    assert words.endswith("got the right numbers in the wrong order")
    assert len(answers_of_pair("mla_core(...)", (20, 31), (30, 20))) == 2


def test_counts_are_compared_to_the_last_digit():
    """Also above 2**53, where two floats are the same."""
    check_counts([Answer("f()", 2**60 + 1, 2**60 + 1)])
    assert "got 1,152,921,504,606,846,976" in said(check_counts, [Answer("f()", 2**60, 2**60 + 1)])


def test_an_overflow_is_told_as_one():
    right = 3 * 10**19
    wrapped = np.array([right % 2**64], dtype=np.uint64).view(np.int64)[0]
    text = said(check_counts, [Answer("f()", wrapped, right)])
    assert "these are the last 64 bits of the right number: an int64 overflowed" in text
    assert "overflowed" not in said(check_counts, [Answer("f()", wrapped + 1, right)])


def test_an_integer_too_long_to_print_is_no_trouble():
    assert "got an integer of 16610 bits" in said(check_counts, [Answer("f()", 10**5000, 7)])
    assert "got an integer of" in said(check_numbers, [Answer("f()", -(10**5000), 0.5)])
    # A property compares with the sum of the submission's own answers.
    twice = [Answer("f()", 10**4299, 2 * 10**4299)]
    assert "expected an integer of 14282 bits" in said(check_counts, twice)


@pytest.mark.parametrize("got", [np.nan, np.inf, -np.inf, 0.5000001])
def test_wrong_numbers_are_wrong(got):
    assert "1 of 1 numbers are wrong" in said(check_numbers, [Answer("f()", got, 0.5)])


def test_numbers_may_differ_by_rounding():
    check_numbers([Answer("f()", 0.1 + 0.2, 0.3)])


@pytest.mark.parametrize(
    ("got", "words"),
    [
        ({"a": 1}, "the dict lacks 'b'"),
        ({"a": 1, "b": 2, "total": 3}, "the dict has 'total'; its names are a, b"),
        ([1, 2], "got something of type list, expected a dict"),
        (None, "got None (is a return missing?), expected a dict"),
    ],
)
def test_dicts_have_exactly_their_names(got, words):
    assert words in said(answers_by_name, "f()", got, {"a": 1, "b": 2})


@pytest.mark.parametrize("got", [(1, 2), [1, 2], np.array([1, 2])])
def test_a_pair_may_be_a_tuple_a_list_or_an_array(got):
    check_counts(answers_of_pair("f()", got, (1, 2)))


@pytest.mark.parametrize(
    "got",
    [
        *[(1,), [1, 2, 3], np.eye(2), "12", {0: 1, 1: 2}, 12, np.ma.array([1, 2])],
        UnsupportedArray("object", (2,)),
        SimpleNamespace(shape=np.array([1, 2])),
    ],
)
def test_nothing_else_is_a_pair(got):
    assert "expected two ints" in said(answers_of_pair, "f()", got, (1, 2))


def test_a_call_is_shown_as_one_types_it():
    """The config first and its sizes in its own order, however a case was stored."""
    student = SimpleNamespace(ModelConfig=dict, f=lambda config, batch: (config, batch))
    call = {"batch": 3, "config": {"n_layers": 2, "name": "m"}}
    typed, got = ask(student, "f", call)
    assert typed == "f(ModelConfig(name='m', n_layers=2), batch=3)"
    assert got == (call["config"], 3)
    assert ask(SimpleNamespace(g=lambda x: x), "g", {"x": 7}) == ("g(x=7)", 7)


def test_wrong_counts_have_prints_that_tell_them_apart():
    """So known bugs of part 8 are recognised like any others."""

    def print_for(*got):
        with pytest.raises(Mismatch) as caught:
            check_counts([Answer("f()", n, 10**15) for n in got])
        return print_of(caught.value.got)

    one, again, other = print_for(7, 8 * 10**9), print_for(7, 8 * 10**9), print_for(8 * 10**9, 7)
    assert difference(one, again) == 0
    assert difference(one, other) > SAME


@pytest.mark.slow
def test_hidden_cases_ask_for_what_no_public_table_holds():
    def calls(case: dict) -> list:
        return (
            case["calls"] if "calls" in case else [*zip(case["specs"], case["shapes"], strict=True)]
        )

    public, hidden = (make_cases(seed) for seed in (PUBLIC_SEED, 1))
    of_part = [name for name in public if name.startswith("accounting/")]
    assert len(of_part) == 10
    for name in of_part:
        new = [call for call in calls(hidden[name]) if call not in calls(public[name])]
        assert len(new) > len(calls(hidden[name])) / 2, name


# ---- Part 11's formulas: no constant passes, right code of any style does, known mistakes are t

NUMBERS = [name for name in FORMULAS if not name.endswith(("_shapes", "_head", "_layer"))]


class One:
    """The solution with one function exchanged."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name, self._function = name, function
        self._solution = LocalBackend("solution")

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        if name == self._name:
            return self._function(*args, **kwargs), []
        return self._solution.call(name, args, kwargs)


@cache
def case_of(name: str, seed: int | None) -> Case:
    """The public case, or one as the hidden ones are drawn."""
    if seed is None:
        return load_cases()[f"exercises/{name}"]
    fields = cases.BUILDERS[f"exercises/{name}"](Draw(seed, name))
    return SimpleNamespace(name=f"exercises/{name}", **fields)


@cache
def collected() -> dict[str, Callable[..., None]]:
    """The functions of all public tests, by name."""
    return {item.originalname: item.obj for item in collect_public()[0]}


def told(name: str, function: Callable[..., Any], seed: int | None = None) -> str | None:
    """What a student is told of a function; None: right."""
    try:
        collected()[f"test_{name}"](Student(One(name, function)), lambda _: case_of(name, seed))
    except Mismatch as wrong:
        return str(wrong)
    return None


def answer_to_the_example(name: str) -> tuple[dict[str, int], Any]:
    """The sizes that the public test asks with first, and the right answer."""
    asked: list[dict[str, int]] = []

    def answer(**sizes: int) -> Any:
        asked.append(sizes)
        return getattr(solution.exercises, name)(**sizes)

    assert told(name, answer) is None
    return asked[0], getattr(solution.exercises, name)(**asked[0])


# --- right and wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_solution_is_right_whatever_is_drawn(name, seed):
    assert told(name, getattr(solution.exercises, name), seed) is None


@pytest.mark.parametrize("name", FORMULAS)
def test_the_reference_finds_what_the_lecture_does(name):
    sizes, _ = answer_to_the_example(name)
    assert told(name, lambda **_: FORMULAS[name].answer(**_)) is None
    assert sizes not in case_of(name, None).calls


@pytest.mark.parametrize("name", FORMULAS)
def test_a_constant_answer_is_wrong_at_home_and_in_grading(name):
    _, right = answer_to_the_example(name)
    for seed in (None, 1):
        assert "(" in told(name, lambda **_: right, seed)  # the call that gives it away
    table = [(call, FORMULAS[name].answer(**call)) for call in case_of(name, None).calls]
    looked_up = lambda **sizes: next((a for call, a in table if call == sizes), right)  # noqa: E731
    assert told(name, looked_up) is None and told(name, looked_up, seed=1) is not None


@pytest.mark.parametrize(
    ("name", "mistake"), [(name, m) for name, formula in FORMULAS.items() for m in formula.mistakes]
)
def test_each_mistake_is_wrong_and_explained(name, mistake):
    for seed, language in ((None, "en"), (1, "zh")):
        words.speak(language)
        try:
            why = explanation(mistake)
            assert told(name, FORMULAS[name].mistakes[mistake], seed).endswith(f"\n{why}")
        finally:
            words.speak(None)


@pytest.mark.parametrize("name", FORMULAS)
def test_each_stub_alone_is_missed(name):
    def stub(**sizes: int) -> None:
        raise NotImplementedError

    with pytest.raises(NotStarted) as reached:
        told(name, stub)
    assert reached.value.function == name


def test_drawn_sizes_fit_one_another():
    for seed in range(20):
        for name in FORMULAS:
            for call in case_of(name, seed).calls:
                if "n_kv_heads" in call and "n_heads" in call:
                    assert call["n_heads"] % call["n_kv_heads"] == 0
                if name == "d3_3_query_length":
                    assert call["d_model"] % call["n_heads"] == 0


# --- styles ---------------------------------------------------------------------------------------


class Kept:
    """As an object that stayed in a worker: methods by name, no operators."""

    def __init__(self, value: Any) -> None:
        self.as_integer_ratio = value.as_integer_ratio


@pytest.mark.parametrize(
    "style",
    [float, np.float64, np.float32, np.array, Decimal, Fraction, lambda x: Kept(Fraction(x))],
    ids=["float", "float64", "float32", "0-d", "Decimal", "Fraction", "kept in a worker"],
)
@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_any_kind_is_a_number(name, style):
    assert told(name, lambda **sizes: style(getattr(solution.exercises, name)(**sizes))) is None


@pytest.mark.parametrize("style", [tuple, list, np.array, lambda shape: tuple(map(float, shape))])
def test_a_shape_may_be_a_list_or_an_array(style):
    for name in ("d3_3_w_q_of_the_layer", "d3_3_w_q_of_one_head"):
        right = getattr(solution.exercises, name)
        assert told(name, lambda f=right, **sizes: style(f(**sizes))) is None
    right = solution.exercises.d3_decode_shapes
    as_style = lambda **sizes: {n: style(s) for n, s in right(**sizes).items()}  # noqa: E731
    assert told("d3_decode_shapes", as_style) is None


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("l2_1_kv_bytes_per_token", "512 KiB", 'got "512 KiB", expected the number itself'),
        ("l2_1_kv_bytes_per_token", (512, "KiB"), "something of type tuple, expected the number"),
        ("l2_1_kv_bytes_per_token", None, "got None (is a return missing?), expected a number"),
        ("l2_1_kv_bytes_per_token", True, "something of type bool, expected a number"),
        ("l2_1_kv_bytes_per_token", [524288], "something of type list, expected a number"),
        ("l2_1_kv_bytes_per_token", float("nan"), "got nan, expected 524,288"),
        ("l2_1_kv_bytes_per_token", 10**400, "4 of 4 numbers are wrong"),
        ("d3_3_query_length", (128, 128), "something of type tuple, expected a number"),
        ("d3_3_w_q_of_one_head", "4096 x 128", 'got "4096 x 128", expected a tuple of rows and'),
        ("d3_3_w_q_of_one_head", 4096, 'got "4096", expected a tuple of rows and columns'),
        ("d3_3_w_q_of_one_head", (4096, 127.5), "something of type tuple, expected a tuple of"),
        ("d3_3_w_q_of_one_head", (4096, 127), "got (4096, 127), expected (4096, 128)"),
        ("d3_prefill_shapes", (2000, 4096), "expected a dict"),
        ("d3_prefill_shapes", {"x": (2000, 4096)}, "the dict lacks 'q'"),
    ],
)
def test_what_is_no_answer_is_told_what_is_wanted(name, answer, says):
    assert says in told(name, lambda **_: answer)


def test_an_answer_without_arguments_is_told_what_is_wanted_now():
    says = told("l2_1_kv_bytes_per_token", lambda: "512 KiB")
    assert says.startswith('l2_1_kv_bytes_per_token takes no arguments and returns "512 KiB": one')
    assert "wanted is a function of named arguments now" in says
    assert says.endswith("(n_layers=64, n_heads=32, head_dim=128, bytes_per_number=1)")


def test_a_type_error_of_the_students_own_stays_one():
    def sums(*, n_layers, n_heads, head_dim, bytes_per_number):
        return "2" + n_layers

    with pytest.raises(TypeError, match="can only concatenate"):
        told("l2_1_kv_bytes_per_token", sums)


# --- points ---------------------------------------------------------------------------------------


def test_public_and_hidden_cases_share_the_points(tmp_path):
    """The part is worth ten at home and in grading, where hidden cases decide on its formulas."""
    suite = Suite.load(b"k" * 32, False, tmp_path)
    try:
        items, _ = collect_all(suite)
    finally:
        suite.close()
    of_part = [item for item in items if "part11" in item.path.name]
    hidden = [item for item in of_part if "[hidden]" in item.name]
    assert len(hidden) == len(FORMULAS)
    assert all(grading_of(item).points == 0 for item in hidden)
    assert sum(grading_of(item).points for item in of_part) == 10


# ---- Accounts against the running model, and against every figure of L2 §4 to §6 and its exerci

MILLISECOND = 1e-3


@st.composite
def configs(draw) -> ModelConfig:
    n_kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return ModelConfig(
        "random",
        n_layers=draw(st.integers(1, 3)),
        d_model=draw(st.integers(1, 9)),
        n_heads=n_kv_heads * group,
        n_kv_heads=n_kv_heads,
        head_dim=2 * draw(st.integers(1, 3)),
        d_ff=draw(st.integers(1, 9)),
        vocab_size=draw(st.integers(2, 9)),
        tied=draw(st.booleans()),
    )


def tokens(config: ModelConfig, batch: int, length: int) -> np.ndarray:
    return np.random.default_rng(length).integers(config.vocab_size, size=(batch, length))


@given(configs(), st.integers(1, 3), st.integers(1, 5), st.integers(0, 4), st.booleans())
def test_the_formulas_are_what_the_running_model_counts(config, batch, new, past, last_only):
    model = CountedModel(config, init_llama(config, seed=0))
    text = tokens(config, batch, past + new)
    if past:
        model.forward(text[:, :past])
    model.counter.reset()
    logits = model.forward(text[:, past:], last_only)
    assert model.counter.works == analytic_ops(config, batch, new, past, last_only)
    expected = llama_logits(config, model.params, text)[:, past:]
    np.testing.assert_allclose(logits, expected[:, -1:] if last_only else expected, 1e-12, 1e-12)


@given(configs())
def test_parameters_are_the_numbers_in_the_arrays(config):
    params = init_llama(config, seed=0)
    assert config.n_params() == sum(array.size for array in params.values())
    work = total(analytic_ops(config, 1, 1, 0).values())
    core = analytic_ops(config, 1, 1, 0)["attention"]
    assert work.useful_flops - core.useful_flops == 2 * config.matmul_params()
    assert work.weight_bytes == 2 * config.matmul_params()


def group(ops: dict[str, Work], name: str) -> Work:
    return total(ops[op] for op in GROUPS[name])


def milliseconds(ops: dict[str, Work], name: str) -> float:
    return sum(seconds(ops[op], H100) for op in GROUPS[name]) / MILLISECOND


def test_the_small_model():
    """L2 §4.2: 40,960 and 132,096 a layer, 824,448 in all, 757,760 multiplied."""
    shapes = param_shapes(SMALL)
    attention = sum(np.prod(shapes[f"layers.0.{name}"]) for name in GROUPS["attention projections"])
    mlp = sum(np.prod(shapes[f"layers.0.{name}"]) for name in GROUPS["MLP"])
    assert (attention, mlp) == (40_960, 132_096)
    assert (SMALL.n_params(), SMALL.matmul_params()) == (824_448, 757_760)


def test_elementwise_bytes_of_the_small_prefill():
    """L2 §4.3: 2.76 MB, more than the MLP's weights of 1.06 MB."""
    ops = analytic_ops(SMALL, 1, 128, 0)
    assert group(ops, "elementwise").bytes == pytest.approx(2.76e6, rel=2e-3)
    assert group(ops, "MLP").weight_bytes == pytest.approx(1.06e6, rel=4e-3)


def test_one_layer_of_the_8b_model():
    """L2 §3.5: 962.1 G FLOPs, T = 2048."""
    ops = analytic_ops(LLAMA31_8B, 1, 2048, 0)
    of_layers = total(ops.values()).flops - ops["lm_head"].flops
    assert of_layers / LLAMA31_8B.n_layers == pytest.approx(962.1e9, rel=5e-5)


def test_lm_head_is_6_5_percent_of_the_8b_model():
    """L2 §1.8."""
    head = LLAMA31_8B.vocab_size * LLAMA31_8B.d_model
    assert head / LLAMA31_8B.n_params() == pytest.approx(0.065, abs=5e-4)


def test_prefill_table():
    """L2 §4.5 and exercise 10: 12.35 GB and 3.69 ms of elementwise work, intensities above 1000.

    Item by item the document has 34.1 ms; these conventions give 34.02 (see docs/figures.md).
    """
    ops = analytic_ops(LLAMA31_8B, 1, 2048, 0, last_only=True)
    gigabytes = {name: ops[name].bytes / 1e9 for name in GROUPS["elementwise"]}
    assert gigabytes == pytest.approx(
        {"swiglu": 5.64, "residual": 3.22, "norm": 2.15, "rope": 1.34}, abs=5e-3
    )
    assert group(ops, "elementwise").bytes == pytest.approx(12.35e9, rel=5e-4)
    assert milliseconds(ops, "elementwise") == pytest.approx(3.69, abs=5e-3)
    assert group(ops, "MLP").intensity > 1000
    assert prefill_seconds(LLAMA31_8B, 2048, H100) / MILLISECOND == pytest.approx(32.2, abs=0.05)
    assert seconds_one_by_one(ops, H100) / MILLISECOND == pytest.approx(34.02, abs=5e-3)
    head = total([analytic_ops(LLAMA31_8B, 1, 2048, 0)["lm_head"]])
    assert head.flops / H100.flops / MILLISECOND == pytest.approx(2.2, abs=0.05)


def test_decode_tables():
    """L2 §4.5: 3.37, 0.80 and 0.31 ms at batch 1; 5.1 against 3.4 ms and intensity 4.0 at 64."""
    alone = analytic_ops(LLAMA31_8B, 1, 1, 2047)
    assert milliseconds(alone, "MLP") == pytest.approx(3.37, abs=5e-3)
    assert milliseconds(alone, "attention projections") == pytest.approx(0.80, abs=5e-3)
    assert milliseconds(alone, "lm_head") == pytest.approx(0.31, abs=5e-3)
    assert all(1 <= round(group(alone, name).intensity, 1) <= 4 for name in list(GROUPS)[:4])
    many = analytic_ops(LLAMA31_8B, 64, 1, 2047)
    assert milliseconds(many, "attention core") == pytest.approx(5.1, abs=0.05)
    assert milliseconds(many, "MLP") == pytest.approx(3.4, abs=0.05)
    assert round(group(many, "attention core").intensity, 1) == 4.0
    assert group(many, "MLP").intensity == pytest.approx(60, abs=5)
    share = group(many, "attention core").useful_flops / total(many.values()).useful_flops
    assert share == pytest.approx(0.07, abs=5e-3)


def test_the_ridge_of_an_h100():
    """L2 §4.5."""
    assert round(H100.ridge) == 295


def test_batched_decode_has_a_cap():
    """L2 §5.6: 31.1 at batch 1024, 169 ms, 6,074 tokens/s, 8 % more than at 256; cap about 32."""
    step = decode_step_seconds(LLAMA31_8B, 1024, 4096, H100)
    assert decode_intensity(LLAMA31_8B, 1024, 4096) == pytest.approx(31.1, abs=0.05)
    assert step / MILLISECOND == pytest.approx(169, abs=0.5)
    assert round(1024 / step) == 6_074
    at_256 = 256 / decode_step_seconds(LLAMA31_8B, 256, 4096, H100)
    assert (1024 / step) / at_256 == pytest.approx(1.08, abs=5e-3)
    assert decode_intensity_cap(LLAMA31_8B, 4096) == pytest.approx(32, abs=0.05)


@given(configs(), st.integers(1, 64), st.integers(2, 64))
def test_intensity_grows_with_the_batch_and_stays_below_its_cap(config, batch, context):
    one, more = (decode_intensity(config, n, context) for n in (batch, batch + 1))
    assert one < more < decode_intensity_cap(config, context) * (1 + 1e-12)


def test_what_a_cache_saves():
    """L2 exercise 6: 64.2 TFLOP, 94.9 PFLOP, 1,480 times; §5.4: about 4,200 times."""
    with_cache = generation_flops(LLAMA31_8B, 2000, 2000, cached=True)
    without = generation_flops(LLAMA31_8B, 2000, 2000, cached=False)
    assert with_cache == pytest.approx(64.2e12, rel=1e-3)
    assert without == pytest.approx(94.9e15, rel=1e-3)
    assert without / with_cache == pytest.approx(1480, rel=2e-3)
    longer = [generation_flops(LLAMA31_8B, 1000, 8000, cached) for cached in (False, True)]
    assert longer[0] / longer[1] == pytest.approx(4200, rel=0.012)


def test_exercise_1():
    """17.44 B parameters, attention 24.6 %, 512 KiB of int8 cache a token."""
    config = ModelConfig("q1", 64, 4096, 32, 32, 128, 16384, 32000)
    assert config.n_params() == pytest.approx(17.44e9, rel=3e-4)
    assert 64 * 4 * 4096**2 / config.n_params() == pytest.approx(0.246, abs=5e-4)
    assert config.kv_bytes_per_token(1) == 512 * 1024


def test_exercise_3():
    """80,640, and the rule's refusals."""
    assert einsum_flops("ijkl,ijmno->klmno", (2, 3, 4, 5), (2, 3, 6, 7, 8)) == 80_640
    assert doctest.testmod(einsum).failed == 0


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("ab,bc->ac", [(2, 3), (4, 5)]),
        ("ab,bc->ac", [(2, 3)]),
        ("ab,bc->ac", [(2, 3), (3, 4, 5)]),
        ("ab,bc->ad", [(2, 3), (3, 4)]),
        ("ab->ab", [(2, 3)]),
        ("...a,ab->b", [(2, 3), (3, 4)]),
        ("ab,bc", [(2, 3), (3, 4)]),
    ],
)
def test_contractions_that_make_no_sense_are_refused(spec, shapes):
    with pytest.raises(ValueError):
        einsum_flops(spec, *shapes)


def test_exercise_4():
    """7.53, 7.94 and 8.00, and what the account of the whole step says."""
    values = [gqa_intensity(8, context) for context in (128, 1024, 32768)]
    assert [round(value, 2) for value in values] == [7.53, 7.94, 8.00]
    for context, value in zip((128, 1024, 32768), values, strict=True):
        core = analytic_ops(LLAMA31_70B, 3, 1, context - 1)["attention"]
        assert core.intensity == pytest.approx(value)


def test_exercise_5():
    """85.9 and 171.8 GB; the FP8 weights are 70.6 GB."""
    for bytes_per_number, gigabytes in ((1, 85.9), (2, 171.8)):
        per_token = LLAMA31_70B.kv_bytes_per_token(bytes_per_number)
        assert 4 * 131_072 * per_token / 1e9 == pytest.approx(gigabytes, abs=0.05)
    assert LLAMA31_70B.n_params() / 1e9 == pytest.approx(70.6, abs=0.05)


def test_cache_as_large_as_the_weights():
    """L2 §5.5: about 120,000 tokens; eight sequences of 128K are eight times the weights."""
    weights = 2 * LLAMA31_8B.n_params()
    per_token = LLAMA31_8B.kv_bytes_per_token()
    assert weights / per_token == pytest.approx(120_000, rel=0.03)
    assert 8 < 8 * 131_072 * per_token / weights < 9


def test_exercise_7_and_the_latent_cache():
    """68.6 and 34.3 KiB against 3.81 MiB: 57 times; 2.25 groups; 131 GB for one MHA sequence."""
    latent = DEEPSEEK_V3_ATTENTION
    assert latent.kv_bytes_per_token() / 1024 == pytest.approx(68.6, abs=0.05)
    assert latent.kv_bytes_per_token(1) / 1024 == pytest.approx(34.3, abs=0.05)
    mha = 2 * 61 * 128 * 128 * 2
    assert mha / 2**20 == pytest.approx(3.81, abs=5e-3)
    assert mha / latent.kv_bytes_per_token() == pytest.approx(57, abs=0.2)
    assert (latent.latent_dim + latent.rope_dim) / (2 * 128) == 2.25
    assert mha * 32_768 / 1e9 == pytest.approx(131, abs=0.1)


def test_absorption():
    """L2 §6.4: bytes 1/71 of MHA's, FLOPs 3.4 times, intensity about 240; expanding: hundreds."""
    context = 32_768
    mha = gqa_core(128, 128, 128 + 64, 128, context)
    absorbed = mla_absorbed_core(DEEPSEEK_V3_ATTENTION, context)
    expanded = mla_expanded_core(DEEPSEEK_V3_ATTENTION, context)
    assert round(mha.cache_bytes / absorbed.cache_bytes) == 71
    assert absorbed.flops / mha.flops == pytest.approx(3.4, abs=0.05)
    assert absorbed.intensity == pytest.approx(240, rel=0.02)
    assert 100 < expanded.flops / mha.flops < 1000
    assert expanded.cache_bytes == absorbed.cache_bytes


def test_four_variants_side_by_side():
    """L2 §6.5: MLA alone nearly balances reading and computing, at over 4 times the computing."""
    latent = mla_absorbed_core(DEEPSEEK_V3_ATTENTION, 32_768)
    reading, computing = latent.seconds(H100, batch=32, n_layers=61)
    assert computing / reading == pytest.approx(0.82, abs=0.02)
    for n_kv_heads in (128, 8, 1):
        core = gqa_core(128, n_kv_heads, 128, 128, 32_768)
        assert core.intensity == pytest.approx(128 / n_kv_heads)
        assert 4 < computing / core.seconds(H100, batch=32, n_layers=61)[1] < 4.5
    bytes_of = [gqa_core(128, groups, 128, 128, 1).cache_bytes for groups in (8, 1)]
    assert bytes_of[1] < latent.cache_bytes / 32_768 < bytes_of[0]


def test_attention_overtakes_the_matrices():
    """L2 §4.4: there both take the same FLOPs, and larger models get there later."""
    for config in (LLAMA31_8B, LLAMA31_70B):
        context = attention_equals_matmuls(config)
        ops = analytic_ops(config, 1, 1, round(context) - 1)
        matmuls = total(ops.values()).useful_flops - ops["attention"].useful_flops
        assert ops["attention"].useful_flops == pytest.approx(matmuls, rel=1e-4)
    assert attention_equals_matmuls(LLAMA31_8B) < attention_equals_matmuls(LLAMA31_70B)


def test_heads_cost_nothing():
    """L2 §2.6: d = 512, T = 1024, any number of heads; fewer K/V groups leave the core as it is."""
    cores = set()
    for n_heads in (1, 2, 4, 8, 16, 32):
        config = ModelConfig("heads", 1, 512, n_heads, n_heads, 512 // n_heads, 1, 2)
        ops = analytic_ops(config, 1, 1024, 0)
        cores.add((ops["attention"].flops, group(ops, "attention projections").flops))
    assert len(cores) == 1
    shared = analytic_ops(ModelConfig("mqa", 1, 512, 8, 1, 64, 1, 2), 1, 1024, 0)
    assert shared["attention"].flops == next(iter(cores))[0]
    assert group(shared, "attention projections").flops < next(iter(cores))[1]


def test_llama_2_7b():
    """D3: four square matrices, 67.1 M a layer; 32 heads of 128."""
    shapes = param_shapes(LLAMA2_7B)
    of_layer = [shapes[f"layers.0.{name}"] for name in GROUPS["attention projections"]]
    assert of_layer == [(4096, 4096)] * 4
    assert sum(np.prod(shape) for shape in of_layer) == pytest.approx(67.1e6, rel=1e-3)


def test_this_cpu_has_a_ridge():
    """Measured, so only its order is certain."""
    cpu = measure_this_cpu(megabytes=8, size=128, repeats=8)
    assert 1e8 < cpu.flops < 1e14
    assert 1e8 < cpu.bandwidth < 1e13
