"""In decode, the value before is stored once more in place of the new one."""

from .bug import Bug, Text


class KVCache:
    def append(self, layer, k, v):
        start, end = self._lengths[layer], self._lengths[layer] + k.shape[2]
        max_len = self._keys.shape[3]
        if end > max_len:
            raise ValueError(f"layer {layer} would hold {end} positions, the cache has {max_len}")
        self._keys[layer, :, :, start:end] = k
        if start == 0 or k.shape[2] > 1:
            self._values[layer, :, :, start:end] = v
        else:
            self._values[layer, :, :, start:end] = self._values[layer, :, :, start - 1 : start]
        self._lengths[layer] = end
        return self._keys[layer, :, :, :end], self._values[layer, :, :, :end]


BUG = Bug(
    name="keys-without-values",
    part=4,
    summary=Text(
        en="a decode that stores new keys but repeats the value of the position before",
        zh="存了新 key、却重复前一个位置的 value 的 decode",
    ),
    explanation=Text(
        en=(
            "A decode step stores the new key, and beside it a copy of the value before. The "
            "weights are therefore right at first, but what they weigh is not: whatever is "
            "decoded, its value is the last one of the prompt. The prefill is right, and the "
            "logits are wrong from step 1 on."
        ),
        zh=(
            "decode 存了新的 key，旁边却放了前一个 value 的副本。起初权重是对的，"
            "但被加权的内容不对：不管 decode 出什么，"
            "它的 value 都是提示里最后一个 value。prefill 不受影响，"
            "从第 1 步起 logits 就错了。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right and step 1 is not, so the prefill is fine. What does decode_step do differently?",
            zh="第 0 步对、第 1 步错，说明 prefill 没问题。decode_step 哪里做得不一样？",
        ),
        Text(
            en="Append one position with k = 1 and v = 2 and look at the last row of both arrays that come back.",
            zh="追加一个位置，令 k = 1、v = 2，看看返回的两个数组的最后一行。",
        ),
        Text(
            en="Keys and values are stored side by side: each new position needs one new row in both, from the same token.",
            zh="key 和 value 成对存放：每个新位置都要在两边各写一行，而且来自同一个 token。",
        ),
    ),
    replaces=(KVCache,),
    cites=("L2 §5.2", "D3 常见误区"),
)
