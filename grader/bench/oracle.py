"""The expected logits in float64, recomputed over whole sequences.

Where there is a GPU its float64 units recompute a billion parameters in a second, which numpy does
in minutes; the formulas are the reference model's, and a test holds the two together.
"""

from __future__ import annotations

import numpy as np

from reference_model import ModelConfig, llama_logits

QUERIES_AT_ONCE = 256


def expected_logits(
    config: ModelConfig, params: dict, tokens: np.ndarray, first: int, device: str = "cpu"
) -> np.ndarray:
    """float64 (B, T - first, V): logits of the positions from `first` of tokens (B, T)."""
    if device == "cuda":
        return torch_logits(config, params, tokens, first, device)
    return llama_logits(config, params, tokens)[:, first:]


def torch_logits(
    config: ModelConfig, params: dict, tokens: np.ndarray, first: int, device: str
) -> np.ndarray:
    """As expected_logits, in torch; one layer's weights on the device at a time."""
    import torch

    def weight(name: str) -> torch.Tensor:
        return torch.from_numpy(params[name]).to(device, torch.float64)

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        mean_square = (x * x).mean(-1, keepdim=True)
        return x / torch.sqrt(mean_square + config.norm_eps) * weight(name)

    batch, length = tokens.shape
    half = torch.arange(0, config.head_dim, 2, device=device, dtype=torch.float64)
    at = torch.arange(length, device=device, dtype=torch.float64)
    angles = at[:, None] * config.rope_theta ** (-half / config.head_dim)
    turn = torch.polar(torch.ones_like(angles), angles)

    def heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
        return x.reshape(batch, length, n_heads, config.head_dim).transpose(1, 2)

    def rotated(x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
        return torch.view_as_real(pairs * turn).reshape(x.shape)

    with torch.no_grad():
        x = torch.from_numpy(params["embedding"][tokens]).to(device, torch.float64)
        for layer in range(config.n_layers):
            name = f"layers.{layer}."
            h = norm(x, f"{name}attention_norm")
            q = rotated(heads(h @ weight(f"{name}w_q"), config.n_heads))
            k = rotated(heads(h @ weight(f"{name}w_k"), config.n_kv_heads))
            v = heads(h @ weight(f"{name}w_v"), config.n_kv_heads)
            mixed = _attention(q, k, v).transpose(1, 2).reshape(batch, length, -1)
            x = x + mixed @ weight(f"{name}w_o")
            h = norm(x, f"{name}mlp_norm")
            gate = torch.nn.functional.silu(h @ weight(f"{name}w_gate"))
            x = x + (gate * (h @ weight(f"{name}w_up"))) @ weight(f"{name}w_down")
        h = norm(x[:, first:], "final_norm")
        lm_head = weight("embedding").T if config.tied else weight("lm_head")
        return (h @ lm_head).cpu().numpy()


def _attention(q, k, v):
    """Causal attention of q (B, H, T, d) over k, v (B, G, T, d), some queries at a time."""
    import torch

    length, repeats = q.shape[2], q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    out = torch.empty_like(q)
    for start in range(0, length, QUERIES_AT_ONCE):
        end = min(start + QUERIES_AT_ONCE, length)
        scores = q[:, :, start:end] @ k[:, :, :end].transpose(2, 3) / q.shape[3] ** 0.5
        later = torch.ones(end - start, end, dtype=torch.bool, device=q.device).triu(start + 1)
        scores.masked_fill_(later, float("-inf"))
        out[:, :, start:end] = torch.softmax(scores, -1) @ v[:, :, :end]
    return out
