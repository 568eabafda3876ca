"""Cases for part 9: word vectors. Dimensions are pairwise distinct, words repeat in every batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from reference_model import word2vec as reference

from .draw import Draw

Fields = dict[str, Any]


def embed(draw: Draw, dtype: type) -> Fields:
    """A batch of sentences; the expected rows come by way of the product with one-hot vectors."""
    n_words, dim = draw.choice((11, 13)), draw.choice((5, 6))
    table = draw.normal(n_words, dim, dtype=dtype)
    tokens = draw.rng.integers(n_words, size=(3, 4))
    return {
        "table": table,
        "tokens": tokens,
        "expected": np.eye(n_words, dtype=dtype)[tokens] @ table,
    }


def noise_distribution(draw: Draw) -> Fields:
    """From words seen once to words seen thousands of times, as in a corpus."""
    counts = np.ceil(10 ** (4 * draw.rng.random(draw.choice((9, 12))))).astype(np.int64)
    return {"counts": counts, "expected": reference.noise_distribution(counts)}


def pairs(draw: Draw, dtype: type, scale: float = 1.0) -> Fields:
    """Center, context and K negatives of B pairs; B, K and D differ.

    With a scale of 40 dot products come to thousands on either side.
    """
    n_pairs, n_negative, dim = draw.choice((4, 5)), 3, draw.choice((6, 7))
    fields = {
        "center": scale * draw.normal(n_pairs, dim),
        "context": scale * draw.normal(n_pairs, dim),
        "negatives": scale * draw.normal(n_pairs, n_negative, dim),
    }
    fields = {name: array.astype(dtype) for name, array in fields.items()}
    each = list(zip(*(array.astype(np.float64) for array in fields.values()), strict=True))
    loss = np.array([reference.loss(*pair) for pair in each])
    gradients = zip(*(reference.gradients(*pair) for pair in each), strict=True)
    names = ("by_center", "by_context", "by_negatives")
    fields |= {name: np.array(rows) for name, rows in zip(names, gradients, strict=True)}
    fields["loss"] = loss
    return {name: array.astype(dtype) for name, array in fields.items()}


def train_step(draw: Draw, dtype: type, repeated: bool = True) -> Fields:
    """One pair after the other, each with the old vectors.

    Args:
        repeated: words come several times in the batch, as center, as context and as noise; else
            none comes twice in one role, which even a step that loses repetitions gets right.
    """
    n_pairs, n_negative, dim, learning_rate = 7, 3, draw.choice((4, 5)), draw.choice((0.05, 0.2))
    n_words = 6 if repeated else n_pairs * (1 + n_negative)
    inputs, outputs = (draw.normal(n_words, dim, dtype=dtype) for _ in range(2))
    shape = (n_pairs, 1 + n_negative)
    if repeated:
        centers, targets = (
            draw.rng.integers(4, size=n_pairs),
            draw.rng.integers(n_words, size=shape),
        )
        targets[:, 2] = targets[:, 1]  # the same word drawn twice for one pair counts twice
    else:
        centers = draw.rng.permutation(n_words)[:n_pairs]
        targets = draw.rng.permutation(n_words).reshape(shape)
    new_inputs, new_outputs = inputs.astype(np.float64), outputs.astype(np.float64)
    old_inputs, old_outputs = new_inputs.copy(), new_outputs.copy()
    for center, (context, *negatives) in zip(centers, targets, strict=True):
        by_center, by_context, by_negatives = reference.gradients(
            old_inputs[center], old_outputs[context], old_outputs[negatives]
        )
        new_inputs[center] -= learning_rate * by_center
        new_outputs[context] -= learning_rate * by_context
        for word, gradient in zip(negatives, by_negatives, strict=True):
            new_outputs[word] -= learning_rate * gradient
    return {
        "inputs": inputs,
        "outputs": outputs,
        "centers": centers,
        "targets": targets,
        "learning_rate": learning_rate,
        "new_inputs": new_inputs.astype(dtype),
        "new_outputs": new_outputs.astype(dtype),
    }


def nearest(draw: Draw, dtype: type) -> Fields:
    """Vectors of very different lengths, so that a large dot product is no small angle."""
    n_words, dim, count = 14, draw.choice((5, 6)), draw.choice((4, 5))
    while True:
        vectors: np.ndarray = (draw.normal(n_words, dim) * np.exp(draw.normal(n_words, 1))).astype(
            dtype
        )
        query = draw.normal(dim, dtype=dtype)
        if _is_clear(vectors, query):
            break
    order = reference.nearest(vectors, query, n_words)
    exclude = [int(order[1]), int(order[draw.choice(range(5, n_words))])]
    return {
        "vectors": vectors,
        "query": query,
        "count": count,
        "exclude": exclude,
        "expected": order[:count],
        "expected_without": reference.nearest(vectors, query, count, exclude),
    }


def analogy(draw: Draw, dtype: type) -> Fields:
    """Questions about vectors at random: often the nearest word is one of the question's."""
    n_words, n_questions, dim = 15, 24, draw.choice((5, 6))
    vectors: np.ndarray = (
        draw.normal(n_words, dim) * np.exp(0.5 * draw.normal(n_words, 1))
    ).astype(dtype)
    questions: list[np.ndarray] = []
    while len(questions) < n_questions:
        a, a_star, b = question = draw.rng.choice(n_words, size=3, replace=False)
        if _is_clear(vectors, vectors[a_star] - vectors[a] + vectors[b]):
            questions.append(question)
    answers = [reference.analogy(vectors, *question) for question in questions]
    return {
        "vectors": vectors,
        "questions": np.array(questions),
        "expected": np.array(answers),
    }


def _is_clear(vectors: np.ndarray, query: np.ndarray) -> bool:
    """Whether no two cosines are so close that rounding could exchange two words."""
    vectors, query = vectors.astype(np.float64), query.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return bool(np.diff(np.sort(vectors @ query / lengths)).min() > 1e-4)


def _both_dtypes(name: str, build: Callable[..., Fields], **fixed: Any) -> dict[str, Callable]:
    return {
        f"{name}/float64": partial(build, dtype=np.float64, **fixed),
        f"{name}/float32": partial(build, dtype=np.float32, **fixed),
    }


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    **_both_dtypes("embed", embed),
    "noise_distribution": noise_distribution,
    **_both_dtypes("pairs", pairs),
    "pairs/large": partial(pairs, dtype=np.float64, scale=40.0),
    **_both_dtypes("train_step", train_step),
    "train_step/distinct": partial(train_step, dtype=np.float64, repeated=False),
    **_both_dtypes("nearest", nearest),
    **_both_dtypes("analogy", analogy),
}
