"""The homework's table of contents: which function belongs to which part and module."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One part of the homework; function m of part n is section `n.m` of the handout."""

    number: int
    title: str
    module: str
    functions: tuple[str, ...]

    def section_of(self, function: str) -> str:
        """The handout section of a function, as in `4.3` for decode_step."""
        return f"{self.number}.{self.functions.index(function) + 1}"


PARTS: tuple[Part, ...] = (
    Part(
        1, "Scaled dot-product attention", "attention", ("softmax", "scaled_dot_product_attention")
    ),
    Part(
        2,
        "Causal mask and heads",
        "attention",
        ("causal_mask", "split_heads", "merge_heads", "multi_head_attention"),
    ),
    Part(3, "Rotary positions (RoPE)", "rope", ("rope_frequencies", "apply_rope")),
    Part(4, "KV cache and decode", "kv_cache", ("KVCache", "prefill", "decode_step", "generate")),
    Part(5, "Grouped queries (GQA)", "gqa", ("grouped_query_attention", "mean_pool_kv_heads")),
    Part(
        6,
        "Latent attention (MLA)",
        "mla",
        ("mla_naive", "absorb", "mla_absorbed", "MLACache", "mla_prefill", "mla_decode_step"),
    ),
    Part(7, "Sampling", "sampling", ("apply_temperature", "top_k", "top_p")),
)

# Extra and not among PARTS: it needs torch, which no part before it does (see torch_part.py).
TORCH_PART = Part(
    10,
    "Fast decode in torch",
    "decode_torch",
    ("StaticCache", "grouped_attention", "prefill", "decode_step", "generate"),
)
TORCH_MODEL_FILE = "torch_model.py"  # given

PART_BY_NUMBER: dict[int, Part] = {part.number: part for part in PARTS}

STUDENT_MODULES: tuple[str, ...] = tuple(dict.fromkeys(part.module for part in PARTS))

# Functions of the given files that tests call by name, beside the student's own.
GIVEN_FUNCTIONS: dict[str, str] = {"load_model": "transformer"}

MODULE_OF: dict[str, str] = {
    name: part.module for part in PARTS for name in part.functions
} | GIVEN_FUNCTIONS

# Files a student receives complete; the grader always uses its own copies of them.
GIVEN_FILES: tuple[str, ...] = (
    "__init__.py",
    "transformer.py",
    "chat.py",
    "smollm2.py",
    "gguf_checkpoint.py",
)
