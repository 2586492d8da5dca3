"""Evaluation of systems that translated a test set: tables and figures, in every format."""
