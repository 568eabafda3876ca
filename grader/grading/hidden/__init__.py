"""Tests that students do not get: ordinary tests of the same kind as the public ones."""
