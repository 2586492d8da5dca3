"""Models, decoding, training and tracking of translation runs."""
