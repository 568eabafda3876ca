"""Part 9: skip-gram with negative sampling, nearest words and analogies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from . import word_vectors
from .harness import draws
from .harness.compare import Mismatch, check, check_array, check_differs, check_kind
from .harness.points import graded
from .harness.waste import tell_waste_of_embedding
from .harness.words import tr

PAIR_AXES = ("pair", "feature")
NEGATIVE_AXES = ("pair", "negative", "feature")
WORD_AXES = ("word", "feature")
GRADIENTS = (("center", PAIR_AXES), ("context", PAIR_AXES), ("negatives", NEGATIVE_AXES))
SEEDS = st.integers(0, 2**16)


@graded("9.1", 0.25)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_embed(student, oracle, dtype):
    """embed looks the rows of tokens up, in the dtype of the table."""
    case = oracle(f"embed/{dtype}")
    got = student.embed(case.table, case.tokens)
    check_array(got, case.expected, "embed(table, tokens)", ("batch", "position", "feature"))
    tell_waste_of_embedding(student, case.table, case.tokens)


@graded("9.1", 0.5, own_values=True)
@given(seed=SEEDS, n_words=st.integers(2, 9))
def test_embed_is_a_product(student, seed, n_words):
    """embed(table, tokens) equals one-hot vectors times the table (L2 §1.8)."""
    rng = draws.rng(seed)
    table, tokens = rng.standard_normal((n_words, 3)), rng.integers(n_words, size=5)
    one_hot = np.eye(n_words)[tokens]
    got = student.embed(table, tokens)
    check_array(got, one_hot @ table, tr("embed, compared with one-hot @ table"), WORD_AXES)


@graded("9.2", 0.5)
def test_noise_distribution(student, oracle):
    """The probability of a negative is its count to the power 0.75, with the sum 1."""
    case = oracle("noise_distribution")
    got = student.noise_distribution(case.counts)
    check_array(got, case.expected, "noise_distribution(counts)", ("word",))


@graded("9.2", 0.5, beside="test_noise_distribution")
@given(seed=SEEDS, n_words=st.integers(2, 9), times=st.integers(2, 50))
def test_noise_favours_rare_words(student, seed, n_words, times):
    """The sum is 1, a longer text changes nothing, and rare words gain against the text."""
    counts = draws.rng(seed).permutation(np.arange(1, n_words + 1) ** 3)
    noise = student.noise_distribution(counts)
    check_kind(noise, np.zeros(n_words), "noise_distribution(counts)")
    check_array(noise.sum(keepdims=True), np.ones(1), tr("the sum of the probabilities"))
    what = tr("noise_distribution of counts that are {times} times as large", times=times)
    check_array(student.noise_distribution(times * counts), noise, what, ("word",))
    order = np.argsort(counts)
    check_array(np.argsort(noise), order, tr("the words in order of their probability"))
    gain = (noise * counts.sum() / counts)[order]
    words = tr("a rare word must gain more against its share of the text than a frequent one")
    check(bool((np.diff(gain) < 0).all()), words)


@graded("9.3", 0.5)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_loss(student, oracle, dtype):
    """The loss of each pair: one seen word against K negatives, which are summed."""
    case = oracle(f"pairs/{dtype}")
    got = student.sgns_loss(case.center, case.context, case.negatives)
    check_array(got, case.loss, "sgns_loss(center, context, negatives)", ("pair",))


@graded("9.3", 0.5)
def test_loss_of_extreme_scores(student, oracle):
    """The loss of dot products in the thousands neither overflows nor becomes infinite."""
    case = oracle("pairs/large")
    got = student.sgns_loss(case.center, case.context, case.negatives)
    check_array(got, case.loss, tr("sgns_loss of very large dot products"), ("pair",))


@graded("9.4", 0.5)
@pytest.mark.parametrize("name", ["float64", "float32", "large"])
def test_gradients(student, oracle, name):
    """The derivatives by center, context and negatives, in this order."""
    case = oracle(f"pairs/{name}")
    got = student.sgns_gradients(case.center, case.context, case.negatives)
    _check_gradients(got, (case.by_center, case.by_context, case.by_negatives))


@graded("9.4", 0.5, own_values=True)
@given(seed=SEEDS, n_negative=st.integers(1, 4))
def test_gradients_of_the_formula(student, seed, n_negative):
    """The gradients are the slopes of the formula, measured by finite differences."""
    point = _random_pair(seed, n_negative)
    _check_gradients(student.sgns_gradients(*point), _slopes(_loss_by_definition, point))


@graded("9.4", 0.25, beside="test_gradients")
@given(seed=SEEDS, n_negative=st.integers(1, 4))
def test_gradients_of_the_loss(student, seed, n_negative):
    """The gradients are the slopes of your own sgns_loss, measured by finite differences."""
    point = _random_pair(seed, n_negative)
    slopes = _slopes(student.sgns_loss, point)
    for slope in slopes:
        check_differs(slope, np.zeros_like(slope), tr("sgns_loss at two different points"))
    _check_gradients(student.sgns_gradients(*point), slopes)


@graded("9.4", 0.25, beside="test_gradients")
@given(seed=SEEDS)
def test_negatives_have_no_order(student, seed):
    """Other places for the same negatives change no loss, and no gradient but by its place."""
    center, context, negatives = _random_pair(seed, n_negative=4)
    order = draws.rng(seed).permutation(4)
    moved = (center, context, negatives[:, order])
    before, after = (student.sgns_loss(*point) for point in ((center, context, negatives), moved))
    check_kind(before, np.zeros(1), "sgns_loss(center, context, negatives)")
    check_array(after, before, tr("sgns_loss with the negatives in another order"), ("pair",))
    expected = _check_kinds(student.sgns_gradients(center, context, negatives), moved)
    for other in (negatives, np.zeros_like(negatives)):
        check_differs(expected[2], other, tr("the gradient by {name}", name="negatives"))
    _check_gradients(student.sgns_gradients(*moved), (*expected[:2], expected[2][:, order]))


@graded("9.5", 0.5)
@pytest.mark.parametrize("name", ["distinct", "float64", "float32"])
def test_train_step(student, oracle, name):
    """A step moves every word of the batch against the sum of its gradients, at the old vectors."""
    case = oracle(f"train_step/{name}")
    got = student.train_step(
        case.inputs, case.outputs, case.centers, case.targets, case.learning_rate
    )
    once = tr("train_step of a batch in which no word comes twice")
    often = tr("train_step of a batch in which words come several times")
    what = once if name == "distinct" else often
    _check_step(got, (case.new_inputs, case.new_outputs), what)


@graded("9.5", 0.5, beside="test_train_step")
@given(seed=SEEDS, n_pairs=st.integers(2, 6))
def test_every_pair_counts(student, seed, n_pairs):
    """A batch moves each word by the sum of what its pairs do alone, however often it occurs."""
    rng = draws.rng(seed)
    inputs, outputs = rng.standard_normal((2, 3, 4))
    centers, targets = rng.integers(3, size=n_pairs), rng.integers(3, size=(n_pairs, 3))
    expected = [inputs.copy(), outputs.copy()]
    for i in range(n_pairs):
        one = student.train_step(inputs, outputs, centers[[i]], targets[[i]], 0.1)
        for new, old, total in zip(
            _check_two(one, inputs), (inputs, outputs), expected, strict=True
        ):
            total += new - old
    check_differs(expected[0], inputs, tr("the input vectors after a step"))
    check_differs(expected[1], outputs, tr("the output vectors after a step"))
    got = student.train_step(inputs, outputs, centers, targets, 0.1)
    what = tr("a step of {n} pairs, compared with the sum of what each does alone", n=n_pairs)
    _check_step(got, expected, what)


@graded("9.5", 0.25, beside="test_train_step")
@given(seed=SEEDS)
def test_a_small_step_lowers_the_loss(student, seed):
    """A small step lowers the loss of the batch, and twice the learning rate goes twice as far."""
    rng = draws.rng(seed)
    inputs, outputs = rng.standard_normal((2, 7, 4))
    centers, targets = rng.integers(7, size=5), rng.integers(7, size=(5, 4))
    new = _check_two(student.train_step(inputs, outputs, centers, targets, 1e-3), inputs)
    before, after = (_loss_of(v, u, centers, targets) for v, u in ((inputs, outputs), new))
    words = tr(
        "the loss of the batch went from {before:.6f} to {after:.6f}", before=before, after=after
    )
    check(after < before, words)
    further = student.train_step(inputs, outputs, centers, targets, 2e-3)
    expected = (2 * new[0] - inputs, 2 * new[1] - outputs)
    _check_step(further, expected, tr("a step with twice the learning rate"))


@graded("9.6", 0.25)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nearest(student, oracle, dtype):
    """The words with the largest cosine, the nearest first; excluded words are passed over."""
    case = oracle(f"nearest/{dtype}")
    vectors, query, count = case.vectors, case.query, case.count
    got = student.nearest(vectors, query, count)
    check_array(got, case.expected, f"nearest(vectors, query, {count})", ("place",))
    exclude = tuple(case.exclude)
    got = student.nearest(vectors, query, count, exclude=exclude)
    what = f"nearest(vectors, query, {count}, exclude={exclude})"
    check_array(got, case.expected_without, what, ("place",))


@graded("9.6", 0.25, beside="test_nearest")
@given(seed=SEEDS, times=st.floats(0.01, 100))
def test_only_directions_count(student, seed, times):
    """Longer or shorter vectors are no nearer, and a word is nearest to itself."""
    rng = draws.rng(seed)
    vectors, query = rng.standard_normal((9, 4)), rng.standard_normal(4)
    order = student.nearest(vectors, query, 9)
    check_kind(order, np.arange(9), "nearest(vectors, query, 9)")
    check_array(np.sort(order), np.arange(9), tr("the words found by nearest, sorted"))
    stretched = vectors * rng.uniform(0.1, 10, size=(9, 1))
    got = student.nearest(stretched, times * query, 9)
    check_array(got, order, tr("nearest among vectors of other lengths"), ("place",))
    word = int(rng.integers(9))
    got = student.nearest(stretched, vectors[word], 1)
    check_array(got, np.array([word]), tr("the word nearest to word {n}", n=word), ("place",))


@graded("9.7", 0.25)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_analogy(student, oracle, dtype):
    """The word nearest to v(a*) - v(a) + v(b), which is none of the three asked with."""
    case = oracle(f"analogy/{dtype}")
    got = [_answer(student, case.vectors, *question) for question in case.questions.tolist()]
    check_array(np.array(got), case.expected, tr("the answers of analogy"), ("question",))


@graded("9.7", 0.5, beside="test_analogy")
def test_trained_vectors(student):
    """Vectors that your train_step learned find their topics and answer analogies."""
    rng = draws.rng(2013)
    corpus = word_vectors.make_corpus(rng, n_sentences=400)  # explicit loops take seconds
    noise = student.noise_distribution(corpus.counts)
    check_kind(noise, np.zeros(len(corpus.words)), "noise_distribution(counts)")
    vectors = word_vectors.train(student.train_step, corpus, noise, rng)
    check_kind(vectors, np.zeros((len(corpus.words), word_vectors.DIM)), tr("trained vectors"))
    near, right = 0, 0
    for relation in word_vectors.RELATIONS:
        for (first, _), topic in relation.topics.items():
            word, *expected = corpus.numbers(first, *topic)
            got = student.nearest(vectors, vectors[word], 3, exclude=(word,))
            check_kind(got, np.arange(3), "nearest(vectors, query, 3)")
            near += len({*got.tolist()} & {*expected})
        for *question, answer in word_vectors.questions(corpus, relation).tolist():
            right += _answer(student, vectors, *question) == answer
    # Right code finds 52 to 54 and answers 73 to 90; by chance it would be one or two of each.
    words = tr("of the 54 words nearest to 18 words {n} are of their topic; 40 must be", n=near)
    check(near >= 40, words)
    check(right >= 60, tr("{n} of 90 analogies are right; 60 must be", n=right))


def _random_pair(seed: int, n_negative: int) -> tuple[np.ndarray, ...]:
    rng = draws.rng(seed)
    shapes = ((1, 5), (1, 5), (1, n_negative, 5))
    return tuple(rng.standard_normal(shape) for shape in shapes)


def _loss_by_definition(center, context, negatives) -> np.ndarray:
    """The formula of §9.3 as it stands, for small dot products."""
    seen = np.einsum("bd,bd->b", context, center)
    noise = np.einsum("bkd,bd->bk", negatives, center)
    return np.log(1 + np.exp(-seen)) + np.log(1 + np.exp(noise)).sum(axis=1)


def _loss_of(inputs, outputs, centers, targets) -> float:
    """The summed loss of a batch."""
    v, u = inputs[centers], outputs[targets]
    return float(_loss_by_definition(v, u[:, 0], u[:, 1:]).sum())


def _slopes(loss, point: tuple[np.ndarray, ...], step: float = 1e-5) -> list[np.ndarray]:
    """The slopes of a loss at one pair: every number of it is moved a little, up and down.

    All the moved pairs are one batch, so that the loss is called once.
    """
    flat = np.concatenate([array.ravel() for array in point])
    moves = step * np.eye(len(flat))
    moved = np.concatenate([flat + moves, flat - moves])
    ends = np.cumsum([array.size for array in point])[:-1]
    batch = [
        part.reshape(len(moved), *array.shape[1:])
        for part, array in zip(np.split(moved, ends, axis=1), point, strict=True)
    ]
    values = loss(*batch)
    check_kind(values, np.zeros(len(moved)), "sgns_loss(center, context, negatives)")
    up, down = np.split(values, 2)
    parts = np.split((up - down) / (2 * step), ends)
    return [part.reshape(array.shape) for part, array in zip(parts, point, strict=True)]


def _check_kinds(got: object, expected: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Fail unless `got` are three arrays of the shapes and dtypes expected."""
    three = tr("three arrays, by center, context and negatives")
    gradients = _check_tuple(got, 3, "sgns_gradients(...)", three)
    for (name, _), array, wanted in zip(GRADIENTS, gradients, expected, strict=True):
        check_kind(array, wanted, tr("the gradient by {name}", name=name))
    return gradients


def _check_gradients(got: object, expected) -> None:
    for (name, axes), array, wanted in zip(
        GRADIENTS, _check_kinds(got, expected), expected, strict=True
    ):
        check_array(array, wanted, tr("the gradient by {name}", name=name), axes)


def _check_two(got: object, like: np.ndarray) -> tuple[np.ndarray, ...]:
    """Fail unless `got` are two arrays like `like`."""
    two = tr("two arrays, the new inputs and outputs")
    pair = _check_tuple(got, 2, "train_step(...)", two)
    for array in pair:
        check_kind(array, like, "train_step(...)")
    return pair


def _check_step(got: object, expected, what: str) -> None:
    new_inputs, new_outputs = _check_two(got, expected[0])
    # The outputs first: they tell more faults apart, since a word can be there in two roles.
    check_array(new_outputs, expected[1], tr("{what}, the output vectors", what=what), WORD_AXES)
    check_array(new_inputs, expected[0], tr("{what}, the input vectors", what=what), WORD_AXES)


def _check_tuple(got: object, length: int, what: str, expected: str) -> tuple:
    """A list serves as well."""
    if isinstance(got, tuple | list) and len(got) == length:
        return tuple(got)
    raise Mismatch(tr("{what} must return {expected}", what=what, expected=expected))


def _answer(student, vectors: np.ndarray, a: int, a_star: int, b: int) -> int:
    got = student.analogy(vectors, a, a_star, b)
    number = np.asarray(got) if isinstance(got, int | np.integer | np.ndarray) else None
    if number is None or number.shape != () or number.dtype.kind not in "iu":
        raise Mismatch(tr("analogy must return the number of one word, an integer"))
    return int(number)
