"""What every room may use: errors, words, the terminal, places on disk, the secret."""
