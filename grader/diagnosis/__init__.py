"""Which known bug a failing submission equals: the catalogue, and its replay on the solution."""
