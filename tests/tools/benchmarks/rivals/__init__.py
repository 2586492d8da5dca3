"""Other programs with the same task: a plain PyTorch loop, JoeyNMT and CTranslate2."""
