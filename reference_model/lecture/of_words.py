"""Tables of L2 §1: word2vec."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from reference_model.word2vec import (
    COSTS,
    RELATIONS,
    Corpus,
    accuracy,
    make_corpus,
    nearest,
    parallelism,
    train,
    train_cbow,
    train_full_softmax,
    training_cost,
)

from .table import Figure, Table, table, texts


@cache
def learned():
    """The corpus of L2 §1.6 and its vectors, trained once."""
    corpus = make_corpus()
    return corpus, train(corpus)


@table("word2vec-cost")
def costs() -> Table:
    rows = [(model, training_cost(model)) for model in COSTS]
    cost = dict(rows)
    full, tree = cost["NNLM, full softmax"], cost["NNLM, hierarchical softmax"]
    title = "L2 §1.3  Parameters that one training example touches"
    figures = (
        Figure("what the full softmax adds to NNLM", "500 million", (full - tree) / 1e6),
        Figure("what is left then", "2.5 million", tree / 1e6),
    )
    return Table(title, ("model", "Q"), texts(rows), figures=figures)


@table("analogies")
def analogies() -> Table:
    corpus, vectors = learned()
    right = [accuracy(corpus, vectors, r) for r in RELATIONS]
    alike = [parallelism(corpus, vectors, r) for r in RELATIONS]
    rows = [(r.name, f"{a:.0%}", c) for r, a, c in zip(RELATIONS, right, alike, strict=True)]
    king = corpus.number("king")
    near = [corpus.words[i] for i in nearest(vectors, vectors[king], 4, exclude=[king])]
    given = "The document's corpus is described and not given; ours follows the description."
    return Table(
        "L2 §1.6  Analogies, 30 dimensions",
        ("relation", "right", "mean cosine of the differences"),
        texts(rows),
        f"Next to king: {', '.join(near)}. The relation is a direction, not a distance.",
        (
            Figure("words of the corpus", "155,000", corpus.sentences.size, given),
            *(
                Figure(f"right, {r.name}", "100 %", 100 * a, drawn=True)
                for r, a in zip(RELATIONS, right, strict=True)
            ),
            Figure("mean cosine of the genders' differences", "0.98", alike[0], given, drawn=True),
        ),
    )


@table("word2vec-models")
def models() -> Table:
    """CBOW and the full softmax trained beside skip-gram."""
    few = make_corpus(2000)
    ways: dict[str, Callable[[Corpus], np.ndarray]] = {
        "skip-gram, negative sampling": train,
        "CBOW, negative sampling": train_cbow,
        "skip-gram, full softmax": train_full_softmax,
    }
    rows = []
    for name, learn in ways.items():
        many, vectors = learned() if learn is train else (learned()[0], learn(learned()[0]))
        shares = [_mean_accuracy(few, learn(few)), _mean_accuracy(many, vectors)]
        rows.append((name, *(f"{share:.0%}" for share in shares)))
    return Table(
        "L2 §1.3, §1.4  Three ways to learn the same vectors, 204 words, three passes",
        ("model", "2,000 sentences", "20,000 sentences"),
        rows,
        "Published, on 6 billion words (Mikolov et al. 2013, Table 6): skip-gram, d = 1,000, 65.6 "
        "% after 2.5 days on 125 cores; NNLM, d = 100, 50.8 % after 14 days on 180. CBOW "
        "sees one example a word and skip-gram one a pair: it needs more text or more passes.",
    )


@table("dimension-and-data")
def dimension_and_data() -> Table:
    shares = {}
    for n_sentences in (500, 1000, 5000):
        corpus = make_corpus(n_sentences)
        for dim in (2, 5, 10):
            shares[n_sentences, dim] = _mean_accuracy(corpus, train(corpus, dim))
    rows = [(f"{n:,}", *(f"{shares[n, dim]:.0%}" for dim in (2, 5, 10))) for n in (500, 1000, 5000)]
    other = "Another corpus: the same shape, other numbers."
    printed = {(1000, 5): "25.5 %", (5000, 5): "38.7 %", (1000, 10): "60.9 %", (5000, 10): "100 %"}
    return Table(
        "L2 §1.7  Mean accuracy of the analogies by corpus and dimension",
        ("sentences", "d = 2", "d = 5", "d = 10"),
        rows,
        "Dimension and data must grow together.",
        tuple(
            Figure(f"d = {d}, {n:,} sentences here", text, 100 * shares[n, d], other, drawn=True)
            for (n, d), text in printed.items()
        ),
    )


def _mean_accuracy(corpus, vectors) -> float:
    return float(np.mean([accuracy(corpus, vectors, relation) for relation in RELATIONS]))
