"""Part 4: the KV cache, prefill, decode and greedy generation, on models with G = H."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import draws
from .harness.compare import check_array
from .harness.machines import run_cache_machine, run_decode_machine
from .harness.models import (
    POSITION_AXES,
    STEP_AXES,
    check_decode,
    check_length,
    check_long_prefill,
    check_refusals,
    check_refuses_one_more,
    check_responds,
    check_trace,
    full_at,
    new_cache,
    random_model,
    recompute,
)
from .harness.points import graded
from .harness.usage import (
    check_cache_is_used,
    check_reads_the_cache,
    check_work_of_a_generation,
    check_work_of_a_step,
)
from .harness.waste import tell_waste_of_prefill
from .harness.words import tr

# Right logits without the cache are the old way with a new name.
USED = ("test_decode_uses_the_cache", "test_decode_reads_the_cache")

CACHE_AXES = ("batch", "kv head", "position", "feature")
AXES = ("batch", "token")


@graded("4.1", 2, own_values=True)
def test_cache_returns_what_it_holds(student):
    """append returns every position of its layer, oldest first, in the cache's dtype."""
    rng = draws.rng(0)
    cache = student.KVCache(2, 2, 3, 6, 4, np.dtype(np.float32))
    k, v = rng.standard_normal((2, 2, 3, 5, 4)).astype(np.float32)
    k_before = k.copy()
    for start, end in ((0, 2), (2, 3), (3, 5)):
        for layer, sign in ((0, 1), (1, -1)):
            new_k, new_v = sign * k[:, :, start:end], sign * v[:, :, start:end]
            keys, values = cache.append(layer, new_k, new_v)
            place = {"layer": layer, "n": end}
            what = tr("keys from append, in layer {layer} after {n} positions", **place)
            check_array(keys, sign * k[:, :, :end], what, CACHE_AXES)
            what = tr("values from append, in layer {layer} after {n} positions", **place)
            check_array(values, sign * v[:, :, :end], what, CACHE_AXES)
    what = tr("the array that was appended, which append must not change")
    check_array(k, k_before, what, CACHE_AXES)


@graded("4.1", 1, beside="test_cache_returns_what_it_holds")
def test_cache_length_counts_whole_positions(student):
    """length counts the positions that EVERY layer holds."""
    cache = student.KVCache(2, 1, 1, 4, 2, np.dtype(float))
    block = draws.rng(0).standard_normal((1, 1, 3, 2))
    check_length(cache, 0, tr("of a new cache of 2 layers"))
    cache.append(0, block, block)
    check_length(cache, 0, tr("when only layer 0 of 2 holds 3 positions"))
    cache.append(1, block, block)
    check_length(cache, 3, tr("when both layers hold 3 positions"))


@graded("4.1", 1, beside="test_cache_returns_what_it_holds")
def test_cache_refuses_what_it_cannot_hold(student):
    """More than max_len positions, or truncating to more than it holds: ValueError."""
    rng = draws.rng(0)
    held, max_len = full_at(rng)
    cache = student.KVCache(1, 1, 1, max_len, 2, np.dtype(float))
    k, v = rng.standard_normal((2, 1, 1, max_len + 1, 2))
    keys, _ = cache.append(0, k[:, :, :held], v[:, :, :held])
    check_array(keys, k[:, :, :held], tr("keys from append into an empty cache"), CACHE_AXES)
    check_refusals(cache, held, max_len, k[:, :, held:], v[:, :, held:])
    keys, values = cache.append(0, k[:, :, held:-1], v[:, :, held:-1])
    check_array(keys, k[:, :, :-1], tr("keys from append up to max_len"), CACHE_AXES)
    check_array(values, v[:, :, :-1], tr("values from append up to max_len"), CACHE_AXES)
    check_refuses_one_more(cache, k[:, :, -1:], v[:, :, -1:])


@graded("4.1", 1, own_values=True)
def test_cache_of_many_positions(student):
    """A cache gives back every row it holds, however many there are."""
    rng = draws.rng(0)
    n_positions = int(rng.integers(256, 300))
    cache = student.KVCache(1, 1, 2, n_positions, 2, np.dtype(float))
    k, v = rng.standard_normal((2, 1, 2, n_positions, 2))
    k[:, :, -1] = 0  # a key of zeros is a key
    back_from, back_to = int(rng.integers(40, 80)), int(rng.integers(20, 40))
    start = 0
    while start < n_positions:
        end = min(start + int(rng.integers(1, 16)), n_positions)
        keys, values = cache.append(0, k[:, :, start:end], v[:, :, start:end])
        what = tr("keys from append, in layer {layer} after {n} positions", layer=0, n=end)
        check_array(keys, k[:, :, :end], what, CACHE_AXES)
        what = tr("values from append, in layer {layer} after {n} positions", layer=0, n=end)
        check_array(values, v[:, :, :end], what, CACHE_AXES)
        check_length(cache, end, tr("after {n} positions", n=end))
        start = end
        if start >= back_from:
            cache.truncate(back_to)
            start, back_from = back_to, n_positions + 1


@graded("4.1", 2, own_values=True)
def test_cache_under_any_use(student):
    """Any order of append and truncate on two caches leaves each with its own rows."""
    run_cache_machine(student)


@graded("4.2", 0.75)
@pytest.mark.parametrize("name", ["mha", "mha_float32"])
def test_prefill(student, oracle, name):
    """prefill of 1, 2, 3, ... tokens gives the reference's logits at every position."""
    case = oracle(f"decode/{name}")
    model = student.load_model(case.config, case.params)
    got = []
    for end in range(1, case.prompt.shape[1] + 1):
        tokens = case.prompt[:, :end]
        cache = new_cache(student, case.config, *tokens.shape, case.prefill_logits.dtype)
        got.append(student.prefill(model, tokens, cache))
        check_length(cache, end, tr("after a prefill of {n}", n=end))
    check_trace(got, case.prefill_logits, tr("the logits of prefill"), POSITION_AXES)


@graded("4.2", 1)
def test_prefill_of_a_long_prompt(student, oracle):
    """Hundreds of tokens at once, and the same in three long chunks."""
    case = oracle("far/prefill")
    model = student.load_model(case.config, case.params)

    def cache():
        return new_cache(student, case.config, *case.tokens.shape)

    check_long_prefill(student.prefill, model, case, cache)


@graded("4.2", 0.5)
def test_prefill_continues(student, oracle):
    """A prefill into a cache that holds positions goes on where they end."""
    case = oracle("decode/mha")
    model = student.load_model(case.config, case.params)
    cache = new_cache(student, case.config, *case.prompt.shape)
    got = [student.prefill(model, chunk, cache) for chunk in np.split(case.prompt, [3, 5], axis=1)]
    check_trace(got, case.prefill_logits[[2, 4, 6]], tr("the logits of prefill"), ("chunk", *AXES))
    tell_waste_of_prefill(student, case)


@graded("4.2", 2, beside=("test_prefill", "test_prefill_continues"))
def test_prefill_in_chunks(student):
    """A prefill in any chunks equals one prefill."""
    config, params = random_model(seed=1)
    model = student.load_model(config, params)
    check_responds(student, model, config)

    @draws.drawn
    @given(seed=st.integers(0, 2**16), chunks=st.lists(st.integers(1, 4), min_size=1, max_size=4))
    def holds(seed, chunks):
        tokens = draws.rng(seed).integers(config["vocab_size"], size=(2, sum(chunks)))
        cache = new_cache(student, config, *tokens.shape)
        for end, size in zip(np.cumsum(chunks), chunks, strict=True):
            got = student.prefill(model, tokens[:, end - size : end], cache)
        expected = recompute(student, model, config, tokens)
        what = tr("prefill in chunks of {chunks}", chunks=chunks)
        check_array(got, expected, what, ("batch", "token"))

    holds()


@graded("4.3", 0.5, needs=USED)
def test_decode_after_truncate(student, oracle):
    """Tokens taken back with truncate leave no trace in the steps after them."""
    case = oracle("decode/mha")
    model = student.load_model(case.config, case.params)
    cache = new_cache(student, case.config, *case.prompt.shape)
    student.prefill(model, case.prompt[:, ::-1], cache)
    cache.truncate(0)
    student.prefill(model, case.prompt[:, :6], cache)
    cache.truncate(3)
    got = [student.decode_step(model, token, cache) for token in case.prompt.T[3:]]
    check_trace(got, case.prefill_logits[3:], tr("the logits after truncate"), STEP_AXES)


@graded("4.3", 0.5, needs=USED)
def test_two_caches_at_once(student, oracle):
    """Two caches of one size hold two conversations."""
    case = oracle("decode/mha")
    model = student.load_model(case.config, case.params)
    cache, other = (new_cache(student, case.config, *case.prompt.shape) for _ in range(2))
    student.prefill(model, case.prompt[:, :4], cache)
    student.prefill(model, case.prompt[:, ::-1], other)
    got = [student.decode_step(model, token, cache) for token in case.prompt.T[4:]]
    check_trace(got, case.prefill_logits[4:], tr("the logits beside another cache"), STEP_AXES)


@graded("4.3", 0.5, needs=USED)
def test_two_models_and_one_text(student, oracle):
    """Two models of one size read the same tokens; each step answers for its own."""
    case = oracle("decode/two_models")
    models = [
        student.load_model(case.config, case.params),
        student.load_model(case.other_config, case.other_params),
    ]
    size = len(case.prompt), case.prompt.shape[1] + case.continuation.shape[1]
    caches = [new_cache(student, case.config, *size) for _ in models]
    pairs = list(zip(models, caches, strict=True))
    got = [[student.prefill(model, case.prompt, cache)] for model, cache in pairs]
    for token in case.continuation.T:
        for logits, (model, cache) in zip(got, pairs, strict=True):
            logits.append(student.decode_step(model, token, cache))
    for logits, expected in zip(got, (case.logits, case.other_logits), strict=True):
        check_trace(logits, expected, tr("the logits beside another model"), STEP_AXES)


@graded("4.3", 1, needs=USED)
def test_decode_of_a_long_text(student, oracle):
    """Decode steps up to hundreds of positions, each with all that came before."""
    check_decode(student, oracle("far/decode"))


@graded("4.3", 1.75, needs=USED)
@pytest.mark.parametrize("name", ["mha", "mha_float32"])
def test_decode(student, oracle, name):
    """Every decode step gives the logits of a recompute of the whole sequence."""
    check_decode(student, oracle(f"decode/{name}"))


@graded("4.3", 3, needs=USED)
def test_decode_equals_recompute(student):
    """Decode after a prompt of any length equals a prefill of everything so far, at every step."""
    config, params = random_model(seed=2)
    model = student.load_model(config, params)
    check_responds(student, model, config)

    @draws.drawn
    @given(
        seed=st.integers(0, 2**16),
        batch=st.integers(1, 3),
        prompt_len=st.integers(1, 5),
        n_steps=st.integers(1, 4),
    )
    def holds(seed, batch, prompt_len, n_steps):
        rng = draws.rng(seed)
        tokens = rng.integers(config["vocab_size"], size=(batch, prompt_len + n_steps))
        cache = new_cache(student, config, *tokens.shape)
        got = [student.prefill(model, tokens[:, :prompt_len], cache)]
        got += [student.decode_step(model, token, cache) for token in tokens[:, prompt_len:].T]
        expected = [
            recompute(student, model, config, tokens[:, : prompt_len + step])
            for step in range(n_steps + 1)
        ]
        what = tr("decode after a prompt of {n} tokens", n=prompt_len)
        check_trace(got, np.stack(expected), what)

    holds()


@graded("4.3", 3, needs=USED)
def test_decode_under_any_use(student):
    """Any order of prefill chunks, decode steps and truncations equals a recompute."""
    run_decode_machine(student, n_kv_heads=4, max_examples=5)


@graded("4.3", 2, needs="test_decode_reads_the_cache")
def test_decode_uses_the_cache(student, oracle):
    """A decode step does the work of one token and never reads the old tokens again."""
    case = oracle("decode/mha")
    check_cache_is_used(student, case)
    check_work_of_a_step(student, case)


@graded("4.3", 1, needs="test_decode_uses_the_cache")
def test_decode_reads_the_cache(student, oracle):
    """A decode step on a cache filled with append alone attends to what was put in."""
    check_reads_the_cache(student, oracle("filled/mha"))


@graded("4.4", 0.5, needs="test_generate_works_by_steps")
def test_generate(student, oracle):
    """generate makes the reference's greedy tokens, without the prompt."""
    case = oracle("generate/plain")
    model = student.load_model(case.config, case.params)
    got = student.generate(model, case.prompt, case.max_new_tokens)
    check_array(got, case.expected, "generate(model, prompt, 8)", ("batch", "step"))


@graded("4.4", 0.5, needs="test_generate_works_by_steps")
def test_generate_goes_on(student, oracle):
    """After the first of its tokens, generate makes the others: any prompt, any number."""
    case = oracle("generate/plain")
    model = student.load_model(case.config, case.params)
    for done in range(1, case.max_new_tokens):
        prompt = np.concatenate([case.prompt, case.expected[:, :done]], axis=1)
        got = student.generate(model, prompt, case.max_new_tokens - done)
        what = tr("generate after {n} of {all} tokens", n=done, all=case.max_new_tokens)
        check_array(got, case.expected[:, done:], what, ("batch", "step"))


@graded("4.4", 0.5, beside="test_generate")
def test_generate_works_by_steps(student, oracle):
    """generate does the work of one prefill and then of one decode step a token."""
    check_work_of_a_generation(student, oracle("generate/plain"))


@graded("4.4", 0.25)
@pytest.mark.parametrize("name", ["eos", "eos_alone", "eos_zero", "eos_in_prompt"])
def test_generate_stops(student, oracle, name):
    """A row that made eos is filled up with it; all rows ended, generation stops."""
    case = oracle(f"generate/{name}")
    model = student.load_model(case.config, case.params)
    got = student.generate(model, case.prompt, case.max_new_tokens, eos=case.eos)
    what = f"generate(model, prompt, {case.max_new_tokens}, eos={case.eos})"
    check_array(got, case.expected, what, ("batch", "step"))


@graded("4.4", 0.5, needs="test_generate_works_by_steps")
def test_generate_many(student, oracle):
    """Some sixty tokens, each of which hangs on all before it."""
    case = oracle("far/generate")
    model = student.load_model(case.config, case.params)
    got = student.generate(model, case.prompt, case.max_new_tokens)
    what = f"generate(model, prompt, {case.max_new_tokens})"
    check_array(got, case.expected, what, ("batch", "step"))
