"""Golden cases: inputs and expected values that the reference model computed.

A case file is a safetensors file. Tensor `rope/float64|x` is input x of case `rope/float64`;
numbers, names and the like stand in the header. The format is read here with numpy alone, so
that a student installs nothing for it: https://github.com/huggingface/safetensors#format.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from .words import tr

Case = SimpleNamespace
Cases = dict[str, Case]

GOLDEN_FILE = Path(__file__).parent.parent / "golden" / "cases.safetensors"

_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "BOOL": "|b1"}


def read_safetensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """All tensors of a file, as views of a memory map, and its string metadata.

    Writing to one changes this process's copy and never the file.

    Raises:
        ValueError: the file is not a whole safetensors file of the dtypes used here.
    """
    blob = np.memmap(path, dtype=np.uint8, mode="c")
    try:
        header_size = int(blob[:8].view("<u8")[0])
        header = json.loads(bytes(blob[8 : 8 + header_size]))
        metadata = header.pop("__metadata__", {})
        data = blob[8 + header_size :]
        tensors = {name: _tensor(data, entry) for name, entry in header.items()}
    except (ValueError, KeyError, IndexError, TypeError) as error:
        words = tr(
            "{file} is damaged ({error}); get a fresh copy of it", file=path.name, error=error
        )
        raise ValueError(words) from error
    return tensors, metadata


def _tensor(data: np.ndarray, entry: dict) -> np.ndarray:
    start, end = entry["data_offsets"]
    array = np.asarray(data[start:end]).view(_DTYPES[entry["dtype"]])
    return array.reshape(entry["shape"])


def load_cases(path: Path = GOLDEN_FILE) -> Cases:
    """The cases of a file by name; `case.x` is input x, `case.params["embedding"]` a weight."""
    tensors, metadata = read_safetensors(path)
    cases: dict[str, dict] = {name: dict(fields) for name, fields in _plain(metadata).items()}
    for name, array in tensors.items():
        case, field, *inner = name.split("|")
        if inner:
            cases[case].setdefault(field, {})[inner[0]] = array
        else:
            cases[case][field] = array
    return {name: Case(name=name, **fields) for name, fields in cases.items()}


def _plain(metadata: dict[str, str]) -> dict[str, dict]:
    return json.loads(metadata["cases"])
