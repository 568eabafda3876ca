"""Part 10 (extra): the fast decode loop in torch. Run by `pytest assignment/ -k part10`.

Correctness only: how fast it is, `grader bench` says. Without torch every test here is skipped.
"""

import numpy as np
import pytest

from .harness.cases import load_cases
from .harness.compare import Mismatch, check, check_array
from .harness.extra_parts import needs_torch, student_functions
from .harness.models import POSITION_AXES, STEP_AXES, check_trace, random_model
from .harness.points import graded
from .harness.words import tr

HEAD_AXES = ("batch", "head", "query", "feature")


@pytest.fixture(scope="module")
def torch():
    """torch, which only this part needs."""
    return pytest.importorskip("torch", reason=needs_torch())


@pytest.fixture(scope="module")
def decode(torch, request):
    """The student's functions, and the given TorchTransformer."""
    return student_functions(request.config.getoption("impl") or __package__)


def model_and_cache(decode, torch, case, dtype):
    """The case's model, and an empty cache with room to spare."""
    model = decode.TorchTransformer(case.config, case.params, dtype=dtype)
    max_len = case.prompt.shape[1] + case.continuation.shape[1] + 3
    return model, decode.StaticCache(case.config, len(case.prompt), max_len, "cpu", dtype)


def to_array(logits, torch, what):
    """A numpy copy: the next step may overwrite its buffer."""
    check(isinstance(logits, torch.Tensor), tr("{what}: a torch tensor is expected", what=what))
    return logits.detach().clone().numpy()


def steps_of(decode, torch, case, dtype, each=lambda model, cache: None):
    """Logits after the prompt and after each given token; `each` looks on before every step."""
    model, cache = model_and_cache(decode, torch, case, dtype)
    logits = decode.prefill(model, torch.from_numpy(case.prompt.copy()), cache)
    got = [to_array(logits, torch, "prefill")]
    for token in case.continuation.T:
        each(model, cache)
        logits = decode.decode_step(model, torch.from_numpy(token.copy()), cache)
        got.append(to_array(logits, torch, "decode_step"))
    return got, cache


def large_attention(torch, seed=0):
    """q, k, v whose K is far larger than anything attention has to make of it."""
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(1, 8, 1, 64, generator=generator)
    k, v = torch.randn(2, 1, 2, 256, 64, generator=generator)
    return q, k, v


def expected_attention(q, k, v, mask):
    """torch's own attention, in float64."""
    from torch.nn.functional import scaled_dot_product_attention as attend

    q, k, v = (x.double() for x in (q, k, v))
    return attend(q, k, v, attn_mask=mask, enable_gqa=True).numpy()


def largest_new_tensor(torch, work):
    """The most numbers in any one tensor that `work` allocates; views of its inputs are free."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Watch(TorchDispatchMode):
        largest = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            def addresses(tree):
                tensors = (x for x in tree_leaves(tree) if isinstance(x, torch.Tensor))
                return {x.untyped_storage().data_ptr(): x for x in tensors}

            result = function(*args, **(kwargs or {}))
            old = addresses((args, kwargs))
            for address, tensor in addresses(result).items():
                if address not in old:
                    self.largest = max(self.largest, tensor.numel())
            return result

    with Watch() as watch:
        work()
    return watch.largest


def values_asked_for(torch, work):
    """What `work` calls that must know a tensor's numbers, as int(), .item() or an if do."""
    from torch.utils._python_dispatch import TorchDispatchMode

    names = {
        "_local_scalar_dense": ".item(), int(), float() or if",
        "nonzero": "nonzero",
        "masked_select": "masked_select",
        "equal": "torch.equal",
    }
    asked = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if (name := function.__name__.partition(".")[0]) in names:
                asked.append(names[name])
            return function(*args, **(kwargs or {}))

    def noting(name, original):
        def noted(*args, **kwargs):
            asked.append(f".{name}()")
            return original(*args, **kwargs)

        return noted

    with pytest.MonkeyPatch.context() as patch, Watch():
        for name in ("tolist", "numpy"):  # which no dispatch sees
            patch.setattr(torch.Tensor, name, noting(name, getattr(torch.Tensor, name)))
        work()
    return list(dict.fromkeys(asked))


def addresses_in(cache, torch):
    """Where each tensor lies that the cache holds, itself or in a list of its own, by name."""
    held = {}
    for name, value in vars(cache).items():
        values = value if isinstance(value, list | tuple) else [value]
        for place, tensor in enumerate(values):
            if isinstance(tensor, torch.Tensor):
                label = name if tensor is value else f"{name}[{place}]"
                held[label] = tensor.data_ptr()
    return held


@graded("10.1", 1)
def test_cache_is_allocated_once(decode, torch):
    """StaticCache allocates (B, G, max_len, d_h) for each layer, and holds nothing."""
    config, _ = random_model(seed=0, n_kv_heads=2)
    cache = decode.StaticCache(config, 3, 11, "cpu", torch.float64)
    words = tr("a new cache has length {length}, expected 0", length=cache.length)
    check(int(cache.length) == 0, words)
    for name in ("keys", "values"):
        held = list(getattr(cache, name))
        words = tr("{name} has {n} entries for 2 layers", name=f"cache.{name}", n=len(held))
        check(len(held) == 2, words)
        for layer in held:
            shape = tuple(layer.shape)
            what, right = f"cache.{name}", (3, 2, 11, 6)
            words = tr("{what}: shape {got}, expected {shape}", what=what, got=shape, shape=right)
            check(shape == right, words)
            words = tr(
                "{what}: dtype {got}, expected {expected}",
                what=what,
                got=layer.dtype,
                expected=torch.float64,
            )
            check(layer.dtype == torch.float64, words)
            words = tr("{what} is not finite where unused", what=what)
            check(bool(torch.isfinite(layer).all()), words)


@graded("10.1", 1)
def test_cache_never_moves(decode, torch):
    """Keys and values stay where they are through prefill and decode, and length counts."""
    case = load_cases()["decode/gqa"]
    seen = []

    def look(model, cache):
        seen.append([x.data_ptr() for x in (*cache.keys, *cache.values)])
        expected = case.prompt.shape[1] + len(seen) - 1
        words = tr(
            "length is {length}, not {expected}", length=int(cache.length), expected=expected
        )
        check(int(cache.length) == expected, words)

    _, cache = steps_of(decode, torch, case, torch.float64, look)
    look(None, cache)
    words = tr("keys or values moved: the cache was allocated again")
    check(all(s == seen[0] for s in seen), words)


@graded("10.2", 0.5)
@pytest.mark.parametrize("length", [1, 5, 9])
def test_attention_of_a_length(decode, torch, length):
    """grouped_attention reads the first `length` positions and no other."""
    generator = torch.Generator().manual_seed(length)
    q = torch.randn(2, 6, 1, 4, generator=generator, dtype=torch.float64)
    k, v = torch.randn(2, 2, 3, 9, 4, generator=generator, dtype=torch.float64)
    expected = expected_attention(q, k, v, torch.arange(9)[None] < length)
    k[:, :, length:], v[:, :, length:] = torch.nan, torch.nan
    got = decode.grouped_attention(q, k, v, length)
    what = tr("grouped_attention with length {n} of 9", n=length)
    check_array(to_array(got, torch, what), expected, what, HEAD_AXES)


@graded("10.2", 0.5)
def test_attention_of_a_mask(decode, torch):
    """grouped_attention obeys a mask (T, S): True = may attend."""
    generator = torch.Generator().manual_seed(3)
    q = torch.randn(2, 6, 3, 4, generator=generator, dtype=torch.float64)
    k, v = torch.randn(2, 2, 3, 8, 4, generator=generator, dtype=torch.float64)
    mask = torch.arange(8) <= torch.tensor([[4], [5], [6]])
    got = decode.grouped_attention(q, k, v, mask)
    expected = expected_attention(q, k, v, mask)
    what = tr("grouped_attention with a causal mask")
    check_array(to_array(got, torch, what), expected, what, HEAD_AXES)


@graded("10.2", 0.5)
@pytest.mark.parametrize("kind", ["length", "mask"])
def test_attention_copies_nothing(decode, torch, kind):
    """grouped_attention makes no copy of K or V, neither R times nor once."""
    q, k, v = large_attention(torch)
    visible = 200 if kind == "length" else torch.arange(256) < 200
    size = largest_new_tensor(torch, lambda: decode.grouped_attention(q, k, v, visible))
    check(
        size < 2 * 200 * 64,
        tr(
            "a tensor of {size} numbers was made where K has {n}: K or V was copied",
            size=size,
            n=k.numel(),
        ),
    )


@graded("10.3", 1)
@pytest.mark.parametrize("name", ["gqa", "gqa_float32"])
def test_prefill_of_torch(decode, torch, name):
    """prefill of 1, 2, 3, ... tokens gives the reference's logits at every position."""
    case = load_cases()[f"decode/{name}"]
    dtype = torch.from_numpy(case.params["embedding"].copy()).dtype
    got = []
    for end in range(1, case.prompt.shape[1] + 1):
        model, cache = model_and_cache(decode, torch, case, dtype)
        logits = decode.prefill(model, torch.from_numpy(case.prompt[:, :end].copy()), cache)
        got.append(to_array(logits, torch, "prefill"))
    check_trace(got, case.prefill_logits, tr("the logits of prefill"), POSITION_AXES)


@graded("10.4", 0.75)
@pytest.mark.parametrize("name", ["gqa", "gqa_float32", "mqa"])
def test_decode_of_torch(decode, torch, name):
    """Every decode step gives the logits of a recompute of the whole sequence."""
    case = load_cases()[f"decode/{name}"]
    dtype = torch.from_numpy(case.params["embedding"].copy()).dtype
    got, _ = steps_of(decode, torch, case, dtype)
    what = tr("{what} (step 0 is the prefill's)", what=tr("the logits"))
    check_trace(got, case.decode_logits, what, STEP_AXES)


@graded("10.4", 1)
def test_step_is_static(decode, torch):
    """A decode step asks for no tensor's value, and what the cache holds stays where it is."""
    config, params = random_model(seed=5, n_kv_heads=2)
    model = decode.TorchTransformer(config, params)
    cache = decode.StaticCache(config, 2, 12, "cpu", torch.float32)
    token = torch.tensor([3, 5])
    decode.prefill(model, torch.arange(8).reshape(2, 4), cache)
    decode.decode_step(model, token, cache)  # which may set things up
    before = addresses_in(cache, torch)
    asked = values_asked_for(torch, lambda: decode.decode_step(model, token, cache))
    words = tr(
        "a step asked for a tensor's value ({calls}): on a GPU it waits there, and no graph can be "
        "captured;\na count beside cache.length, a Python int, says where the step is",
        calls=", ".join(asked),
    )
    check(not asked, words)
    moved = [name for name, at in addresses_in(cache, torch).items() if before.get(name, at) != at]
    words = tr(
        "cache.{name} is another tensor after a step: a graph writes to the old one; change it in "
        "place",
        name=moved[0] if moved else "",
    )
    check(not moved, words)


@graded("10.4", 0.75)
def test_decode_allocates_no_cache(decode, torch):
    """A decode step makes no tensor as large as the keys it reads."""
    config, params = random_model(seed=4, n_kv_heads=2)
    model = decode.TorchTransformer(config, params)
    cache = decode.StaticCache(config, 1, 1000, "cpu", torch.float32)
    tokens = torch.arange(900)[None] % config["vocab_size"]
    token = torch.tensor([3])
    decode.decode_step(model, decode.prefill(model, tokens, cache).argmax(-1), cache)
    size = largest_new_tensor(torch, lambda: decode.decode_step(model, token, cache))
    keys = 900 * 2 * config["head_dim"]
    words = tr("a step made a tensor of {size} numbers; a layer's keys are {n}", size=size, n=keys)
    check(size < keys, words)


@graded("10.5", 1)
@pytest.mark.parametrize("name", ["plain"])
def test_generate_of_torch(decode, torch, name):
    """generate makes the reference's greedy tokens, int64 (B, n), without the prompt."""
    case = load_cases()[f"generate/{name}"]
    model = decode.TorchTransformer(case.config, case.params, dtype=torch.float64)
    prompt = torch.from_numpy(case.prompt.copy())
    got = decode.generate(model, prompt, case.max_new_tokens)
    if not isinstance(got, torch.Tensor) or got.dtype != torch.int64:
        words = tr("generate: got {kind}, expected an int64 tensor", kind=type(got).__name__)
        raise Mismatch(words)
    what = f"generate(model, prompt, {case.max_new_tokens})"
    check_array(got.numpy(), case.expected, what, ("batch", "step"))
