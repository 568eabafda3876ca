"""The `grader` command, a module a command."""
