"""From what was handed in to a prepared folder: archives, notebooks, ids. Nothing runs."""
