"""The decode benchmark: its loops decode the same text, and the script for a GPU runs through."""

from __future__ import annotations

import json
import time
from argparse import Namespace

import pytest
from late import late

torch = pytest.importorskip("torch", reason="torch is not installed")
late("transformers")

from benchmarks.decode import __main__ as decode_main  # noqa: E402
from benchmarks.decode import accounts, gpu, loops, measure, results  # noqa: E402
from benchmarks.decode.bound import Bound  # noqa: E402
from benchmarks.decode.measure import random_params  # noqa: E402
from reference_model.config import ModelConfig  # noqa: E402
from solution.torch_model import TorchTransformer  # noqa: E402

TINY = ModelConfig("tiny", 2, 32, 4, 2, 8, 48, 101)
TIED = ModelConfig("tiny", 2, 32, 4, 2, 8, 48, 101, tied=True)


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("config", [TINY, TIED], ids=["untied", "tied"])
def test_every_loop_makes_the_same_tokens(config):
    params = random_params(config)
    model = TorchTransformer(config.to_dict(), params)
    theirs = loops.huggingface_model(config, params, torch.float32)
    timed = {
        "ours": loops.Ours(model, 8),
        "answer": loops.Answer(model, 8),
        "recompute": loops.Recompute(model, 8),
        "numpy": loops.Numpy(config, params, 8),
        "static eager": loops.StaticEager(config, params, torch.float32, 8),
        "HF dynamic": loops.HuggingFace(theirs, "dynamic", 8),
        "HF static": loops.HuggingFace(theirs, "static", 8),
    }
    prompt = measure.random_prompt(config.vocab_size, 9)
    for loop in timed.values():
        loop.begin(prompt)
        assert len(loop.run(6)) == 6
    assert all(measure.same_tokens(timed, "ours", n=7).values())
    timed["ours"].tokens[3] = timed["ours"].tokens[3] + 1
    assert not measure.same_tokens(timed, "ours", n=7)["numpy"]


@pytest.mark.skipif(not loops.can_compile("cpu"), reason="no C++ compiler, or no Python headers")
def test_the_compiled_loop_makes_the_same_tokens():
    params = random_params(TINY)
    prompt = measure.random_prompt(TINY.vocab_size, 9)
    compiled = loops.StaticCompiled(TINY, params, torch.float32, 8)
    made = []
    for loop in (loops.StaticEager(TINY, params, torch.float32, 8), compiled, compiled):
        loop.begin(prompt)
        loop.run(6)
        made.append([int(token) for token in loop.tokens])
    # The second text of the compiled loop is made in the cache of the first.
    assert made[0] == made[1] == made[2]


def test_the_bound_reads_the_accounts_bytes():
    model = TorchTransformer(TINY.to_dict(), random_params(TINY))
    account = accounts.step_account(TINY, 512, bytes_per_number=4)
    # The account's step also reads the key and value it has just written.
    one_position = TINY.kv_bytes_per_token(4)
    expected = account["weight_bytes"] + account["kv_bytes"] - one_position
    assert Bound(model, 512).bytes == expected


def test_a_row_has_every_loop_and_the_fastest_way_of_the_bound(monkeypatch):
    monkeypatch.setattr(measure, "PAUSE_S", 0)
    model = TorchTransformer(TINY.to_dict(), random_params(TINY))
    bound = Bound(model, 16)
    bound.ways["slow"] = Namespace(run=lambda n: [1000.0] * n)
    bound.ways["fast"] = Namespace(run=lambda n: [1.0] * measure.UNTIMED_STEPS + [0.0] * 2)
    options = Namespace(rounds=3, steps=2, seconds=60)
    timed = {"recompute": loops.Recompute(model, 20), "ours f32": loops.Ours(model, 20)}
    row = measure.interleaved(timed, {"bound f32": bound}, measure.random_prompt(101, 5), options)
    # The first steps of a turn are not counted; recompute takes one step in the first two rounds.
    assert (row["bound f32"]["ms"], row["bound f32"]["way"]) == (0, "fast")
    assert row["bound f32"]["timed"] == 6
    assert row["ours f32"]["timed"] == 6 and row["recompute"]["timed"] == 2
    results.add_ratios({"contexts": {5: {"loops": row}}})
    assert row["ours f32"]["share_of_bound"] == 0
    slow = row["ours f32"]["share_by_way"]["slow"]
    assert slow == measure.ratio({"ms": 1e6, "turns_ms": [1e6] * 3}, row["ours f32"])


def test_a_run_shares_its_time_among_its_contexts(monkeypatch):
    now = iter([0.0, 90.0, 500.0])
    monkeypatch.setattr(decode_main.time, "monotonic", lambda: next(now))
    assert decode_main.seconds_for_one(400.0, 4) == 100
    assert decode_main.seconds_for_one(400.0, 3) == 310 / 3
    assert decode_main.seconds_for_one(400.0, 1) == 0


def test_the_shares_of_each_product_are_printed(capsys):
    row = {"ours f32": {"ms": 2.0, "share_of_bound": 0.8, "share_by_way": {"mm": 0.8, "mv": 0.9}}}
    account = accounts.step_account(TINY, 64, bytes_per_number=4)
    result = {"model": "tiny", "note": "", "contexts": {64: {"loops": row, "account": account}}}
    results.print_tables(result)
    printed = capsys.readouterr().out
    assert "ours f32, mm" in printed and "80%" in printed
    assert "ours f32, mv" in printed and "90%" in printed


def test_loops_are_compared_round_by_round():
    """Drift that makes every third round ten times slower cancels, as does one disturbed step."""
    ours = measure.summary([[2.0, 2.0, 9.0], [20.0, 20.0, 20.0], [2.0, 2.0, 2.0]])
    bound = measure.summary([[1.0, 1.0, 1.0], [10.0, 90.0, 10.0], [1.0, 1.0, 1.0]])
    assert ours["turns_ms"] == [2000, 20000, 2000] and ours["least_ms"] == 2000
    assert measure.ratio(bound, ours) == 0.5
    # The loop that recomputes is timed in two rounds only; a GPU's bound has none.
    assert measure.ratio(measure.summary([[4.0], [40.0]]), ours) == 2
    assert measure.ratio({"ms": 500.0}, ours) == 500 / ours["ms"]


def test_the_lectures_table_compares_equal_texts():
    (row,) = accounts.cache_against_recompute(TINY, random_params(TINY), 5, [4])
    assert row["same_tokens"]
    assert row["flop_ratio"] > 3


def test_the_gpu_script_runs_through_on_a_cpu(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "DEVICE", "cpu")
    monkeypatch.setattr(gpu, "GPU_MODEL", TIED)
    monkeypatch.setattr(loops, "can_compile", lambda device: False)
    agreement = gpu._agreement()
    assert agreement.keys() == gpu.LARGEST_DIFFERENCE.keys()
    left_out: list[str] = []
    params = random_params(TIED)
    generators = gpu._generators(params, left_out)
    options = Namespace(tokens=4, rounds=2)
    row = gpu._one_context(generators, 16, options, time.monotonic() + 600, left_out)
    result = {"model": "tiny", "note": "", "machine": results.machine(), "contexts": {16: row}}
    result |= {"tests": [], "agreement": agreement}
    assert gpu.faults(result) == []
    results.add_ratios(result)
    assert left_out == ["static compiled: torch.compile needs Triton and a C compiler"]
    assert set(row["loops"]) == {*generators, "bound bf16"}
    assert row["loops"]["ours bf16"]["share_of_bound"] > 0
    path = results.write(result, tmp_path, "decode_gpu")[0]
    assert json.loads(path.read_text())["contexts"]["16"]["loops"].keys() == row["loops"].keys()


def gpu_result(loops_by_context: dict[int, dict], **changes) -> dict:
    good = {"tests": [], "agreement": {"float32": 1e-6, "bfloat16": 0.01}}
    return good | {"contexts": {c: {"loops": row} for c, row in loops_by_context.items()}} | changes


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (gpu_result({64: {"ours bf16": {}}}), None),
        (gpu_result({64: {"HF dynamic bf16": {}}}), "context 64: our own loop has no time"),
        (gpu_result({}, agreement={"float32": 1e-3}), "float32: the steps differ by 1.0e-03"),
        (gpu_result({}, agreement={"bfloat16": float("nan")}), "bfloat16: the steps differ by nan"),
        (gpu_result({}, tests=[{"arguments": ["-m", "gpu"], "returncode": 1}]), "failed: pytest"),
    ],
)
def test_figures_of_a_gpu_that_is_wrong_fail(result, says):
    found = gpu.faults(result)
    assert [text.startswith(says) for text in found] == ([] if says is None else [True])


def test_a_loop_that_fails_on_a_gpu_loses_its_own_times_alone(monkeypatch):
    monkeypatch.setattr(gpu, "DEVICE", "cpu")
    monkeypatch.setattr(gpu, "GPU_MODEL", TIED)

    def broken(prompt, n):
        raise RuntimeError("an illegal address")

    generators = {gpu.OURS: broken, "other bf16": lambda prompt, n: torch.zeros(1, n)}
    left_out: list[str] = []
    options = Namespace(tokens=4, rounds=2)
    row = gpu._one_context(generators, 16, options, time.monotonic() + 60, left_out)
    assert list(row["loops"]) == ["other bf16", "bound bf16"]
    assert left_out == ["ours bf16 at context 16: RuntimeError: an illegal address"]
    row = gpu._one_context(generators, 16, options, time.monotonic() - 1, left_out)
    assert list(row["loops"]) == ["bound bf16"]
    assert left_out[1:] == [f"{name} at context 16: no time was left" for name in generators]


def test_contexts_that_came_out_of_order_are_drawn_in_order(monkeypatch, tmp_path):
    """And each time stands at its own context where a loop has none at another."""
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    drawn = {}
    monkeypatch.setattr(
        Axes, "plot", lambda self, x, y, *args, label, **kwargs: drawn.update({label: (x, y)})
    )
    monkeypatch.setattr(Axes, "legend", lambda *args, **kwargs: None)
    rows = {4096: {"a": {"ms": 3}, "b": {"ms": 6}}, 64: {"a": {"ms": 1}}, 256: {"b": {"ms": 5}}}
    result = {"model": "", "machine": results.machine()}
    result["contexts"] = {c: {"loops": row} for c, row in rows.items()}
    results.write(result, tmp_path, "out")
    assert drawn == {"a": ([64, 4096], [1, 3]), "b": ([256, 4096], [5, 6])}


def test_a_compiled_loop_whose_graphs_were_left_out_gets_no_time(monkeypatch):
    """Its weights and cache are a module's buffers, which a graph takes for memory that stays."""
    params = random_params(TINY)
    loop = loops.StaticCompiled(TINY, params, torch.float32, 8)
    loop.step = loop.forward
    loop.begin(measure.random_prompt(TINY.vocab_size, 9))
    buffers = {name for name, _ in loop.named_buffers()}
    assert {"k", "v", "mask", "rotation", "w_qkv_1", "w_down_0", "embedding"} <= buffers
    assert len(loop.run(2)) == 2
    skips = iter([3, 4])
    monkeypatch.setattr(loops, "graphs_left_out", lambda: next(skips))
    with pytest.raises(RuntimeError, match="left out CUDA graphs"):
        loop.run(2)
