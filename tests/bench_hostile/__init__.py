"""Decode loops that try to look fast, and honest ones that look odd.

Each file takes the place of kv_cache.py (or, named torch_*, of decode_torch.py) in a submission
that is otherwise the solution; the solution's own module lies beside it as `honest`. The
docstring's first line says what it does, its last what the timing test must say: `verified`, or
`refused:` and words of the reason.
"""
