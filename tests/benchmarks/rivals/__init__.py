"""The same work outside the harness: a plain PyTorch loop, JoeyNMT, CTranslate2."""
