"""Experiments of L2 §2, §5 and §6: one function each, numbers out, nothing printed."""
