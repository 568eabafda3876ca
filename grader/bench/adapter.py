"""Runs in the worker beside a submission: arrays in, calls of its functions, arrays out.

It lies in the submission's process, so nothing it says is trusted and no clock is read here. What
counts is on the other side of the pipe: when the bytes of an answer came, and whether they are
right. What it says of types, dtypes and devices serves honest submissions; who makes it lie gains
nothing by it.

The grader imports `perturbed` from here, so that both sides compute the same weights.
"""

import sys

import numpy as np

# What the calls below share: how to run (setup), the model (open), its cache (begin).
_now: dict = {}


def perturbed(params: dict, seed: int, dtype: str) -> dict:
    """New weights made of old ones: each row of each array times a random factor, then rounded.

    One pass over the bytes gives a model whose every output is another. The arrays stay float32
    and hold numbers that `dtype` (float32, float16 or bfloat16) can hold.
    """
    made = {}
    for place, (name, values) in enumerate(sorted(params.items())):
        factors = np.random.default_rng([seed, place]).uniform(0.8, 1.25, len(values))
        factors = factors.astype(values.dtype).reshape(-1, *(1,) * (values.ndim - 1))
        made[name] = _rounded(values * factors, dtype)
    return made


def _rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "float16":
        return values.astype(np.float16).astype(np.float32)
    if dtype == "bfloat16":
        bits = values.view(np.uint32)
        bits = bits + 0x7FFF + ((bits >> 16) & 1)  # to the nearest, halves to even
        return (bits & 0xFFFF0000).view(np.float32)
    return values


def bench_setup(impl: str, device: str, dtype: str, packages: str, threads: int) -> None:
    """Import what is to be timed; before anything else."""
    make = _Torch if impl == "torch" else _Numpy
    _now["functions"] = make(device, dtype, packages, threads)
    _now["dtype"] = dtype


def bench_open(config: dict, params: dict, seed: int) -> None:
    """Load a model with perturbed weights; the one before is gone."""
    _now.pop("model", None)
    _now.pop("cache", None)
    _now["config"] = config
    _now["params"] = perturbed(params, seed, _now["dtype"])
    _now["model"] = _now["functions"].load(config, _now["params"])


def bench_begin(batch: int, max_len: int) -> None:
    """An empty cache."""
    _now["cache"] = _now["functions"].cache(_now["config"], batch, max_len)


def bench_prefill(tokens: np.ndarray) -> list:
    """[kind, logits (B, V)] after tokens (B, T)."""
    run = _now["functions"]
    return run.out(run.prefill(_now["model"], run.into(tokens), _now["cache"]))


def bench_step(token: np.ndarray) -> list:
    """[kind, logits (B, V)] after one more token (B,)."""
    run = _now["functions"]
    return run.out(run.decode_step(_now["model"], run.into(token), _now["cache"]))


def bench_generate(prompt: np.ndarray, max_new_tokens: int) -> list:
    """[kind, tokens (B, n)], greedy."""
    run = _now["functions"]
    return run.out(run.generate(_now["model"], run.into(prompt), max_new_tokens))


def bench_products(context: int, repeats: int) -> None:
    """The bound: a matrix-vector product over every matrix and over a cache of `context` positions.

    Asked of the trusted worker only.
    """
    config = _now["config"]
    if "products" not in _now or _now["products"][0] is not _now["model"]:
        wanted = [v for k, v in _now["params"].items() if v.ndim == 2 and k != "embedding"]
        if config.get("tied"):
            wanted.append(_now["params"]["embedding"].T)
        _now["products"] = _now["model"], _now["functions"].products(wanted)
    width = config["n_kv_heads"] * config["head_dim"]
    cached = 2 * config["n_layers"] * context
    _now["products"][1](cached, width, repeats)


class _Numpy:
    """The submission's numpy functions."""

    def __init__(self, device: str, dtype: str, packages: str, threads: int) -> None:
        from . import kv_cache, transformer

        self._dtype = np.dtype(dtype)
        self._new_cache = kv_cache.KVCache
        self.load = transformer.load_model
        self.prefill, self.decode_step = kv_cache.prefill, kv_cache.decode_step
        self.generate = kv_cache.generate

    def cache(self, config: dict, batch: int, max_len: int):
        c = config
        return self._new_cache(
            c["n_layers"], batch, c["n_kv_heads"], max_len, c["head_dim"], self._dtype
        )

    def into(self, tokens: np.ndarray) -> np.ndarray:
        return tokens

    def out(self, result) -> list:
        kind = f"{type(result).__module__}.{type(result).__qualname__}"
        return [kind, result if type(result) is np.ndarray else None]

    def products(self, matrices: list):
        vectors = [np.ones(len(w), w.dtype) for w in matrices]

        def run(rows: int, width: int, repeats: int) -> None:
            cached, vector = np.ones((rows, width), self._dtype), np.ones(width, self._dtype)
            for _ in range(repeats):
                for x, w in zip(vectors, matrices, strict=True):
                    x @ w
                cached @ vector

        return run


class _Torch:
    """The submission's torch functions. Tensors are exact torch.Tensor, in dtype, on the device."""

    def __init__(self, device: str, dtype: str, packages: str, threads: int) -> None:
        if packages and packages not in sys.path:
            sys.path.append(packages)
        import torch

        torch.set_num_threads(threads)
        self._torch, self._tensor, self._no_grad = torch, torch.Tensor, torch.no_grad
        # TF32 would pass for float32 in all but its results.
        torch.backends.cuda.matmul.allow_tf32 = False
        self._device, self._dtype = torch.device(device), getattr(torch, dtype)
        self._finish = torch.cuda.synchronize if device == "cuda" else lambda: None

        from . import decode_torch, torch_model, transformer

        self._config_of, self._model = transformer.ModelConfig, torch_model.TorchTransformer
        self._new_cache = decode_torch.StaticCache
        self._functions = decode_torch

    def load(self, config: dict, params: dict):
        # In memory of its own: what is done to it cannot reach the arrays of the bound.
        own = {name: values.copy() for name, values in params.items()}
        return self._model(self._config_of(**config), own, self._device, self._dtype)

    def cache(self, config: dict, batch: int, max_len: int):
        config = self._config_of(**config)
        return self._new_cache(config, batch, max_len, self._device, self._dtype)

    def prefill(self, *args):
        with self._no_grad():
            return self._functions.prefill(*args)

    def decode_step(self, *args):
        with self._no_grad():
            return self._functions.decode_step(*args)

    def generate(self, *args):
        with self._no_grad():
            return self._functions.generate(*args)

    def into(self, tokens: np.ndarray):
        return self._torch.from_numpy(tokens).to(self._device)

    def out(self, result) -> list:
        if type(result) is not self._tensor:
            return [f"{type(result).__module__}.{type(result).__qualname__}", None]
        kind = f"torch.Tensor {result.dtype} {result.device.type}"
        if result.device.type != self._device.type:
            return [kind, None]
        # The whole device, whatever stream the work is on; then a copy that the host holds.
        self._finish()
        result = result.detach()
        if result.is_floating_point() and result.dtype != self._torch.float64:
            result = result.to(self._torch.float32)
        return [kind, np.array(result.cpu().numpy())]

    def products(self, matrices: list):
        torch = self._torch
        matrices = [torch.from_numpy(w).to(self._device, self._dtype) for w in matrices]
        if self._device.type != "cpu" or self._dtype != torch.float32:
            # A dot product for each output: faster here, and slower with MKL's float32.
            matrices = [w.T.contiguous().T for w in matrices]
        vectors = [torch.ones(len(w), device=w.device, dtype=w.dtype) for w in matrices]

        def run(rows: int, width: int, repeats: int) -> None:
            like = {"device": self._device, "dtype": self._dtype}
            cached, vector = torch.ones(rows, width, **like), torch.ones(width, **like)
            for _ in range(repeats):
                for x, w in zip(vectors, matrices, strict=True):
                    torch.mv(w.T, x)
                torch.mv(cached, vector)
            self._finish()

        return run
