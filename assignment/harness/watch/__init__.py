"""`python -m assignment.watch`: on each save, the tests of the parts that it touches."""
