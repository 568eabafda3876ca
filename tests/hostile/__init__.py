"""The hostile corpus: submissions that try to cheat, harm or escape, and the verdict each must get.

`python -m tests.hostile` grades them all and prints attack and verdict; tests/test_hostile.py
asserts the same. What stays possible is said in docs/security.md.
"""
