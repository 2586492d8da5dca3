"""Concepts, and phrases and clauses made of concepts: what all languages share."""
