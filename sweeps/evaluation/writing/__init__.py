"""Files of tables: JSON, CSV, LaTeX, Markdown."""
