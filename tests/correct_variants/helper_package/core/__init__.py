"""Softmax and attention."""

from .lookup import attend, softmax

__all__ = ["attend", "softmax"]
