"""The homework in nbgrader: as notebooks, and graded in the sandbox into nbgrader's gradebook.

One assignment holds a notebook for each part. A part calls functions of others, so each notebook's
set-up cell takes them from the student's own notebooks beside it: the work stays theirs, nothing is
imported by hand, and there is one place where each function lives. That alone would carry an early
mistake forward; therefore, when the work is graded, a test that fails runs once more with the
solution's functions for all other parts, in nbgrader's kernel (`kernel`) as in the sandbox
(`grader.grading.second_run`), and either pass counts. A cell is one test on its public and its
hidden case, so both ways of grading give a submission the same score. What differs is trust:
nbgrader runs the student's code beside its own, as its own user; `grader nbgrader autograde` asks
the functions through a pipe, and only numbers come back.
"""
