"""Part 12 (extra): many requests and one cache. Run by `pytest assignment/ -k part12`.

Each request's logits at each of its steps are those of a recompute of that request alone, however
it was batched; what was freed holds large numbers before anybody reads it.
"""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import draws
from .harness.compare import check, check_array, check_refused
from .harness.machines import run_engine_machine, run_pages_machine
from .harness.models import STEP_AXES, check_trace
from .harness.points import graded
from .harness.remarks import remark
from .harness.serving import (
    Watched,
    check_pages,
    check_read,
    check_speculation,
    new_pages,
    numbers,
    serve,
)
from .harness.words import tr

SETTINGS = ["roomy", "chunked", "tight", "eos"]


@pytest.fixture
def watched():
    """Marks tests whose failures are in no array that could be compared with a known bug's."""


not_compared = pytest.mark.usefixtures("watched")


def pages_of(student, case, n_blocks):
    """A cache for the rows of a case."""
    config = {"n_layers": len(case.k), "n_kv_heads": case.k.shape[2], "head_dim": case.k.shape[4]}
    return new_pages(student, config, n_blocks, int(case.block_size))


def append_all(cache, sequence, k, v):
    """Append (layer, G, T, d_h) to every layer."""
    for layer, of_layer in enumerate(zip(k, v, strict=True)):
        cache.append(layer, sequence, *of_layer)


def check_held(cache, sequence, k, v, when):
    """Compare all that a sequence holds with (layer, G, S, d_h)."""
    for layer, of_layer in enumerate(zip(k, v, strict=True)):
        check_read(cache, layer, sequence, np.stack(of_layer), when)


@graded("12.1", 1)
def test_pages_hold_what_was_appended(student, oracle):
    """Three sequences take turns; each reads its own positions, oldest first."""
    case = oracle("serving/pages")
    n_positions = case.k.shape[3]
    cache = pages_of(student, case, 3 * 4)
    sequences = [cache.add() for _ in range(3)]
    done = [0, 0, 0]
    for turn in range(n_positions):
        for row, sequence in enumerate(sequences):
            count = min(1 + (turn + row) % 3, n_positions - done[row])
            if count:
                new = slice(done[row], done[row] + count)
                append_all(cache, sequence, case.k[:, row, :, new], case.v[:, row, :, new])
                done[row] += count
    for row, sequence in enumerate(sequences):
        check_held(cache, sequence, case.k[:, row], case.v[:, row], tr("after appends in turns"))
    check(
        cache.n_free == 0,
        tr("{n} blocks are free, expected {expected}", n=cache.n_free, expected=0),
    )


@graded("12.1", 0.5)
def test_a_block_table(student, oracle):
    """A sequence takes a block when it needs one; what does not fit changes nothing."""
    case = oracle("serving/pages")
    size = int(case.block_size)
    cache, when = pages_of(student, case, 3), tr("after appends one by one")
    sequence = cache.add()
    k, v = case.k[:, 0], case.v[:, 0]
    for length in range(1, 2 * size + 1):
        append_all(cache, sequence, k[:, :, length - 1 : length], v[:, :, length - 1 : length])
        check_pages(cache, 3, size, when)
    what = tr("append of more than the free blocks hold {when}", when=when)
    more = slice(2 * size, 3 * size + 1)
    check_refused(partial(cache.append, 0, sequence, k[0, :, more], v[0, :, more]), what)
    check_pages(cache, 3, size, tr("after what was refused"))
    check_held(
        cache, sequence, k[:, :, : 2 * size], v[:, :, : 2 * size], tr("after what was refused")
    )


@graded("12.1", 0.5)
def test_freed_pages_are_used_again(student, oracle):
    """Who comes after reads nothing of who was there before, also behind a truncate."""
    case = oracle("serving/pages")
    size = int(case.block_size)
    cache = pages_of(student, case, 6)
    first, second = cache.add(), cache.add()
    append_all(cache, first, case.k[:, 0], case.v[:, 0])
    append_all(cache, second, case.k[:, 1, :, :size], case.v[:, 1, :, :size])
    cache.free(first)
    third = cache.add()
    append_all(cache, third, case.k[:, 2], case.v[:, 2])
    cache.truncate(third, size + 1)
    append_all(cache, third, case.k[:, 0, :, :size], case.v[:, 0, :, :size])
    when = tr("after free and truncate")
    check_pages(cache, 6, size, when)
    check_held(cache, second, case.k[:, 1, :, :size], case.v[:, 1, :, :size], when)
    k, v = (
        np.concatenate([rows[:, 2, :, : size + 1], rows[:, 0, :, :size]], axis=2)
        for rows in (case.k, case.v)
    )
    check_held(cache, third, k, v, when)


@graded("12.1", 1)
def test_fork_copies_on_write(student, oracle):
    """A fork takes no block, and neither sees what the other appends or that it is freed."""
    case = oracle("serving/pages")
    size = int(case.block_size)
    cache, when = pages_of(student, case, 8), tr("after a fork")
    one = cache.add()
    append_all(cache, one, case.k[:, 0, :, : size + 1], case.v[:, 0, :, : size + 1])
    other = cache.fork(one)
    check(cache.n_free == 6, tr("a fork took blocks {when}", when=when))
    append_all(cache, other, case.k[:, 1, :, :size], case.v[:, 1, :, :size])
    append_all(cache, one, case.k[:, 2, :, :size], case.v[:, 2, :, :size])
    whole = {}
    for sequence, row in ((one, 2), (other, 1)):
        whole[sequence] = [
            np.concatenate([rows[:, 0, :, : size + 1], rows[:, row, :, :size]], axis=2)
            for rows in (case.k, case.v)
        ]
        check_held(cache, sequence, *whole[sequence], when)
    check_pages(cache, 8, size, when)
    cache.free(one)
    third = cache.add()  # which takes what was freed, and nothing that `other` holds
    append_all(cache, third, case.k[:, 2], case.v[:, 2])
    check_held(cache, other, *whole[other], tr("after what it was forked from was freed"))
    cache.free(other)
    cache.free(third)
    words = tr("{n} blocks are free, expected {expected}", n=cache.n_free, expected=8)
    check(cache.n_free == 8, words)


@graded("12.1", 1, beside="test_pages_hold_what_was_appended")
def test_pages_under_any_use(student):
    """Any order of append, truncate, fork and free: all is held, and no block is lost."""
    run_pages_machine(student)


def ragged(student, case):
    """The case's model, an empty cache, a sequence for each row, and the rows."""
    model = student.load_model(case.config, case.params)
    cache = new_pages(student, case.config, 6 * len(case.rows), int(case.block_size))
    rows = [row[:length] for row, length in zip(case.rows, case.lengths, strict=True)]
    return model, cache, [cache.add() for _ in rows], rows


@graded("12.2", 1.5)
def test_ragged_prefill(student, oracle):
    """Prompts of different length in one batch: each one's last logits are those it has alone."""
    case = oracle("serving/ragged")
    model, cache, sequences, rows = ragged(student, case)
    got = student.ragged_prefill(model, rows, cache, sequences)
    what = tr("the logits after prompts of {n} tokens", n=case.lengths.tolist())
    check_array(got, case.logits[0], what, ("row", "token"))
    for sequence, length in zip(sequences, case.lengths.tolist(), strict=True):
        held = int(cache.length(sequence))
        words = tr("a sequence holds {held} positions after {n} tokens", held=held, n=length)
        check(held == length, words)
    n_tokens, n_rows = int(case.lengths.sum()), model.counter.rows("w_q") // case.config["n_layers"]
    if n_rows > n_tokens:
        remark(
            tr(
                "ragged_prefill ran {rows} tokens where the prompts have {n}: padding is work, and "
                "rows can be packed (§12.2; costs no points)",
                rows=n_rows,
                n=n_tokens,
            )
        )


@graded("12.2", 1)
def test_ragged_prefill_in_chunks(student, oracle):
    """A second chunk continues where the first one ended, in another place of the batch."""
    case = oracle("serving/ragged")
    model, cache, sequences, rows = ragged(student, case)
    cuts = [min(cut, len(row) - 1) for cut, row in zip(case.cuts.tolist(), rows, strict=True)]
    parts = list(zip(sequences, rows, cuts, strict=True))
    first = [(sequence, row[:cut]) for sequence, row, cut in parts if cut]
    student.ragged_prefill(model, [row for _, row in first], cache, [s for s, _ in first])
    rest = [row[cut:] for _, row, cut in parts][::-1]
    got = student.ragged_prefill(model, rest, cache, sequences[::-1])
    check_array(got, case.logits[0][::-1], tr("the logits after a second chunk"), ("row", "token"))


@graded("12.3", 2)
def test_ragged_decode_step(student, oracle):
    """Rows of different length decode together: each at its own position, with its own past."""
    case = oracle("serving/ragged")
    model, cache, sequences, rows = ragged(student, case)
    got = [student.ragged_prefill(model, rows, cache, sequences)]
    for token in case.continuation.T:
        got.append(student.ragged_decode_step(model, token, cache, sequences))
    check_trace(got, case.logits, tr("the logits (step 0 is the prefill's)"), STEP_AXES)


@graded("12.3", 1)
def test_ragged_decode_of_some(student, oracle):
    """A step of some of the sequences leaves the others where they are."""
    case = oracle("serving/ragged")
    model, cache, sequences, rows = ragged(student, case)
    student.ragged_prefill(model, rows, cache, sequences)
    some, others = slice(1, None, 2), slice(0, None, 2)
    got = np.zeros_like(case.logits[1:3])
    for rows_of_step in (some, others):
        for step in range(2):
            tokens = case.continuation[rows_of_step, step]
            logits = student.ragged_decode_step(model, tokens, cache, sequences[rows_of_step])
            what = tr("the logits of some of the sequences")
            check_array(logits, case.logits[1 + step][rows_of_step], what, ("row", "token"))
            got[step, rows_of_step] = logits
    check_trace(list(got), case.logits[1:3], tr("the logits of some of the sequences"))


@graded("12.3", 0.5, needs="test_ragged_decode_step")
def test_ragged_decode_does_the_work_of_its_rows(student, oracle):
    """A decode step of R rows runs R tokens, whatever was read before."""
    case = oracle("serving/ragged")
    model, cache, sequences, rows = ragged(student, case)
    student.ragged_prefill(model, rows, cache, sequences)
    model.counter.reset()
    student.ragged_decode_step(model, case.continuation[:, 0], cache, sequences)
    n_rows = model.counter.rows("w_q") // case.config["n_layers"]
    words = tr("a decode step of {n} rows ran {rows} tokens", n=len(rows), rows=n_rows)
    check(n_rows == len(rows), words)


@graded("12.4", 1)
@pytest.mark.parametrize("setting", SETTINGS)
def test_engine(student, oracle, setting):
    """Seven requests served together: each step's logits are those of the request alone."""
    case = oracle(f"serving/{setting}")
    got, _ = serve(student, case)
    check_array(got, case.logits, tr("the logits of the engine"), ("request", "step", "token"))


@graded("12.4", 0.5, needs="test_engine")
@pytest.mark.parametrize("setting", SETTINGS)
def test_engine_schedule(student, oracle, setting):
    """In which step each token is made: who is admitted, chunked, preempted, and when."""
    case = oracle(f"serving/{setting}")
    _, got = serve(student, case)
    what = tr("the step in which each token was made")
    check_array(got, case.steps, what, ("request", "token"))


@graded("12.4", 1, needs="test_engine")
@not_compared
@pytest.mark.parametrize("setting", SETTINGS)
def test_engine_is_watched(student, oracle, setting):
    """After each step: blocks are counted, the lines are in order, no row is run in vain."""
    case = oracle(f"serving/{setting}")
    sizes = int(case.n_blocks), int(case.token_budget), int(case.max_running)
    watched = Watched(student, case, *sizes)
    eos = int(case.eos) if case.eos >= 0 else None
    for row, length, logits, steps in zip(
        case.rows, case.lengths, case.logits, case.steps, strict=True
    ):
        watched.submit(row[:length], list(logits[: (steps >= 0).sum()]), eos)
    watched.run_to_end()
    n_free = watched.cache.n_free
    words = tr("{n} blocks are free, expected {expected}", n=n_free, expected=sizes[0])
    check(n_free == sizes[0], words)


@graded("12.4", 1)
@not_compared
def test_engine_refuses(student, oracle):
    """Sizes that cannot work, a request that never fits, and one that has ended, are refused."""
    pool = oracle("serving/pool")
    model = student.load_model(pool.config, pool.params)
    size = int(pool.block_size)
    cache = new_pages(student, pool.config, 3, size)
    words = tr("a token_budget of 2 for 3 requests")
    check_refused(partial(student.Engine, model, cache, 2, 3), words)
    engine = student.Engine(model, cache, 4, 2)
    words = tr("a request of more positions than all blocks hold")
    check_refused(partial(engine.submit, np.ones(2 * size, dtype=int), size + 2), words)
    fits = engine.submit(np.ones(2 * size, dtype=int), size + 1)
    check_refused(partial(engine.fork, fits, 1), tr("a fork of a request that waits"))
    engine.cancel(fits)
    check_refused(partial(engine.cancel, fits), tr("a second cancel of a request"))
    left = numbers(engine.waiting, "Engine.waiting"), numbers(engine.step()[0], "Engine.step()[0]")
    check(left == ([], []), tr("a request that was cancelled is still there"))


@graded("12.4", 3, needs="test_engine")
@not_compared
def test_engine_under_any_use(student, oracle):
    """Any order of submit, step, cancel and fork, with too few blocks: all of the above holds."""
    run_engine_machine(student, oracle("serving/pool"))


@graded("12.5", 0.5)
@pytest.mark.parametrize("drafts", ["right", "wrong", "half"])
def test_speculative_step(student, oracle, drafts):
    """Drafts that are right, wrong at once, or from the middle on: greedy decode's tokens."""
    wrong = {"right": [0, 0, 0], "wrong": [1, 1, 0], "half": [0, 1, 0]}[drafts]
    check_speculation(student, oracle("serving/speculation"), [wrong, wrong])


@graded("12.5", 1.5, needs="test_speculative_step")
@not_compared
def test_any_draft_is_greedy(student, oracle):
    """For any drafts the tokens are those of greedy decode, in no more work than one forward."""
    case = oracle("serving/speculation")

    @draws.drawn
    @given(st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=4))
    def holds(drafts):
        check_speculation(student, case, drafts)

    holds()


@graded("12.6", 1)
@pytest.mark.parametrize("name", ["tiles", "tiles_large"])
def test_attention_in_tiles(student, oracle, name):
    """Block by block equals attention over all; nothing else in the pool counts."""
    case = oracle(f"serving/{name}")
    got = student.attention_in_tiles(
        case.q, case.key_blocks, case.value_blocks, case.block_table.tolist(), int(case.length)
    )
    check_array(got, case.expected, "attention_in_tiles", ("head", "feature"))


@graded("12.7", 0.5)
def test_quantize_blocks(student, oracle):
    """One scale a block and head, and an error of half a scale at most."""
    case = oracle("serving/int8")
    integers, scales = student.quantize_blocks(case.blocks)
    check_array(scales, case.scales, tr("the scales of quantize_blocks"), ("block", "kv head"))
    is_int8 = isinstance(integers, np.ndarray) and integers.dtype == np.int8
    check(is_int8, tr("the integers of quantize_blocks are no int8"))
    axes = ("block", "kv head", "position", "feature")
    got = integers * case.scales[..., None, None]
    check_array(got, case.expected, tr("what quantize_blocks keeps"), axes)
    error = np.abs(got - case.blocks) / case.scales[..., None, None]
    words = tr("the error is {error:.3f} of a scale, at most a half is expected", error=error.max())
    check(bool(error.max() <= 0.5 + 1e-9), words)


@graded("12.8", 0.5)
def test_dequantize_blocks(student, oracle):
    """Integers times the scale of their block and head."""
    case = oracle("serving/int8")
    got = student.dequantize_blocks(case.integers.astype(np.int8), case.scales)
    axes = ("block", "kv head", "position", "feature")
    check_array(got, case.expected, "dequantize_blocks", axes)
