"""LLM attention and KV-cache decode, part by part, in numpy."""
