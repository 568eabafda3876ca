"""Write the golden data of the public tests, computed by the reference model.

python -m grader.authoring.golden            write assignment/golden/cases.safetensors
python -m grader.authoring.golden --check    only say whether it is stale (exit code 1)
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from assignment.harness.cases import GOLDEN_FILE, load_cases
from assignment.harness.compare import TOLERANCE

from .cases import make_cases

PUBLIC_SEED = 20261129

# Two machines differ in the last digits of exp and sums; nothing graded comes near this.
SAME = min(TOLERANCE.values()) * 1e-3


def to_bytes(cases: dict[str, dict[str, Any]]) -> bytes:
    """Cases as a safetensors file: `case|field` and `case|params|name` tensors, the rest JSON."""
    tensors: dict[str, np.ndarray] = {}
    plain: dict[str, dict[str, Any]] = {}
    for case, fields in cases.items():
        plain[case] = {}
        for field, value in fields.items():
            if isinstance(value, np.ndarray):
                tensors[f"{case}|{field}"] = np.ascontiguousarray(value)
            elif _is_weights(value):
                for name, array in value.items():
                    tensors[f"{case}|{field}|{name}"] = np.ascontiguousarray(array)
            else:
                plain[case][field] = value
    return save(tensors, metadata={"cases": json.dumps(plain, sort_keys=True)})


def _is_weights(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(x, np.ndarray) for x in value.values())


def write(path: Path = GOLDEN_FILE) -> None:
    """Compute the public cases and write them."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(to_bytes(make_cases(PUBLIC_SEED)))


@cache
def _public_cases() -> dict[str, dict[str, Any]]:
    """What the reference computes, which takes it seconds."""
    return make_cases(PUBLIC_SEED)


def stale_cases(path: Path = GOLDEN_FILE) -> list[str]:
    """Names of the cases in the file that differ from what the reference computes now."""
    if not path.exists():
        return ["(no file)"]
    stored, fresh = load_cases(path), _public_cases()
    missing = sorted(stored.keys() ^ fresh.keys())
    return missing + [
        name
        for name, fields in fresh.items()
        if name in stored and not _same(vars(stored[name]), fields | {"name": name})
    ]


def _same(stored: Any, fresh: Any) -> bool:
    if isinstance(fresh, dict):
        return stored.keys() == fresh.keys() and all(_same(stored[k], fresh[k]) for k in fresh)
    if isinstance(fresh, np.ndarray) and fresh.dtype.kind == "f":
        return stored.dtype == fresh.dtype and np.allclose(stored, fresh, SAME, SAME)
    if isinstance(fresh, np.ndarray):
        return stored.dtype == fresh.dtype and np.array_equal(stored, fresh)
    return stored == fresh


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        stale = stale_cases()
        if stale:
            named = ", ".join(stale[:5])
            print(f"golden data is stale ({named}): run python -m grader.authoring.golden")
        return 1 if stale else 0
    write()
    print(
        f"{GOLDEN_FILE.name}: {len(make_cases(PUBLIC_SEED))} cases, "
        f"{GOLDEN_FILE.stat().st_size / 1024:.0f} KiB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
