"""`grader bench`: the decode loop's time per token, by the parent's clock, of verified outputs."""
