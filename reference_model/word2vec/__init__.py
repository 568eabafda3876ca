"""Skip-gram with negative sampling, on a corpus whose relations are known (L2 §1)."""

from .analogies import accuracy, analogy, nearest, parallelism
from .corpus import RELATIONS, Corpus, Relation, make_corpus
from .cost import COSTS, training_cost
from .skipgram import gradients, loss, noise_distribution, train

__all__ = [
    "COSTS",
    "RELATIONS",
    "Corpus",
    "Relation",
    "accuracy",
    "analogy",
    "gradients",
    "loss",
    "make_corpus",
    "nearest",
    "noise_distribution",
    "parallelism",
    "train",
    "training_cost",
]
