"""The homework's table of contents: which function belongs to which part and module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Part:
    """One part of the homework; function m of part n is section `n.m` of the handout.

    Attributes:
        elsewhere: the modules of those functions that are not in `module`.
    """

    number: int
    title: str
    module: str
    functions: tuple[str, ...]
    elsewhere: Mapping[str, str] = field(default_factory=dict, hash=False)

    def section_of(self, function: str) -> str:
        """The handout section of a function, as in `4.3` for decode_step."""
        return f"{self.number}.{self.functions.index(function) + 1}"

    def module_of(self, function: str) -> str:
        """The module that a function belongs in."""
        return self.elsewhere.get(function, self.module)

    @property
    def modules(self) -> tuple[str, ...]:
        """All modules of the part, in the order of its functions."""
        return tuple(dict.fromkeys(map(self.module_of, self.functions)))


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
    Part(
        8,
        "Accounting",
        "accounting",
        (
            "n_params",
            "matmul_params",
            "kv_bytes_per_token",
            "einsum_flops",
            "forward_flops",
            "generation_flops",
            "roofline_seconds",
            "decode_intensity",
            "mla_core",
        ),
    ),
    Part(
        9,
        "Word vectors (word2vec)",
        "word2vec",
        (
            "embed",
            "noise_distribution",
            "sgns_loss",
            "sgns_gradients",
            "train_step",
            "nearest",
            "analogy",
        ),
    ),
    Part(
        11,
        "Exercises",
        "exercises",
        (
            "l2_1_parameters",
            "l2_1_attention_share",
            "l2_1_kv_bytes_per_token",
            "l2_2_negative_sampling",
            "l2_2_full_softmax",
            "l2_2_ratio",
            "l2_3_einsum_flops",
            "l2_4_intensity",
            "l2_5_kv_bytes",
            "l2_5_against_weights",
            "l2_6_with_cache",
            "l2_6_without_cache",
            "l2_6_ratio",
            "l2_7_mla_bytes_per_token",
            "l2_7_ratio",
            "l2_10_swiglu_bytes",
            "l2_10_norm_bytes",
            "d3_3_query_length",
            "d3_3_w_q_of_one_head",
            "d3_3_w_q_of_the_layer",
            "d3_4_growth",
            "d3_7_first_of_the_output",
            "d3_7_second_of_the_output",
            "d3_prefill_shapes",
            "d3_decode_shapes",
        ),
    ),
)

# Extra and not among PARTS: it needs torch, which no part before it does (see extra_parts.py).
TORCH_PART = Part(
    10,
    "Fast decode in torch",
    "decode_torch",
    ("StaticCache", "grouped_attention", "prefill", "decode_step", "generate"),
)
TORCH_MODEL_FILE = "torch_model.py"  # given

# Extra and not among PARTS: it has points of its own, and runs where it is asked for.
SERVING_PART = Part(
    12,
    "Serving",
    "serving",
    (
        "PagedKVCache",
        "ragged_prefill",
        "ragged_decode_step",
        "Engine",
        "speculative_step",
        "attention_in_tiles",
        "quantize_blocks",
        "dequantize_blocks",
    ),
    dict.fromkeys(
        ("PagedKVCache", "attention_in_tiles", "quantize_blocks", "dequantize_blocks"),
        "paged_cache",
    ),
)

# What `grader run` can grade, part 12 in runs of its own.
PART_BY_NUMBER: dict[int, Part] = {part.number: part for part in (*PARTS, SERVING_PART)}

STUDENT_MODULES: tuple[str, ...] = tuple(dict.fromkeys(part.module for part in PARTS))

# What tests call of the given files by name, beside the student's own functions.
GIVEN_FUNCTIONS: dict[str, str] = dict.fromkeys(
    ("load_model", "ModelConfig", "MLAConfig"), "transformer"
)

MODULE_OF: dict[str, str] = {
    name: part.module_of(name) for part in PART_BY_NUMBER.values() for name in part.functions
} | GIVEN_FUNCTIONS

# Files a student receives complete; the grader always uses its own copies of them.
GIVEN_FILES: tuple[str, ...] = (
    "__init__.py",
    "transformer.py",
    "chat.py",
    "look.py",
    "watch.py",
    "word_vectors.py",
    "smollm2.py",
    "gguf_checkpoint.py",
)
