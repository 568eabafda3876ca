"""The loops that are timed: ours and those it should be ahead of, on the same weights.

Each is made once for a model. `begin(prompt)` makes the first token; `run(n)` makes n more and
returns the seconds of each. `tokens` holds all of them, so that what was timed can be checked.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  (its customary name)
from torch import Tensor

from reference_model.config import ModelConfig
from solution import decode_torch, kv_cache, transformer
from solution.torch_model import TorchTransformer

from . import now, record

Params = dict[str, Tensor]


class Loop:
    """A decode loop that makes one token at a time."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.tokens: list[Tensor] = []

    def begin(self, prompt: Tensor) -> None:
        """Take in the prompt (1, T), with room for `room` more tokens."""
        self.tokens = [self.first(prompt)]

    def run(self, n: int) -> list[float]:
        """Make n more tokens; the seconds each took."""
        taken = []
        for _ in range(n):
            start = now()
            token = self.next(self.tokens[-1])
            taken.append(now() - start)
            self.tokens.append(token)
        return taken

    def first(self, prompt: Tensor) -> Tensor:
        raise NotImplementedError

    def next(self, token: Tensor) -> Tensor:
        raise NotImplementedError


class Recompute(Loop):
    """No cache: the whole sequence goes through the model for every token."""

    def __init__(self, model: TorchTransformer, room: int) -> None:
        super().__init__(room)
        self.model = model

    def first(self, prompt: Tensor) -> Tensor:
        self.sequence = prompt
        return self.forward()

    def next(self, token: Tensor) -> Tensor:
        self.sequence = torch.cat([self.sequence, token[:, None]], dim=1)
        return self.forward()

    def forward(self) -> Tensor:
        # What a loop without a cache does: one prefill of everything, and nothing is kept.
        sequence, model = self.sequence, self.model
        cache = decode_torch.StaticCache(
            model.config, len(sequence), sequence.shape[1], model.device, model.dtype
        )
        return decode_torch.prefill(model, sequence, cache).argmax(-1)


class Numpy(Loop):
    """Part 4's solution: numpy, preallocated cache."""

    def __init__(self, config: ModelConfig, params: Params, room: int) -> None:
        super().__init__(room)
        arrays = {name: w.cpu().numpy() for name, w in params.items()}
        self.model = transformer.load_model(config.to_dict(), arrays)

    def first(self, prompt: Tensor) -> Tensor:
        c = self.model.config
        max_len = prompt.shape[1] + self.room
        self.cache = kv_cache.KVCache(
            c.n_layers, 1, c.n_kv_heads, max_len, c.head_dim, self.model.dtype
        )
        # In chunks, since the scores of a long prompt are large and numpy keeps all of them.
        for chunk in prompt.split(256, dim=1):
            logits = kv_cache.prefill(self.model, chunk.numpy(), self.cache)
        return torch.from_numpy(logits).argmax(-1)

    def next(self, token: Tensor) -> Tensor:
        logits = kv_cache.decode_step(self.model, token.numpy(), self.cache)
        self.model.counter.reset()
        return torch.from_numpy(logits.argmax(axis=-1))


class Ours(Loop):
    """The record loop, record.py."""

    functions: Any = record
    cache_type: type = record.RecordCache

    def __init__(self, model: TorchTransformer, room: int) -> None:
        super().__init__(room)
        self.model = model

    def first(self, prompt: Tensor) -> Tensor:
        model, max_len = self.model, prompt.shape[1] + self.room
        self.cache = self.cache_type(model.config, 1, max_len, model.device, model.dtype)
        return self.functions.prefill(model, prompt, self.cache).argmax(-1)

    def next(self, token: Tensor) -> Tensor:
        return self.functions.decode_step(self.model, token, self.cache).argmax(-1)


class Answer(Ours):
    """The model answer of part 10, solution/decode_torch.py."""

    functions = decode_torch
    cache_type = decode_torch.StaticCache


class StaticEager(Loop, torch.nn.Module):
    """The loop of gpt-fast in its plain form: linear layers, static cache, masked attention.

    Written for this comparison. A module, as there: a compiler takes the buffers of a module for
    memory that never moves, which a captured graph needs.
    """

    WEIGHTS = ("attention_norm", "w_qkv", "w_o", "mlp_norm", "w_gate", "w_up", "w_down")

    def __init__(self, config: ModelConfig, params: Params, dtype: torch.dtype, room: int) -> None:
        torch.nn.Module.__init__(self)
        Loop.__init__(self, room)
        self.config = config
        device = params["embedding"].device

        def linear(*names: str) -> Tensor:
            return torch.cat([params[name] for name in names], dim=1).t().to(dtype).contiguous()

        for i in range(config.n_layers):
            p = f"layers.{i}."
            weights = (
                params[p + "attention_norm"].to(dtype),
                linear(p + "w_q", p + "w_k", p + "w_v"),
                linear(p + "w_o"),
                params[p + "mlp_norm"].to(dtype),
                linear(p + "w_gate"),
                linear(p + "w_up"),
                linear(p + "w_down"),
            )
            for name, w in zip(self.WEIGHTS, weights, strict=True):
                self.register_buffer(f"{name}_{i}", w)
        self.register_buffer("embedding", params["embedding"].to(dtype))
        self.register_buffer("final_norm", params["final_norm"].to(dtype))
        self.register_buffer("output", self.embedding if config.tied else linear("lm_head"))
        self.dtype, self.device = dtype, device

    def allocate(self, max_len: int) -> None:
        """A cache of max_len positions, the mask of each, and the cosines and sines."""
        c = self.config
        shape = (c.n_layers, 1, c.n_kv_heads, max_len, c.head_dim)
        self.register_buffer("k", torch.zeros(shape, dtype=self.dtype, device=self.device))
        self.register_buffer("v", torch.zeros(shape, dtype=self.dtype, device=self.device))
        all_pairs = torch.ones(max_len, max_len, dtype=torch.bool, device=self.device)
        self.register_buffer("mask", all_pairs.tril())
        exponents = torch.arange(0, c.head_dim, 2, device=self.device) / c.head_dim
        angles = torch.arange(max_len, device=self.device)[:, None] * c.rope_theta**-exponents
        self.register_buffer("rotation", torch.stack([angles.cos(), angles.sin()], dim=-1))

    def first(self, prompt: Tensor) -> Tensor:
        self.allocate(prompt.shape[1] + self.room)
        self.position = torch.arange(prompt.shape[1], device=self.device)
        token = self.forward(prompt, self.position)
        self.position = self.position[-1:] + 1
        return token

    def next(self, token: Tensor) -> Tensor:
        token = self.forward(token[:, None], self.position)
        self.position = self.position + 1
        return token

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        c = self.config
        sizes = [c.n_heads * c.head_dim, c.n_kv_heads * c.head_dim, c.n_kv_heads * c.head_dim]
        mask, rotation = self.mask[position], self.rotation[position]
        x = F.embedding(tokens, self.embedding)
        for i in range(c.n_layers):
            weights = (getattr(self, f"{name}_{i}") for name in self.WEIGHTS)
            norm, w_qkv, w_o, mlp_norm, w_gate, w_up, w_down = weights
            h = F.rms_norm(x, norm.shape, norm, c.norm_eps)
            q, k, v = (
                part.unflatten(-1, (-1, c.head_dim)) for part in F.linear(h, w_qkv).split(sizes, -1)
            )
            q, k = (self.rotate(part, rotation).transpose(1, 2) for part in (q, k))
            self.k[i][:, :, position] = k
            self.v[i][:, :, position] = v.transpose(1, 2)
            heads = F.scaled_dot_product_attention(
                q, self.k[i], self.v[i], attn_mask=mask, enable_gqa=True
            )
            x = x + F.linear(heads.transpose(1, 2).flatten(2), w_o)
            h = F.rms_norm(x, mlp_norm.shape, mlp_norm, c.norm_eps)
            x = x + F.linear(F.silu(F.linear(h, w_gate)) * F.linear(h, w_up), w_down)
        x = F.rms_norm(x[:, -1], self.final_norm.shape, self.final_norm, c.norm_eps)
        return F.linear(x, self.output).argmax(-1)

    @staticmethod
    def rotate(x: Tensor, rotation: Tensor) -> Tensor:
        """Pairs (2i, 2i+1) of x (1, T, heads, d_h), by cosine and sine (T, d_h/2, 2)."""
        even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = rotation[:, None].unbind(-1)
        turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
        return turned.flatten(-2).to(x.dtype)


class StaticCompiled(StaticEager):
    """The same loop with its step compiled, as gpt-fast is run; where `can_compile`.

    Raises:
        RuntimeError: by `run`, where graphs were asked for and the compiler left them out: such a
            time would not be that of gpt-fast's loop.
    """

    def __init__(self, *args: Any, **compile_options: Any) -> None:
        super().__init__(*args)
        # Beyond a few sizes of the cache torch would silently give up compiling.
        torch._dynamo.config.recompile_limit = 64
        torch._inductor.config.coordinate_descent_tuning = True  # as gpt-fast sets it
        # Each length would otherwise be compiled for all lengths from the second on.
        self.step = torch.compile(self.forward, dynamic=False, **compile_options)
        self.max_len = 0

    def run(self, n: int) -> list[float]:
        before = graphs_left_out()
        taken = super().run(n)
        if graphs_left_out() > before:
            raise RuntimeError("the compiler left out CUDA graphs, see TORCH_LOGS=perf_hints")
        return taken

    def allocate(self, max_len: int) -> None:
        # A new cache would be captured anew; what an old text left in this one is masked.
        if max_len != self.max_len:
            super().allocate(max_len)
            self.max_len = max_len

    def next(self, token: Tensor) -> Tensor:
        token = self.step(token[:, None], self.position).clone()
        self.position = self.position + 1
        return token


def graphs_left_out() -> int:
    """How many graphs torch's compiler has been asked for so far and did not capture."""
    return torch._dynamo.utils.counters["inductor"]["cudagraph_skips"]


def can_compile(device: str) -> bool:
    """Whether torch.compile finds what compiles its code: C++ on a CPU, Triton's on a GPU."""
    if device != "cpu":
        return find_spec("triton") is not None and any(map(shutil.which, ("cc", "gcc")))
    has_headers = Path(sysconfig.get_path("include"), "Python.h").is_file()
    return has_headers and shutil.which(os.environ.get("CXX", "g++")) is not None


class HuggingFace(Loop):
    """transformers' `generate`; the time of a token is read inside it, by a streamer."""

    def __init__(self, model, kind: str, room: int) -> None:
        super().__init__(room)
        self.model, self.kind = model, kind

    def begin(self, prompt: Tensor) -> None:
        self.prompt, self.tokens = prompt, []

    def run(self, n: int) -> list[float]:
        stamps = _Clock()
        self.tokens = list(self.generate(n + 1, streamer=stamps).T)
        return [b - a for a, b in zip(stamps.stamps, stamps.stamps[1:], strict=False)]

    def generate(self, n: int, **options) -> Tensor:
        """n new tokens, (1, n)."""
        static = {"cache_implementation": "static"} if self.kind == "static" else {}
        # compile() would be tried on a GPU for a static cache; `disable_compile` is its own option.
        out = self.model.generate(
            self.prompt,
            attention_mask=torch.ones_like(self.prompt),
            max_new_tokens=n,
            min_new_tokens=n,
            do_sample=False,
            disable_compile=True,
            **static,
            **options,
        )
        return out[:, self.prompt.shape[1] :]


class _Clock:
    """A streamer that notes when each new token comes."""

    def __init__(self) -> None:
        self.stamps: list[float] = []
        self._prompt_seen = False

    def put(self, value: Tensor) -> None:
        if self._prompt_seen:
            self.stamps.append(now())
        self._prompt_seen = True

    def end(self) -> None:
        pass


def huggingface_model(config: ModelConfig, params: Params, dtype: torch.dtype):
    """A LlamaForCausalLM with these weights; it rotates halves, so q and k are permuted."""
    from transformers import LlamaConfig, LlamaForCausalLM

    c = config
    theta = {"rope_type": "default", "rope_theta": c.rope_theta}
    llama_config = LlamaConfig(
        vocab_size=c.vocab_size,
        hidden_size=c.d_model,
        intermediate_size=c.d_ff,
        num_hidden_layers=c.n_layers,
        num_attention_heads=c.n_heads,
        num_key_value_heads=c.n_kv_heads,
        head_dim=c.head_dim,
        max_position_embeddings=8192,
        rms_norm_eps=c.norm_eps,
        rope_parameters=theta,
        tie_word_embeddings=c.tied,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="sdpa",
    )
    with params["embedding"].device, _default_dtype(dtype):
        model = LlamaForCausalLM(llama_config).eval()
    model.load_state_dict(_huggingface_names(config, params), strict=not c.tied)
    return model


class _default_dtype:  # noqa: N801  (used as a function)
    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def __enter__(self) -> None:
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)

    def __exit__(self, *_: object) -> None:
        torch.set_default_dtype(self.before)


def _huggingface_names(config: ModelConfig, params: Params) -> Params:
    halves = torch.cat([torch.arange(0, config.head_dim, 2), torch.arange(1, config.head_dim, 2)])

    def permuted(w: Tensor) -> Tensor:
        return w.unflatten(1, (-1, config.head_dim))[:, :, halves.to(w.device)].flatten(1)

    named = {
        "model.embed_tokens.weight": params["embedding"],
        "model.norm.weight": params["final_norm"],
    }
    if not config.tied:
        named["lm_head.weight"] = params["lm_head"].t()
    rules: list[tuple[str, str, Callable[[Tensor], Tensor]]] = [
        ("input_layernorm", "attention_norm", lambda w: w),
        ("self_attn.q_proj", "w_q", lambda w: permuted(w).t()),
        ("self_attn.k_proj", "w_k", lambda w: permuted(w).t()),
        ("self_attn.v_proj", "w_v", Tensor.t),
        ("self_attn.o_proj", "w_o", Tensor.t),
        ("post_attention_layernorm", "mlp_norm", lambda w: w),
        ("mlp.gate_proj", "w_gate", Tensor.t),
        ("mlp.up_proj", "w_up", Tensor.t),
        ("mlp.down_proj", "w_down", Tensor.t),
    ]
    for i in range(config.n_layers):
        for theirs, ours, convert in rules:
            named[f"model.layers.{i}.{theirs}.weight"] = convert(params[f"layers.{i}.{ours}"])
    return named
