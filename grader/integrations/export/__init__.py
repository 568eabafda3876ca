"""Scores for other programs: CSV, JSON, Canvas, Gradescope, nbgrader.

Each module knows one format. None of them writes into a folder of results, and what concerns a
student and could not be exported is always listed, never dropped.
"""
