"""Neither RoPE part is rotated."""

from solution.attention import causal_mask
from solution.mla import mla_absorbed

from .bug import Bug, Text


def mla_prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    mask = causal_mask(length, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, x)
        latents, rope_keys = cache.append(layer, model.norm_latent(layer, latent), k_rope)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mla-rope-forgotten",
    part=6,
    summary=Text(
        en="a latent attention that rotates neither RoPE part",
        zh="两个 RoPE 部分都没有旋转的 MLA",
    ),
    explanation=Text(
        en=(
            "The parts are called q_rope and k_rope, but project_latent returns them not yet "
            "rotated, and the loop uses them as they come. Their dot product enters the "
            "scores without any position, so the model sees a bag of earlier tokens. A "
            "prompt of one token is right, and decode agrees with the model's own prefill."
        ),
        zh=(
            "变量名叫 q_rope 和 k_rope，但 project_latent 返回的是还没有旋转的版本，循环里拿来就用。"
            "它们的点积照样加进分数，却不带位置，模型看到的前文成了一袋不分先后的 token。只有一个 token 的提示是对的，"
            "decode 和自己的 prefill 也一致。"
        ),
    ),
    hints=(
        Text(
            en="A prompt of one token is right and a longer one is not. What in your loop depends on the position?",
            zh="提示只有一个 token 时对，长一点就错。你的循环里有什么依赖位置？",
        ),
        Text(
            en="Read what project_latent says about the parts it returns.",
            zh="读一读 project_latent 的说明，它返回的各部分是什么状态。",
        ),
        Text(
            en="Both sides of the RoPE dot product have to be turned by their own position.",
            zh="RoPE 那个点积的两边，都要按各自的位置旋转。",
        ),
    ),
    replaces=(mla_prefill,),
    cites=("L2 §2.7", "L2 §6.4", "warp#27"),
)
