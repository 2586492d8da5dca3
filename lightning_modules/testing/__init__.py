"""Testing a trained model: translations, forced references, scores, alignments."""
