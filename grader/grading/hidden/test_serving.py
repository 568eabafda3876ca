"""Long decodes, long generations, full caches and rollbacks on the hidden cases."""

from functools import partial

import numpy as np

from assignment.harness.compare import check_array, check_refused
from assignment.harness.models import (
    check_decode,
    check_grouped_decode,
    check_length,
    check_trace,
    new_cache,
)
from assignment.harness.points import graded
from grader.base.words import tr

CACHE_AXES = ("batch", "kv head", "position", "feature")

USED = ("test_decode_uses_the_cache", "test_decode_reads_the_cache")


@graded("4.3", 3, needs=USED)
def test_long_decode(student, oracle):
    """Decode of several rows up to some seventy positions."""
    check_decode(student, oracle("long/mha"))


@graded("5.1", 3, needs=(*USED, "test_grouped_decode_reads_the_cache"))
def test_long_grouped_decode(student, oracle):
    """The same of a model with G < H, and of one row up to hundreds of positions."""
    check_grouped_decode(student, oracle("long/gqa"))
    check_grouped_decode(student, oracle("far/grouped_decode"))


@graded("4.1", 1)
def test_a_full_cache(student, oracle):
    """A cache of any size holds max_len positions and no more, and says so."""
    case = oracle("full_cache")
    cache = student.KVCache(1, 1, 1, case.max_len, 2, np.dtype(float))
    k, v, held = case.k, case.v, case.held
    cache.append(0, k[:, :, :held], v[:, :, :held])
    for length in (held + 1, case.max_len, -1, -held):
        words = tr("truncate to {n} of a cache that holds {held} positions", n=length, held=held)
        check_refused(partial(cache.truncate, length), words)
    for start, end in ((held, case.max_len + 1), (0, case.max_len)):
        place = {"n": end - start, "held": held, "max_len": case.max_len}
        words = tr("append of {n} positions behind {held} of max_len {max_len}", **place)
        new = k[:, :, start:end], v[:, :, start:end]
        check_refused(partial(cache.append, 0, *new), words)
    check_length(cache, held, tr("after what was refused"))
    keys, values = cache.append(0, k[:, :, held:-1], v[:, :, held:-1])
    check_array(keys, k[:, :, :-1], tr("keys from append into the last room"), CACHE_AXES)
    check_array(values, v[:, :, :-1], tr("values from append into the last room"), CACHE_AXES)
    one = k[:, :, -1:], v[:, :, -1:]
    check_refused(lambda: cache.append(0, *one), tr("append of 1 position to a full cache"))


@graded("4.1", 1)
def test_rollback(student, oracle):
    """Tokens taken back with truncate leave no trace in what follows."""
    case = oracle("rollback")
    model = student.load_model(case.config, case.params)
    start, n_new = case.prompt.shape[1], case.draft.shape[1] + case.continuation.shape[1]
    cache = new_cache(student, case.config, len(case.prompt), start + n_new)
    student.prefill(model, case.prompt, cache)
    for token in case.draft.T:
        student.decode_step(model, token, cache)
    cache.truncate(start + case.kept)
    check_length(cache, start + case.kept, tr("after truncate"))
    got = [student.decode_step(model, token, cache) for token in case.continuation.T]
    check_trace(got, case.decode_logits, tr("the logits after a rollback"))


@graded("4.4", 2, needs="test_generate_works_by_steps")
def test_long_generation(student, oracle):
    """Some three hundred tokens; and the same room when the text ends after a few."""
    case = oracle("long/generation")
    model = student.load_model(case.config, case.params)
    n_tokens = case.expected.shape[1]
    got = student.generate(model, case.prompt, n_tokens)
    check_array(got, case.expected, f"generate(model, prompt, {n_tokens})", ("batch", "step"))
    got = student.generate(model, case.prompt, n_tokens, eos=case.eos)
    what = f"generate(model, prompt, {n_tokens}, eos={case.eos})"
    check_array(got, case.until_eos, what, ("batch", "step"))


@graded("2.1", 2)
def test_causal_mask_of_any_size(student, oracle):
    """Sizes that are in no public test."""
    case = oracle("causal_mask/drawn")
    for i, (query_len, key_len) in enumerate(case.sizes.tolist()):
        got = student.causal_mask(query_len, key_len)
        expected = getattr(case, f"expected_{i}")
        check_array(got, expected, f"causal_mask({query_len}, {key_len})", ("query", "key"))
