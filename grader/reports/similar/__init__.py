"""Where to look for shared code: pairs ranked by what they share beyond the skeleton."""
