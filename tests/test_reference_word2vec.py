"""word2vec: gradients against finite differences, and what L2 §1 says is learned."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignment import word_vectors
from grader.known_bugs import bug_named, make_variant
from reference_model.word2vec import (
    RELATIONS,
    accuracy,
    analogy,
    cost,
    gradients,
    learning,
    loss,
    make_corpus,
    nearest,
    noise_distribution,
    parallelism,
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
    learning._step(inputs, outputs, centers, targets, 0.1)
    np.testing.assert_allclose([inputs, outputs], expected, rtol=0, atol=1e-12)


def slopes(loss_of, tables) -> list[np.ndarray]:
    """The loss' derivative by each number of each table, measured."""
    found = []
    for table in tables:
        slope = np.zeros_like(table)
        for place in np.ndindex(table.shape):
            ends = []
            for step in (1e-6, -1e-6):
                table[place] += step
                ends.append(loss_of(*tables))
                table[place] -= step
            slope[place] = (ends[0] - ends[1]) / 2e-6
        found.append(slope)
    return found


@given(st.integers(0, 2**32 - 1))
def test_a_step_of_cbow_goes_down_its_loss(seed):
    rng = np.random.default_rng(seed)
    tables = list(rng.standard_normal((2, 6, 3)))
    around = np.array([[0, 1, -1, 2], [1, 1, 4, -1]])
    targets = rng.integers(6, size=(2, 3))

    def loss_of(inputs, outputs):
        return sum(
            loss(inputs[words[words >= 0]].mean(axis=0), outputs[t[0]], outputs[t[1:]])
            for words, t in zip(around, targets, strict=True)
        )

    expected = [t - 0.1 * slope for t, slope in zip(tables, slopes(loss_of, tables), strict=True)]
    learning._step_cbow(*tables, around, targets, 0.1)
    np.testing.assert_allclose(tables, expected, rtol=0, atol=1e-7)


@given(st.integers(0, 2**32 - 1))
def test_a_step_of_the_full_softmax_goes_down_its_loss(seed):
    rng = np.random.default_rng(seed)
    tables = list(rng.standard_normal((2, 6, 3)))
    centers, contexts = rng.integers(6, size=(2, 4))

    def loss_of(inputs, outputs):
        scores = inputs[centers] @ outputs.T
        return (np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(4), contexts]).sum()

    expected = [t - 0.1 * slope for t, slope in zip(tables, slopes(loss_of, tables), strict=True)]
    learning._step_softmax(*tables, centers, contexts, 0.1)
    np.testing.assert_allclose(tables, expected, rtol=0, atol=1e-7)


def test_the_words_around_a_word():
    words, around = learning._with_context(np.array([[1, 2, 3], [4, 5, 6]]), window=2)
    assert words.tolist() == [1, 2, 3, 4, 5, 6]
    assert around[:2].tolist() == [[-1, -1, 2, 3], [-1, 1, 3, -1]]


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


# ---- The program around part 9: python -m assignment.word_vectors, and its corpus

ROOT = Path(__file__).parent.parent


def run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "assignment.word_vectors", *arguments]
    environment = {"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def timeless(text: str) -> str:
    return re.sub(r"in [\d.]+ s", "in _ s", text)


def test_the_tour_is_what_the_handout_shows():
    tour = run("--impl", "solution")
    assert tour.returncode == 0, tour.stderr
    handout = (ROOT / "assignment" / "README.md").read_text(encoding="utf-8")
    shown = handout.split("```text\nNearest, by cosine:\n")[1].split("```")[0]
    lines = [line for line in shown.splitlines() if line.strip()]
    assert len(lines) == 5
    assert [line for line in lines if line not in tour.stdout] == []
    assert timeless(run("--impl", "solution").stdout) == timeless(tour.stdout)


def test_words_can_be_asked_about():
    assert run("--impl", "solution", "old", "older", "sweet").stdout == "sweeter\n"
    near = run("--impl", "solution", "thunder").stdout.split()[::2]
    assert {*near[:4]} == {"trumpet", "drum", "loud", "louder"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Part 9.2 noise_distribution: see README.md §9.2"),
        (["--impl", "solution", "democracy"], "democracy is in no sentence"),
        (["--impl", "solution", "king", "queen"], "give one word, or three"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(arguments, says):
    result = run(*arguments)
    assert result.returncode != 0
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_a_sentence_holds_one_word_of_a_pair_and_its_company():
    corpus = word_vectors.make_corpus(np.random.default_rng(1), n_sentences=300)
    assert corpus.counts.sum() == corpus.sentences.size == 300 * 6
    assert len(set(corpus.words)) == len(corpus.words)
    for sentence in corpus.sentences:
        words = {corpus.words[i] for i in sentence}
        relation, pair = next(
            (r, p) for r in word_vectors.RELATIONS for p in r.topics if words & {*p}
        )
        assert len(words & {*pair}) == 1
        side = 0 if pair[0] in words else 1
        assert {*relation.topics[pair]} < words
        assert len(words & {*relation.sides[side]}) == 2


def learned_share(*bugs: str) -> float:
    """Of the analogies, the share that is answered rightly after training with these bugs."""
    variant = make_variant(bug_named(name) for name in bugs)

    def call(name: str, *arguments):
        return variant.call(name, arguments, {})[0]

    rng = np.random.default_rng(3)
    corpus = word_vectors.make_corpus(rng)
    noise = call("noise_distribution", corpus.counts)
    step = partial(call, "train_step")
    vectors = word_vectors.train(step, corpus, noise, rng)
    asked = np.concatenate([word_vectors.questions(corpus, r) for r in word_vectors.RELATIONS])
    return float(np.mean([call("analogy", vectors, *row[:3]) == row[3] for row in asked.tolist()]))


def test_what_is_said_of_lost_repetitions_is_so():
    """The explanations of these bugs say: from all to nine in ten, and to six in ten."""
    assert learned_share() > 0.97
    assert 0.75 < learned_share("repetitions-lost") < 0.97
    assert 0.3 < learned_share("repetitions-lost-in-each-role") < 0.75
