"""Attention over an encoded source: score × window.

Glossary, with the shapes used throughout:

- *memory*: encoder states, one for each source position, ``(batch, src, memory)``;
- *keys*: the memory projected for a score function, once per sentence, ``(batch, src, key)``;
- *query*: decoder states that look at the memory, ``(batch, tgt, query)``;
- *energies*: one number for each query and source position, ``(batch, tgt, src)``;
- *weights*: the energies after the softmax and the window, ``(batch, tgt, src)``, 0 at padding;
- *context*: the memory averaged by the weights, ``(batch, tgt, memory)``.

Masks are ``True`` where a token is real, but ``WindowMask.outside`` and ``AttentionMemory.padding``
are ``True`` where attention may not look. Nothing here keeps state between calls.
"""

from lightning_modules.attention.attention import Attention, AttentionMemory
from lightning_modules.attention.build import build_attention
from lightning_modules.attention.scores import SCORES, Score
from lightning_modules.attention.windows import WINDOWS, Global, Window, WindowMask
