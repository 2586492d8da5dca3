"""Intervals and p-values, by resampling test sentences and seeds."""
