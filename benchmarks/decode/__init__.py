"""How fast the decode loops are, side by side in one run: `python -m benchmarks.decode`."""
