"""Caches of the same size share one storage."""

import numpy as np

from .bug import Bug, Text


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype, buffers={}):  # noqa: B006
        shape = (n_layers, batch_size, n_kv_heads, max_len, head_dim)
        if (shape, dtype) not in buffers:
            buffers[shape, dtype] = np.empty(shape, dtype), np.empty(shape, dtype)
        self._keys, self._values = buffers[shape, dtype]
        self._lengths = [0] * n_layers


BUG = Bug(
    name="cache-aliased-between-calls",
    part=4,
    summary=Text(
        en="a cache that writes to the storage of every other cache of its size",
        zh="大小相同就共用同一份存储的 cache",
    ),
    explanation=Text(
        en=(
            "A default argument is made once, when the function is defined, so all caches find "
            "the same dictionary in it and, if their sizes agree, the same arrays. Used one "
            "after the other they look right. With two caches in use at a time, each overwrites "
            "the rows of the other."
        ),
        zh=(
            "默认参数只在定义函数时创建一次，所以所有 cache 用的是同一个字典；"
            "大小相同的 cache 还会拿到同样的数组。先后使用时看不出问题；两个 cache 同时使用时，"
            "就会互相覆盖对方的内容。"
        ),
    ),
    hints=(
        Text(
            en="Each cache alone is right. What happens when two are in use at the same time?",
            zh="单独用一个 cache 是对的。同时用两个会怎样？",
        ),
        Text(
            en="Make two caches of the same size, append 1 to one and 2 to the other, then 3 to the first. What does it return?",
            zh="创建两个大小相同的 cache，一个追加 1，另一个追加 2，再往第一个追加 3。返回什么？",
        ),
        Text(
            en="A class attribute or a default argument exists once for all objects. Storage belongs to one object: make it in __init__.",
            zh="类属性和默认参数只有一份，由所有对象共用。存储应属于单个对象：在 __init__ 里新建。",
        ),
    ),
    replaces=(KVCache,),
    cites=("L2 §5.2", "ollama#2186"),
)
