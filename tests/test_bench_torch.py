"""The timing test of the torch part, on the CPU. One worker in the sandbox, the others in here.

Their verdicts come of the same adapter and the same checks; only the pipe and the standing still,
which test_bench.py tests, are left out.
"""

import contextlib
import importlib
import json
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
import pytest
from late import late
from test_bench import CONFIG, LOOPS, check_verdict, lay_out
from typer.testing import CliRunner

from grader.bench.adapter import perturbed
from grader.bench.experiment import run_experiment
from grader.bench.oracle import expected_logits, torch_logits
from grader.bench.prepare import SOLUTION, lay_out_solution
from grader.bench.setting import Setting
from grader.bench.verify import Refused, Tolerance, check_steps
from grader.cli.main import app
from grader.sandbox import SandboxUnavailable, choose_sandbox
from grader.sandbox.bubblewrap import Bubblewrap
from grader.sandbox.extras import Extras, driver_folders, equip, packages_to_bind
from reference_model import ModelConfig, init_llama

torch = late("torch")

TORCH_LOOPS = [name for name in LOOPS if name.startswith("torch_")]
SETTING = Setting("torch", "cpu", "float32", CONFIG, (8, 21), 4, 6, 5, repetitions=2)


class LoopHere:
    """The adapter of a laid-out submission in this process, under a package name of its own."""

    def __init__(self, folder: Path, base: dict, setting: Setting = SETTING):
        package = types.ModuleType(f"bench_{folder.name}_{id(self)}")
        package.__path__ = [str(folder / "assignment")]
        sys.modules[package.__name__] = package
        self._package, self._base, self._setting = package.__name__, base, setting
        self._adapter = importlib.import_module(f"{package.__name__}._bench_adapter")

    def setup(self):
        self._adapter.bench_setup("torch", "cpu", self._setting.dtype, "", 1)

    def open(self, seed):
        self._adapter.bench_open(CONFIG.to_dict(), self._base, seed)

    def turn(self, others):
        return contextlib.nullcontext()

    def close(self):
        for name in [n for n in sys.modules if n.partition(".")[0] == self._package]:
            del sys.modules[name]

    def __getattr__(self, name):
        return getattr(self._adapter, f"bench_{name}")


@pytest.fixture(scope="module")
def base():
    return init_llama(CONFIG, 11, np.float32)


@pytest.fixture
def here(tmp_path, base):
    """Makes loops by the names of hostile files; "" is the solution's."""
    with contextlib.ExitStack() as held:

        def make(name: str, setting: Setting = SETTING) -> LoopHere:
            folder = Path(tempfile.mkdtemp(dir=tmp_path)) / (name or "solution")
            if name:
                lay_out(folder, name, "decode_torch")
            else:
                lay_out_solution(folder, "torch")
            loop = LoopHere(folder, base, setting)
            held.callback(loop.close)
            return loop

        yield make


@pytest.fixture
def unpatched(monkeypatch):
    """What torch_patched replaces is put back afterwards."""
    for place, names in (
        (torch, ("allclose", "equal")),
        (torch.testing, ("assert_close",)),
        (torch.cuda, ("Event", "synchronize")),
        (torch.Tensor, ("clone",)),
    ):
        for name in names:
            monkeypatch.setattr(place, name, getattr(place, name))


@pytest.mark.parametrize("name", TORCH_LOOPS)
def test_a_torch_loop_gets_the_verdict_in_its_file(here, base, unpatched, name):
    check_verdict(name, run_experiment(SETTING, base, here(name), here("")))


def test_on_a_gpu_an_answer_is_read_when_the_device_has_finished(here, monkeypatch):
    logits, copies = torch.zeros(1, 3), []

    def finish():
        """What a kernel on some stream has still to do."""
        logits.fill_(2.0)
        copies.append("finished")

    monkeypatch.setattr(torch.cuda, "synchronize", finish)
    torch.backends.cuda.matmul.allow_tf32 = True
    run = here("")._adapter._Torch("cuda", "float32", "", torch.get_num_threads())
    assert not torch.backends.cuda.matmul.allow_tf32
    assert run.out(logits) == ["torch.Tensor torch.float32 cpu", None], "it lies on a CPU"
    assert copies == []
    run._device = torch.device("cpu")  # from here on as if that were the GPU
    values = run.out(logits)[1]
    assert copies == ["finished"] and (values == 2).all()
    run.products([np.ones((4, 3), np.float32)])(2, 3, 5)
    assert copies == ["finished"] * 2, "the bound too is over when the device has finished"


def test_the_command_times_torch_in_the_sandbox(tmp_path):
    try:
        equip(choose_sandbox("auto"), Extras(packages=("torch",)))
    except SandboxUnavailable as problem:
        pytest.skip(f"no sandbox for torch here: {str(problem).splitlines()[0]}")
    out, plot = tmp_path / "bench.json", tmp_path / "bench.svg"
    command = ["bench", str(SOLUTION), "--impl", "torch", "--quick", "--repetitions", "1"]
    command += ["--threads", "1", "--out", str(out)]
    with contextlib.suppress(ImportError):
        import matplotlib  # noqa: F401

        command += ["--plot", str(plot)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    content = json.loads(out.read_text())
    assert content["verified"], content["refused"]
    assert content["machine"]["torch"] == torch.version.__version__
    assert content["seconds"]["submission"]["largest_rms_error"] < 1e-5
    if "--plot" in command:
        assert plot.read_text().lstrip().startswith("<?xml")


def test_torch_comes_without_what_it_does_not_need():
    names = {target.name for _, target in packages_to_bind(("torch",))}
    assert {"torch", "typing_extensions.py", "sympy"} <= names
    assert not names & {"pip", "setuptools", "pytest", "grader", "numpy"}


def test_a_package_that_is_not_there_is_named():
    with pytest.raises(SandboxUnavailable, match="no-such-package is not installed"):
        packages_to_bind(("no-such-package",))


def test_the_torch_oracle_is_the_reference_model():
    config = ModelConfig("long", 2, 24, 4, 2, 10, 28, 37, rope_theta=300.0)
    params = init_llama(config, 5, np.float32)
    tokens = np.random.default_rng(0).integers(0, 37, (2, 300))  # more than one block of queries
    got = torch_logits(config, params, tokens, 290, "cpu")
    np.testing.assert_allclose(got, expected_logits(config, params, tokens, 290), atol=1e-11)
    tied = ModelConfig("tied", 1, 24, 4, 2, 10, 28, 37, tied=True)
    params = init_llama(tied, 6, np.float32)
    got = torch_logits(tied, params, tokens[:, :5], 0, "cpu")
    np.testing.assert_allclose(got, expected_logits(tied, params, tokens[:, :5], 0), atol=1e-11)


@pytest.fixture(scope="module")
def bfloat16_case(base):
    """A setting in bfloat16, weights, tokens and the reference's logits behind 30 of them."""
    setting = Setting("torch", "cpu", "bfloat16", CONFIG, (8, 21), 4, 6, 5, repetitions=1)
    weights = perturbed(base, 1, "bfloat16")
    tokens = np.random.default_rng(0).integers(0, CONFIG.vocab_size, (1, 60))
    expected = np.moveaxis(expected_logits(CONFIG, weights, tokens, 29), 1, 0)
    return setting, weights, tokens, expected


def bfloat16_logits(loop: LoopHere, params: dict, tokens) -> np.ndarray:
    loop.setup()
    loop._base = params
    loop._adapter.perturbed = lambda given, seed, dtype: given
    loop.open(0)
    loop.begin(1, 60)
    answers = [loop.prefill(tokens[:, :30])]
    answers += [loop.step(tokens[:, t].copy()) for t in range(30, 60)]
    assert {kind for kind, _ in answers} == {"torch.Tensor torch.bfloat16 cpu"}
    return np.stack([values for _, values in answers])


def in_int8(w: np.ndarray, group: int | None) -> np.ndarray:
    """Rounded to 8 bits, a scale for each `group` inputs of each output, or for all of them."""
    if w.ndim != 2:
        return w
    group = group or len(w)
    parts = [w[i : i + group] for i in range(0, len(w), group)]
    scales = [np.abs(part).max(axis=0, keepdims=True) / 127 for part in parts]
    rounded = [np.round(part / scale) * scale for part, scale in zip(parts, scales, strict=True)]
    return np.concatenate(rounded).astype(np.float32)


@pytest.mark.parametrize("group", [None, 32, 16], ids=["a column", "32", "16"])
def test_int8_weights_do_not_pass_for_bfloat16(here, bfloat16_case, group):
    """Where the dtype is coarse, our own loop's error is the measure: it keeps x in float32."""
    setting, weights, tokens, expected = bfloat16_case
    loose = Tolerance(0.1, 0.2)
    ours = bfloat16_logits(here("", setting), weights, tokens)
    tolerance = Tolerance.of("bfloat16", check_steps(ours, expected, loose, "ours"))
    small = {name: in_int8(w, group) for name, w in weights.items()}
    got = bfloat16_logits(here("", setting), small, tokens)
    with pytest.raises(Refused, match="lower precision"):
        check_steps(got, expected, tolerance, "it")


def test_a_loop_that_rounds_after_each_layer_passes_in_bfloat16(here, bfloat16_case):
    """As many honest loops do: their residual stream x has the dtype of the weights."""
    setting, weights, tokens, expected = bfloat16_case
    loose = Tolerance(0.1, 0.2)
    ours = bfloat16_logits(here("", setting), weights, tokens)
    tolerance = Tolerance.of("bfloat16", check_steps(ours, expected, loose, "ours"))
    loop = here("", setting)
    loop.setup()
    model = importlib.import_module(f"{loop._package}.torch_model").TorchTransformer
    for name in ("embed", "add_attention", "add_mlp"):
        whole = getattr(model, name)
        setattr(model, name, lambda *args, whole=whole: whole(*args).bfloat16())
    got = bfloat16_logits(loop, weights, tokens)
    assert not np.array_equal(got, ours)
    check_steps(got, expected, tolerance, "it")


def test_generate_is_warmed_up_at_the_length_that_is_timed(here, base):
    """So that what a loop captures or compiles for a size is not within the clock."""
    loops, asked = [here(""), here("")], []
    for loop in loops:
        whole = loop._adapter.bench_generate

        def generate(prompt, n, whole=whole):
            asked.append(n)
            return whole(prompt, n)

        loop._adapter.bench_generate = generate
    setting = Setting("torch", "cpu", "float32", CONFIG, (8, 21), 4, 6, 5, repetitions=1)
    run_experiment(setting, base, *loops)
    assert asked == [5] * 4


def maps_of(*paths: str) -> str:
    lines = [f"7f10-7f20 r-xp 00000000 08:01 1234       {path}" for path in paths]
    return "\n".join([*lines, "7ffc-7ffd rw-p 00000000 00:00 0          [stack]", ""])


def test_a_driver_that_lies_elsewhere_is_shown_too():
    system = "/usr/lib/x86_64-linux-gnu/libcuda.so.570.86"
    assert driver_folders(maps_of(system, "/usr/lib/wsl/lib/libcuda.so.1")) == ()
    cloud = "/usr/local/nvidia/lib64/libcuda.so.570.86"
    other = "/usr/local/nvidia/lib64/libnvidia-ptxjitcompiler.so.570.86"
    unrelated = "/usr/local/bin/python3", "/opt/libcudart.so.12"
    found = driver_folders(maps_of(system, cloud, other, *unrelated))
    assert found == (Path("/usr/local/nvidia/lib64"),)


def test_a_worker_finds_a_library_folder_where_it_is(tmp_path):
    plain = choose_sandbox("auto")
    if not isinstance(plain, Bubblewrap):
        pytest.skip(f"bubblewrap does not work here: {plain.tier}")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib").chmod(0o755)
    sandbox, _ = equip(plain, Extras(folders=(tmp_path / "lib",)))
    assert (tmp_path / "lib", tmp_path / "lib") in sandbox._view.binds
    usual = plain._environment().get("LD_LIBRARY_PATH")
    expected = ":".join(filter(None, [usual, str(tmp_path / "lib")]))
    assert sandbox._environment()["LD_LIBRARY_PATH"] == expected, "the interpreter's stays first"
    assert equip(plain, Extras())[0]._environment() == plain._environment()
