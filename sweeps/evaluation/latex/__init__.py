"""Tables for papers, in LaTeX."""
