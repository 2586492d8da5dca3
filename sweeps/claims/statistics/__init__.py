"""Verdicts on claims: what is measured, how it varies, and what that decides."""
