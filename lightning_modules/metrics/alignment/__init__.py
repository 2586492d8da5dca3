"""Word alignments from attention weights, and their error against gold alignments."""
