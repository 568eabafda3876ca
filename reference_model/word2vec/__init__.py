"""Skip-gram and CBOW, on a corpus whose relations are known (L2 §1)."""

from .analogies import accuracy, analogy, nearest, parallelism
from .corpus import RELATIONS, Corpus, Relation, make_corpus
from .cost import COSTS, training_cost
from .learning import gradients, loss, noise_distribution, train, train_cbow, train_full_softmax

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
    "train_cbow",
    "train_full_softmax",
    "training_cost",
]
