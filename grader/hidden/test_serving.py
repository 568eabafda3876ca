"""Long decodes, long generations and rollbacks on the hidden cases."""

from assignment.harness.compare import check_array
from assignment.harness.models import (
    check_decode,
    check_grouped_decode,
    check_length,
    check_trace,
    new_cache,
)
from assignment.harness.points import graded
from grader.words import tr

USED = ("test_decode_uses_the_cache", "test_decode_reads_the_cache")


@graded("4.3", 3, needs=USED)
def test_long_decode(student, oracle):
    """Forty decode steps after a short prompt."""
    check_decode(student, oracle("long/mha"))


@graded("5.1", 3, needs=(*USED, "test_grouped_decode_reads_the_cache"))
def test_long_grouped_decode(student, oracle):
    """Forty decode steps of a model with G < H."""
    check_grouped_decode(student, oracle("long/gqa"))


@graded("4.1", 2)
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
    """Three hundred tokens; and the same room when the text ends after a few."""
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
