# Generated from solution/word2vec.py by `make assignment`; a change belongs there.
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
    raise NotImplementedError("Part 9.1 embed: see README.md §9.1")


def noise_distribution(counts: np.ndarray) -> np.ndarray:
    """The probability with which each word is drawn as a negative: its count to the power 0.75.

    Args:
        counts: int or float (V,), how often each word occurs in the corpus.

    Returns:
        float64 (V,), with the sum 1, whatever the counts are.

    Source: Mikolov et al. 2013b §2.2; L2 §1.5.
    """
    raise NotImplementedError("Part 9.2 noise_distribution: see README.md §9.2")


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
    raise NotImplementedError("Part 9.3 sgns_loss: see README.md §9.3")


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
    raise NotImplementedError("Part 9.4 sgns_gradients: see README.md §9.4")


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
    raise NotImplementedError("Part 9.5 train_step: see README.md §9.5")


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
    raise NotImplementedError("Part 9.6 nearest: see README.md §9.6")


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
    raise NotImplementedError("Part 9.7 analogy: see README.md §9.7")
