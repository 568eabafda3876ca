"""The logits are multiplied by the temperature."""

from .bug import Bug, Text


def apply_temperature(logits, temperature):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    return logits * temperature


BUG = Bug(
    name="temperature-multiplied",
    part=7,
    summary=Text(
        en="logits multiplied by the temperature",
        zh="乘以 temperature 的 logits",
    ),
    explanation=Text(
        en=(
            "The logits are multiplied by the temperature instead of divided by it, so the "
            "knob turns the wrong way: a low temperature makes the output more random, a "
            "high one more conservative. At temperature 1 the two are the same, so the "
            "default setting shows nothing."
        ),
        zh=(
            "logits 应该除以 temperature，这里却乘了，于是旋钮转反了：低温更随机，高温更保守。"
            "temperature 为 1 时两者相同，用默认设置看不出来。"
        ),
    ),
    hints=(
        Text(
            en="Should a temperature of 0.1 move the logits apart or together? What does yours do?",
            zh="temperature 为 0.1 时，logits 之间的差距应该变大还是变小？你的呢？",
        ),
        Text(
            en="Greedy decoding is the limit for T towards 0. Toward which distribution does yours go?",
            zh="T 趋近 0 的极限是 greedy。你的代码在 T 趋近 0 时趋近什么分布？",
        ),
        Text(
            en="A small T has to make the differences between logits large.",
            zh="T 小的时候，logits 之间的差要被放大。",
        ),
    ),
    replaces=(apply_temperature,),
    cites=("D3 语言模型只做一件事", "L2 §3.3"),
)
