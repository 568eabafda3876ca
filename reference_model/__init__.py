"""The oracle: a float64 numpy model that recomputes everything and shares no code with a solution.

Importing this package needs numpy only. Checkpoints are read by the submodules `checkpoints`
(Hugging Face folders), `gguf_checkpoint` (GGUF files) and `smollm2` (a small trained model).
"""

from .cached import decode_from_keys, decode_from_latents
from .config import MLAConfig, ModelConfig, as_config, check_params, param_shapes
from .init import init_llama, init_mla
from .layers import (
    attention,
    attention_weights,
    causal_mask,
    grouped_query_attention,
    mean_pool_kv_heads,
    merge_heads,
    mla_attention,
    multi_head_attention,
    rmsnorm,
    rope,
    rope_frequencies,
    silu,
    softmax,
    split_heads,
    swiglu,
)
from .llama import llama_logits
from .mla import mla_logits
from .sampling import temperature, top_k, top_p
from .trace import decode_trace, greedy_continuation, next_logits

__all__ = [
    "MLAConfig",
    "ModelConfig",
    "as_config",
    "attention",
    "attention_weights",
    "causal_mask",
    "check_params",
    "decode_from_keys",
    "decode_from_latents",
    "decode_trace",
    "greedy_continuation",
    "grouped_query_attention",
    "init_llama",
    "init_mla",
    "llama_logits",
    "mean_pool_kv_heads",
    "merge_heads",
    "mla_attention",
    "mla_logits",
    "multi_head_attention",
    "next_logits",
    "param_shapes",
    "rmsnorm",
    "rope",
    "rope_frequencies",
    "silu",
    "softmax",
    "split_heads",
    "swiglu",
    "temperature",
    "top_k",
    "top_p",
]
