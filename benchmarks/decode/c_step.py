"""The record's decode step of one sequence on a CPU: step.c, compiled where there is a compiler.

In torch a step is a hundred and fifty operations beside its products, each of which takes some
microseconds; here they are a few loops, and one team of threads runs the whole step.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from solution.torch_model import TorchTransformer

if TYPE_CHECKING:
    from .record import RecordCache

SOURCE = Path(__file__).with_name("step.c")
DTYPES = {torch.float32: (), torch.bfloat16: ("-DBFLOAT16",)}
FLAGS = ["-O3", "-march=native", "-std=c11", "-fPIC", "-shared", "-fopenmp"]
FLAGS += ["-fno-math-errno", "-fno-trapping-math"]
COMPILE_SECONDS = 60
Integers = ctypes.c_long


class Matrix(ctypes.Structure):
    """step.c's Matrix."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        *((name, Integers) for name in ("stride", "rows_first", "n_in", "n_out")),
    )

    @classmethod
    def of(cls, w: Tensor) -> Matrix:
        """w (d_in, d_out), one of whose axes is contiguous."""
        rows_first = w.stride(1) == 1
        assert rows_first or w.stride(0) == 1
        return cls(w.data_ptr(), w.stride(0 if rows_first else 1), rows_first, *w.shape)


class Model(ctypes.Structure):
    """step.c's Model."""

    SIZES = ("n_layers", "d_model", "n_heads", "n_kv_heads", "head_dim", "d_ff", "n_threads")
    STRIDES = ("layer", "value", "group", "position", "feature")
    BUFFERS = ("x", "qkv", "hidden", "partial", "wide_logits")
    _fields_ = (
        *((name, Integers) for name in SIZES),
        ("norm_eps", ctypes.c_float),
        ("matrices", ctypes.POINTER(Matrix)),
        ("norms", ctypes.POINTER(ctypes.c_void_p)),
        ("embedding", ctypes.c_void_p),
        ("cache", ctypes.c_void_p),
        *((f"{name}_stride", Integers) for name in STRIDES),
        *((name, ctypes.c_void_p) for name in BUFFERS),
    )


def can_step(device: str | torch.device, dtype: torch.dtype, batch_size: int) -> bool:
    """Whether CStep can be made: one sequence, a dtype it knows, a compiler that works."""
    if torch.device(device).type != "cpu" or batch_size != 1 or dtype not in DTYPES:
        return False
    return library(dtype) is not None


@once
def library(dtype: torch.dtype) -> ctypes.CDLL | None:
    """step.c compiled for this machine and these weights, or None where that does not work."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not compiler or shutil.which(compiler[0]) is None:
        return None
    wide = ["-mprefer-vector-width=512"] if platform.machine() == "x86_64" else []
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "step.so"
        command = [*compiler, *FLAGS, *wide, *DTYPES[dtype], str(SOURCE), "-o", str(built), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=COMPILE_SECONDS)
            loaded = ctypes.CDLL(str(built))
        except (OSError, subprocess.SubprocessError):
            return None
    loaded.step.argtypes = [ctypes.POINTER(Model), Integers, Integers, *[ctypes.c_void_p] * 2]
    loaded.step.restype = None
    return loaded


class CStep:
    """A decode step of one sequence, on as many threads as torch has when it is made."""

    def __init__(self, model: TorchTransformer, cache: RecordCache) -> None:
        c = model.config
        self.params = model.params
        self.step = library(model.dtype).step
        self.rotations = torch.view_as_real(cache.rotations)
        self.length, self.keys_and_values = cache.length, cache.keys_and_values
        self.logits = torch.empty(1, c.vocab_size, dtype=model.dtype)
        threads = torch.get_num_threads()
        sizes = {
            "x": c.d_model,
            "qkv": (c.n_heads + 2 * c.n_kv_heads) * c.head_dim,
            "hidden": 2 * c.d_ff,
            "partial": threads * c.n_heads * (c.head_dim + 2),
            "wide_logits": c.vocab_size,
        }
        self.buffers = {name: torch.zeros(size) for name, size in sizes.items()}
        self.arrays = self._matrices(model), self._norms(model)
        shape = (c.n_layers, c.d_model, c.n_heads, c.n_kv_heads, c.head_dim, c.d_ff, threads)
        layer, value, _, group, position, feature = cache.keys_and_values.stride()
        self.model = Model(
            *shape,
            c.norm_eps,
            *self.arrays,
            model.params["embedding"].data_ptr(),
            cache.keys_and_values.data_ptr(),
            *(layer, value, group, position, feature),
            *(self.buffers[name].data_ptr() for name in Model.BUFFERS),
        )

    def __call__(self, token: Tensor) -> Tensor:
        position = int(self.length)
        rotation = self.rotations.data_ptr() + position * self.rotations.stride(0) * 4
        self.step(self.model, int(token), position, rotation, self.logits.data_ptr())
        self.length.add_(1)
        return self.logits

    @staticmethod
    def _matrices(model: TorchTransformer) -> ctypes.Array:
        found = []
        for layer in range(model.config.n_layers):
            p = f"layers.{layer}."
            found += [model.fused[p + "w_qkv"], model.params[p + "w_o"]]
            found += [model.fused[p + "w_gate_up"], model.params[p + "w_down"]]
        found.append(model.output_matrix)
        return (Matrix * len(found))(*map(Matrix.of, found))

    @staticmethod
    def _norms(model: TorchTransformer) -> ctypes.Array:
        names = [
            f"layers.{layer}.{name}_norm"
            for layer in range(model.config.n_layers)
            for name in ("attention", "mlp")
        ]
        found = [model.params[name].data_ptr() for name in (*names, "final_norm")]
        return (ctypes.c_void_p * len(found))(*found)
