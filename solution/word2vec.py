"""Part 9: word vectors by skip-gram with negative sampling (L2 §1).

A word has two vectors: a row of `inputs`, v, when it is the center, and a row of `outputs`, u, when
it is context. After the training the rows of `inputs` are the word vectors.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np


def embed(table: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The rows of a table that belong to the tokens: what one-hot vectors times the table give.

    Args:
        table: (V, D).
        tokens: int (...), each 0 ... V - 1.

    Returns:
        (..., D), in the dtype of the table.

    Source: L2 §1.1, §1.8.
    """
    ### BEGIN SOLUTION
    return table[tokens]
    ### END SOLUTION


def noise_distribution(counts: np.ndarray) -> np.ndarray:
    """The probability with which each word is drawn as a negative: its count to the power 0.75.

    Args:
        counts: int or float (V,), how often each word occurs in the corpus.

    Returns:
        float64 (V,), with the sum 1, whatever the counts are.

    Source: Mikolov et al. 2013b §2.2; L2 §1.5.
    """
    ### BEGIN SOLUTION
    weights = counts.astype(np.float64) ** 0.75
    return weights / weights.sum()
    ### END SOLUTION


def sgns_loss(center: np.ndarray, context: np.ndarray, negatives: np.ndarray) -> np.ndarray:
    """-log s(u_o . v) - sum_n log s(-u_n . v) of each pair, s the logistic function.

    Must stay finite and exact for dot products of a thousand to either side.

    Args:
        center: (B, D), v of the center word of each pair.
        context: (B, D), u_o of the word that was really seen beside it.
        negatives: (B, K, D), u_n of the K words drawn as noise for the pair.

    Returns:
        (B,), one loss a pair, in the dtype of the inputs.

    Source: Mikolov et al. 2013b §2.2; L2 §1.5.
    """
    ### BEGIN SOLUTION
    # -log s(x) = log(1 + exp(-x)), and logaddexp(0, -x) is that without an overflow.
    seen = (context * center).sum(axis=-1)
    noise = (negatives * center[:, None]).sum(axis=-1)
    return np.logaddexp(0, -seen) + np.logaddexp(0, noise).sum(axis=-1)
    ### END SOLUTION


def sgns_gradients(
    center: np.ndarray, context: np.ndarray, negatives: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The derivatives of each pair's loss by its v, its u_o and each of its u_n.

    Args:
        center, context, negatives: as in `sgns_loss`.

    Returns:
        three arrays in the shapes and the dtype of the three arguments, in their order.

    Source: L2 §1.5.
    """
    ### BEGIN SOLUTION
    error_seen = _logistic((context * center).sum(axis=-1, keepdims=True)) - 1
    error_noise = _logistic((negatives * center[:, None]).sum(axis=-1, keepdims=True))
    by_center = error_seen * context + (error_noise * negatives).sum(axis=1)
    return by_center, error_seen * center, error_noise * center[:, None]
    ### END SOLUTION


### BEGIN SOLUTION
def _logistic(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), by a function that cannot overflow."""
    return 0.5 * (1 + np.tanh(0.5 * x))


### END SOLUTION


def train_step(
    inputs: np.ndarray,
    outputs: np.ndarray,
    centers: np.ndarray,
    targets: np.ndarray,
    learning_rate: float,
) -> tuple[np.ndarray, np.ndarray]:
    """One step of gradient descent on the summed loss of a batch of pairs.

    All gradients are taken at the old vectors. A word that occurs several times in the batch, in
    any role, moves by the sum of all its gradients. The arguments stay as they are.

    Args:
        inputs: (V, D), v of every word.
        outputs: (V, D), u of every word.
        centers: int (B,), the center word of each pair.
        targets: int (B, 1 + K), of each pair the word really seen, then the K negatives.
        learning_rate: how far to go against the gradient.

    Returns:
        the new (inputs, outputs), in their dtype.

    Source: L2 §1.5.
    """
    ### BEGIN SOLUTION
    by_center, by_context, by_negatives = sgns_gradients(
        embed(inputs, centers), embed(outputs, targets[:, 0]), embed(outputs, targets[:, 1:])
    )
    by_targets = np.concatenate([by_context[:, None], by_negatives], axis=1)
    new_inputs, new_outputs = inputs.copy(), outputs.copy()
    np.subtract.at(new_inputs, centers, learning_rate * by_center)
    np.subtract.at(new_outputs, targets, learning_rate * by_targets)
    return new_inputs, new_outputs
    ### END SOLUTION


def nearest(
    vectors: np.ndarray, query: np.ndarray, count: int, exclude: Collection[int] = ()
) -> np.ndarray:
    """The words whose vectors have the largest cosine with a query.

    Args:
        vectors: (V, D), none of them zero.
        query: (D,), not zero.
        count: how many words are wanted; so many are left when `exclude` is taken away.
        exclude: words that must not be in the answer.

    Returns:
        int (count,), the numbers of the words, the nearest first.

    Source: Mikolov et al. 2013a §4; L2 §1.6.
    """
    ### BEGIN SOLUTION
    # The query's own length is left out: it changes no order.
    cosines = (vectors @ query) / np.linalg.norm(vectors, axis=-1)
    cosines[list(exclude)] = -np.inf
    return np.argsort(-cosines)[:count]
    ### END SOLUTION


def analogy(vectors: np.ndarray, a: int, a_star: int, b: int) -> int:
    """a is to a_star as b is to which word? The one nearest to v(a_star) - v(a) + v(b).

    The vectors are taken as they are, and the three words asked with are no answers.

    Args:
        vectors: (V, D), none of them zero.
        a, a_star, b: numbers of words, as of man, woman and king.

    Returns:
        the number of the word.

    Source: Mikolov et al. 2013a §4; L2 §1.6.
    """
    ### BEGIN SOLUTION
    query = vectors[a_star] - vectors[a] + vectors[b]
    return int(nearest(vectors, query, 1, exclude=(a, a_star, b))[0])
    ### END SOLUTION
