"""What is kept of a grading: records, their history, what changed."""
