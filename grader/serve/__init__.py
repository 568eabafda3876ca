"""`grader serve`: the report in a browser on this machine, filling in, and a place to judge."""
