"""The sandbox's side of the pipe: it alone imports a submission, and answers calls.

These files and `wire.py` are copied into the sandbox, where `start.py` is the program. They import
nothing else of ours. Nothing that they say is trusted: the parent checks every frame.
"""
