"""One prepared submission, every test: the suite, its twins, second runs, the real model."""
