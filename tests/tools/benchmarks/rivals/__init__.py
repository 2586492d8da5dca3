"""Other programs with the same task: a plain PyTorch loop and CTranslate2."""
