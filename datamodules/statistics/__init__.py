"""What a prepared corpus holds: lengths, words, unknown tokens, what cleaning did."""
