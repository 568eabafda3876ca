"""word2vec: gradients against finite differences, and what L2 §1 says is learned."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_model.word2vec import (
    RELATIONS,
    accuracy,
    analogy,
    cost,
    gradients,
    loss,
    make_corpus,
    nearest,
    noise_distribution,
    parallelism,
    skipgram,
    train,
    training_cost,
)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 5))
def test_gradients_are_the_slopes_of_the_loss(seed, dim, n_negative):
    rng = np.random.default_rng(seed)
    point = [rng.standard_normal(shape) for shape in ((dim,), (dim,), (n_negative, dim))]
    step = 1e-6
    for i, gradient in enumerate(gradients(*point)):
        assert gradient.shape == point[i].shape
        for place in np.ndindex(point[i].shape):
            ends = []
            for sign in (1, -1):
                moved = [array.copy() for array in point]
                moved[i][place] += sign * step
                ends.append(loss(*moved))
            assert gradient[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)


@given(st.integers(0, 2**32 - 1))
def test_a_step_is_the_sum_of_its_pairs(seed):
    """Words repeat within the batch, as center, context and noise; no change may be lost."""
    rng = np.random.default_rng(seed)
    inputs, outputs = rng.standard_normal((2, 5, 3))
    centers, targets = rng.integers(5, size=7), rng.integers(5, size=(7, 4))
    expected = [inputs.copy(), outputs.copy()]
    for center, words in zip(centers, targets, strict=True):
        by_center, by_context, by_noise = gradients(
            inputs[center], outputs[words[0]], outputs[words[1:]]
        )
        expected[0][center] -= 0.1 * by_center
        for word, change in zip(words, [by_context, *by_noise], strict=True):
            expected[1][word] -= 0.1 * change
    skipgram._step(inputs, outputs, centers, targets, 0.1)
    np.testing.assert_allclose([inputs, outputs], expected, rtol=0, atol=1e-12)


def test_a_loss_of_huge_scores_is_finite():
    center = np.full(3, 1000.0)
    assert loss(center, -center, center[None]) == pytest.approx(6e6)
    assert loss(center, center, -center[None]) == 0


def test_noise_is_frequency_to_the_three_quarters():
    """L2 §1.5: rare words come more often than they do in text."""
    noise = noise_distribution(np.array([1, 16, 81]))
    assert noise == pytest.approx(np.array([1, 8, 27]) / 36)


def test_an_embedding_is_a_row_and_a_product():
    """L2 §1.1, §1.8: one-hot times the table equals the row, exactly."""
    table = np.random.default_rng(0).standard_normal((7, 4))
    for word in range(7):
        assert np.array_equal(np.eye(7)[word] @ table, table[word])
    assert np.eye(7)[2] @ np.eye(7)[3] == 0


def test_costs():
    """L2 §1.3 (500 million, 2.5 million) and exercise 2 (25,500; 1.5e9; about 60,000 times)."""
    full = training_cost("NNLM, full softmax")
    hierarchical = training_cost("NNLM, hierarchical softmax")
    assert full - hierarchical == 500 * (1_000_000 - 20)
    assert full == pytest.approx(500e6, rel=0.01)
    assert hierarchical == pytest.approx(2.5e6, rel=0.01)
    ours = training_cost("skip-gram, negative sampling")
    assert 10 < hierarchical / ours < 100
    sizes = {"window": 5, "dim": 300, "n_negative": 15}
    negative = training_cost("skip-gram, negative sampling", **sizes)
    softmax = training_cost("skip-gram, full softmax", **sizes)
    assert negative == 25_500
    assert softmax == pytest.approx(1.5e9, rel=1e-3)
    assert softmax / negative == pytest.approx(60_000, rel=0.03)
    assert doctest.testmod(cost).failed == 0


@pytest.fixture(scope="module")
def learned():
    corpus = make_corpus()
    return corpus, train(corpus)


def test_the_corpus_has_the_documents_size(learned):
    """L2 §1.6: 20,000 sentences, about 155,000 words."""
    corpus, _ = learned
    assert len(corpus.sentences) == 20_000
    assert corpus.sentences.size == pytest.approx(155_000, rel=0.05)
    assert len(set(corpus.words)) == len(corpus.words)


def test_all_analogies_at_thirty_dimensions(learned):
    """L2 §1.6: 100 %."""
    assert [accuracy(*learned, relation) for relation in RELATIONS] == [1, 1, 1]


def test_a_relation_is_a_direction(learned):
    """L2 §1.6: difference vectors nearly parallel, 0.98 there; 0.94 with this corpus."""
    assert all(parallelism(*learned, relation) > 0.9 for relation in RELATIONS)


def test_neighbours_are_of_the_topic(learned):
    """L2 §1.6: next to king are throne, palace, crown and kingdom, not queen."""
    corpus, vectors = learned
    king = corpus.number("king")
    near = nearest(vectors, vectors[king], 4, exclude=[king])
    assert {corpus.words[i] for i in near} == {"throne", "palace", "crown", "kingdom"}
    answer = analogy(vectors, corpus.number("man"), corpus.number("woman"), king)
    assert corpus.words[answer] == "queen"


def mean_accuracy(n_sentences: int, dim: int) -> float:
    corpus = make_corpus(n_sentences)
    vectors = train(corpus, dim)
    return float(np.mean([accuracy(corpus, vectors, relation) for relation in RELATIONS]))


def test_dimension_and_data_must_grow_together():
    """L2 §1.7: little text is not helped by dimensions, nor two or five dimensions by much text."""
    few, many = 500, 5_000
    table = {(n, dim): mean_accuracy(n, dim) for n in (few, many) for dim in (2, 5, 10)}
    assert all(table[few, dim] < 0.4 for dim in (2, 5, 10))
    assert table[many, 2] < 0.1
    assert table[many, 5] < 0.75
    assert table[many, 10] > 0.95


def test_an_unknown_word_is_named():
    with pytest.raises(KeyError, match="republic"):
        make_corpus(10).number("republic")
