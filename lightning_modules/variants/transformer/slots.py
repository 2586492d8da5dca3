"""The state of a Transformer in a search whose tensors keep their shapes and places."""

from typing import NamedTuple

import torch
from torch import Tensor

from lightning_modules.variants.transformer.heads import KeysValues


class Slots(NamedTuple):
    """Keys and values of the target so far, each in a slot where it stays.

    A sentence has ``rows`` prefixes side by side. The token that row r reads at position p has slot
    ``p · rows + r``. Which row continues which prefix changes only what each row sees.
    """

    layers: tuple[KeysValues, ...]  # of each decoder layer, `(sentences, heads, slots, key)`
    visible: Tensor  # True where a row looks, `(sentences, rows, slots)`
    position: Tensor  # of the next token, `(sentences,)`, the same for all
    room: int  # number of positions that a step reads; later positions are empty

    @property
    def rows(self) -> int:
        """Number of prefixes of a sentence."""
        return self.visible.shape[1]

    def within(self, room: int) -> "Slots":
        """Return this state for steps at the first ``room`` positions, or at all there are."""
        return self._replace(room=min(room, self.visible.shape[2] // self.rows))

    def known(self) -> tuple[KeysValues, ...]:
        """Return views of the keys and values that a step reads."""
        size = self.room * self.rows
        return tuple(KeysValues(*(part[:, :, :size] for part in layer)) for layer in self.layers)

    def now(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the slots of the next token, the positions of the slots, and what rows see.

        ``(rows,)``, ``(slots,)`` and ``(sentences, rows, slots)``, of the slots that a step reads.
        """
        every = torch.arange(self.room * self.rows, device=self.position.device)
        slots = self.position[:1] * self.rows + every[: self.rows]
        own = every == slots.unsqueeze(1)
        return slots, every // self.rows, self.visible[..., : len(every)] | own

    def after(self, visible: Tensor) -> "Slots":
        """Return the state after a step whose rows saw ``visible``."""
        rest = self.visible[..., visible.shape[-1] :]
        whole = torch.cat([visible, rest], -1) if rest.shape[-1] else visible
        return self._replace(visible=whole, position=self.position + 1)

    def continued(self, rows: Tensor) -> "Slots":
        """Return the state whose rows continue other rows, ``(sentences, rows)``."""
        seen = self.visible.flatten(0, 1).index_select(0, rows.flatten())
        return self._replace(visible=seen.view_as(self.visible))


def empty_slots(like: tuple[KeysValues, ...], rows: int, positions: int) -> Slots:
    """Return the state before the first token, in the form of keys and values of the source."""
    first = like[0].keys
    sentences, size = len(first), rows * positions
    layers = (
        KeysValues(*(part.new_zeros(*part.shape[:2], size, part.shape[3]) for part in layer))
        for layer in like
    )
    return Slots(
        tuple(layers),
        torch.zeros(sentences, rows, size, dtype=torch.bool, device=first.device),
        torch.zeros(sentences, dtype=torch.long, device=first.device),
        positions,
    )
