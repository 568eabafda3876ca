"""Tiny Hugging Face models computed in float64 throughout, for comparison with the oracle.

Even a float64 Hugging Face model computes RMSNorm and RoPE's angles in float32. The functions here
lift those two, in the test process only, so that the comparison can be exact to rounding.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from late import late

torch, transformers = late("torch"), late("transformers")
modeling_deepseek_v3 = late("transformers.models.deepseek_v3.modeling_deepseek_v3")
modeling_llama = late("transformers.models.llama.modeling_llama")

LLAMA_SIZES = {
    "vocab_size": 61,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "attention_dropout": 0.0,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
DEEPSEEK_SIZES = LLAMA_SIZES | {
    "num_key_value_heads": 4,
    "kv_lora_rank": 14,
    "qk_nope_head_dim": 10,
    "qk_rope_head_dim": 6,
    "v_head_dim": 8,
    # Every layer dense: the experts are not part of this course.
    "first_k_dense_replace": 3,
    "rope_interleave": True,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 8,
}


def build_llama(monkeypatch: pytest.MonkeyPatch, seed: int, **changes: Any):
    """A float64 LlamaForCausalLM with random weights that make bugs visible."""
    lift_to_float64(monkeypatch, modeling_llama, "Llama")
    config = transformers.LlamaConfig(**(LLAMA_SIZES | changes))
    return _built(monkeypatch, transformers.LlamaForCausalLM, config, seed)


def build_deepseek(monkeypatch: pytest.MonkeyPatch, seed: int, **changes: Any):
    """A float64 DeepseekV3ForCausalLM of dense layers with such random weights."""
    lift_to_float64(monkeypatch, modeling_deepseek_v3, "DeepseekV3")
    config = transformers.DeepseekV3Config(**(DEEPSEEK_SIZES | changes))
    return _built(monkeypatch, transformers.DeepseekV3ForCausalLM, config, seed)


def lift_to_float64(monkeypatch: pytest.MonkeyPatch, module: Any, prefix: str) -> None:
    monkeypatch.setattr(getattr(module, f"{prefix}RMSNorm"), "forward", _rmsnorm)
    monkeypatch.setattr(getattr(module, f"{prefix}RotaryEmbedding"), "forward", _cos_and_sin)


def _rmsnorm(self, hidden_states):
    assert hidden_states.dtype == torch.float64
    variance = hidden_states.pow(2).mean(-1, keepdim=True)
    return self.weight * (hidden_states * torch.rsqrt(variance + self.variance_epsilon))


def _cos_and_sin(self, x, position_ids):
    assert self.inv_freq.dtype == torch.float64
    angles = position_ids[..., None].double() * self.inv_freq
    both_halves = torch.cat((angles, angles), dim=-1)
    return both_halves.cos() * self.attention_scaling, both_halves.sin() * self.attention_scaling


def _built(monkeypatch: pytest.MonkeyPatch, kind: Any, config: Any, seed: int):
    # Scaled-dot-product attention keeps float64; the eager softmax is float32 by decree.
    config._attn_implementation = "sdpa"
    with monkeypatch.context() as patched:
        # The frequencies are made with dtype=torch.float, whatever the model's dtype.
        patched.setattr("torch.float", torch.float64)
        model = kind(config).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 1:
                weight.uniform_(0.5, 1.5, generator=generator)
            else:
                is_embedding = name.endswith("embed_tokens.weight")
                fan_in = 1 if is_embedding else weight.shape[1]
                weight.normal_(0.0, fan_in**-0.5, generator=generator)
    return model


def huggingface_logits(model: Any, tokens: np.ndarray) -> np.ndarray:
    """tokens int (B,T) -> logits (B,T,V) of every position."""
    with torch.no_grad():
        return model(torch.from_numpy(tokens), use_cache=False).logits.numpy()


def huggingface_cached_decode(model: Any, prompt: np.ndarray, continuation: np.ndarray):
    """Logits (n+1,B,V) of a real cached decode loop over the continuation's tokens."""
    # transformers 5 renames the argument and warns about the old name.
    accepted = inspect.signature(model.forward).parameters
    cache_argument = "cache" if "cache" in accepted else "past_key_values"
    with torch.no_grad():
        output = model(torch.from_numpy(prompt), use_cache=True)
        steps = [output.logits[:, -1].numpy()]
        for token in continuation.T:
            cache = {cache_argument: output.past_key_values}
            output = model(torch.from_numpy(token[:, None]), use_cache=True, **cache)
            steps.append(output.logits[:, -1].numpy())
    return np.stack(steps)


def deepseek_to_mla(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A dense DeepSeek-V3 model as this project's MLA config dict and parameters."""
    theirs = model.config
    heads, nope = theirs.num_attention_heads, theirs.qk_nope_head_dim
    config = {
        "name": "deepseek",
        "n_layers": theirs.num_hidden_layers,
        "d_model": theirs.hidden_size,
        "n_heads": heads,
        "latent_dim": theirs.kv_lora_rank,
        "nope_dim": nope,
        "rope_dim": theirs.qk_rope_head_dim,
        "v_dim": theirs.v_head_dim,
        "query_latent_dim": theirs.q_lora_rank,
        "d_ff": theirs.intermediate_size,
        "vocab_size": theirs.vocab_size,
        "rope_theta": theirs.rope_parameters["rope_theta"],
        "norm_eps": theirs.rms_norm_eps,
        "latent_norm_eps": 1e-6,
        "tied": theirs.tie_word_embeddings,
    }
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    params = {"embedding": weights["model.embed_tokens.weight"]}
    for layer in range(theirs.num_hidden_layers):
        prefix = f"model.layers.{layer}."
        in_layer = {
            name.removeprefix(prefix): value
            for name, value in weights.items()
            if name.startswith(prefix)
        }
        ours = _mla_layer(in_layer, theirs.kv_lora_rank, heads, nope)
        params |= {f"layers.{layer}.{name}": value for name, value in ours.items()}
    params["final_norm"] = weights["model.norm.weight"]
    if not theirs.tie_word_embeddings:
        params["lm_head"] = weights["lm_head.weight"].T
    return config, params


def _mla_layer(
    weights: dict[str, np.ndarray], latent_dim: int, heads: int, nope: int
) -> dict[str, np.ndarray]:
    latent_then_rope = weights["self_attn.kv_a_proj_with_mqa.weight"].T
    expand = weights["self_attn.kv_b_proj.weight"].T.reshape(latent_dim, heads, -1)
    ours = {
        "attention_norm": weights["input_layernorm.weight"],
        "w_dkv": latent_then_rope[:, :latent_dim],
        "w_kr": latent_then_rope[:, latent_dim:],
        "kv_norm": weights["self_attn.kv_a_layernorm.weight"],
        "w_uk": expand[:, :, :nope].reshape(latent_dim, -1),
        "w_uv": expand[:, :, nope:].reshape(latent_dim, -1),
        "w_o": weights["self_attn.o_proj.weight"].T,
        "mlp_norm": weights["post_attention_layernorm.weight"],
        "w_gate": weights["mlp.gate_proj.weight"].T,
        "w_up": weights["mlp.up_proj.weight"].T,
        "w_down": weights["mlp.down_proj.weight"].T,
    }
    if "self_attn.q_proj.weight" in weights:
        return ours | {"w_q": weights["self_attn.q_proj.weight"].T}
    return ours | {
        "w_dq": weights["self_attn.q_a_proj.weight"].T,
        "q_norm": weights["self_attn.q_a_layernorm.weight"],
        "w_uq": weights["self_attn.q_b_proj.weight"].T,
    }
