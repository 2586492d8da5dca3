"""The papers' equations in float64 NumPy: one sentence and one number at a time.

Nothing here imports torch or the code under test. Parameters come as a flat dictionary of arrays
under their names in a model's ``state_dict`` (``arrays``); settings as ``conf/model`` has them.
"""

from tests.reference.parameters import arrays, part

__all__ = ["arrays", "part"]
