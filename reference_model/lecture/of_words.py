"""Tables of L2 §1: word2vec."""

from __future__ import annotations

from functools import cache

import numpy as np

from reference_model.word2vec import (
    COSTS,
    RELATIONS,
    accuracy,
    make_corpus,
    nearest,
    parallelism,
    train,
    training_cost,
)

from .table import Table, table, texts


@cache
def learned():
    """The corpus of L2 §1.6 and its vectors, trained once."""
    corpus = make_corpus()
    return corpus, train(corpus)


@table("word2vec-cost")
def costs() -> Table:
    rows = [(model, training_cost(model)) for model in COSTS]
    note = "Exercise 2, skip-gram with C = 5, D = 300, k = 15: {:,}.".format(
        training_cost("skip-gram, negative sampling", window=5, dim=300, n_negative=15)
    )
    title = "L2 §1.3  Parameters that one training example touches"
    return Table(title, ("model", "Q"), texts(rows), note)


@table("analogies")
def analogies() -> Table:
    corpus, vectors = learned()
    rows = [
        (r.name, f"{accuracy(corpus, vectors, r):.0%}", parallelism(corpus, vectors, r))
        for r in RELATIONS
    ]
    king = corpus.number("king")
    near = [corpus.words[i] for i in nearest(vectors, vectors[king], 4, exclude=[king])]
    return Table(
        "L2 §1.6  Analogies, 30 dimensions",
        ("relation", "right", "mean cosine of the differences"),
        texts(rows),
        f"Next to king: {', '.join(near)}. The relation is a direction, not a distance.",
    )


@table("dimension-and-data")
def dimension_and_data() -> Table:
    rows = []
    for n_sentences in (500, 1000, 5000):
        corpus = make_corpus(n_sentences)
        trained = [train(corpus, dim) for dim in (2, 5, 10)]
        rows.append((n_sentences, *(f"{_mean_accuracy(corpus, v):.0%}" for v in trained)))
    return Table(
        "L2 §1.7  Mean accuracy of the analogies by corpus and dimension",
        ("sentences", "d = 2", "d = 5", "d = 10"),
        texts(rows),
        "Dimension and data must grow together.",
    )


def _mean_accuracy(corpus, vectors) -> float:
    return float(np.mean([accuracy(corpus, vectors, relation) for relation in RELATIONS]))
