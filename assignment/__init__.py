# Generated from solution/__init__.py by `make assignment`; a change belongs there.
"""LLM attention and KV-cache decode, part by part, in numpy."""
