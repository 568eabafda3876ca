"""What the public tests stand on: the parts table, golden cases, comparison and the report."""
