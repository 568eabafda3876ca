"""Many submissions at once on one machine, each in a process of its own."""
