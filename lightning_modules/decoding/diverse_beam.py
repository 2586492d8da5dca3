"""Diverse beam search: groups of a beam that avoid each other's tokens."""

from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from lightning_modules.decoding.beam import Beams, BeamSearch
from lightning_modules.decoding.search import Request
from lightning_modules.variants.base import EncoderDecoder


class DiverseBeamSearch(BeamSearch):
    """Search with several groups of prefixes, which choose different tokens at each position.

    Vijayakumar et al. 2018 (arXiv 1610.02424), algorithm 1, with Hamming diversity: the groups
    choose their tokens one after the other, and a continuation counts as less probable by
    ``diversity`` nats for each prefix of an earlier group that has chosen its token at this
    position. Scores of hypotheses are those of ``BeamSearch``: diversity changes what is found, not
    how it is ranked. Each group is a beam search of its own, which ends when as many hypotheses are
    finished as it has places, or at the length limit.

    Args:
        groups: number of groups, which divides ``beam_size``; 1 is a beam search that ends late.
        diversity: λ, in nats; 0 lets every group find the same.
        beam: see ``BeamSearch``; ``beam_size`` is that of all groups together.
    """

    def __init__(self, groups: int, diversity: float, **beam: Any) -> None:
        super().__init__(**beam)
        if self.beam_size % groups:
            raise ValueError(
                f"decoding.groups={groups}: must divide decoding.beam_size={self.beam_size}"
            )
        self.groups = groups
        self.diversity = diversity

    @property
    def _size(self) -> int:
        """Prefixes of a group."""
        return self.beam_size // self.groups

    @override
    def first(self, request: Request) -> Beams:
        """Return beams with one empty prefix in each group; places are ``(sentences, groups)``."""
        beams = super().first(request)
        totals = beams.totals.clone()
        totals[:, :: self._size] = 0.0
        places = beams.places.unsqueeze(1).expand(-1, self.groups) // self.groups
        return beams._replace(totals=totals, places=places)

    @override
    def first_rows(self, sentences: Tensor) -> Tensor | None:
        inside = torch.arange(0, self.beam_size, self._size, device=sentences.device)
        return (sentences.unsqueeze(1) * self.beam_size + inside).flatten()

    @override
    def _continue(
        self,
        model: EncoderDecoder,
        beams: Beams,
        features: Tensor,
        position: int | Tensor,
        with_prefix: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """See ``BeamSearch``; each group has its places, and its continuations best first.

        The ``beam_size`` best tokens of a row are enough: those of the earlier groups are fewer by
        the size of a group.
        """
        scores, tokens = self._scores(model, beams, features, position, with_prefix)
        count, width = len(beams.totals), scores.shape[1]
        scores, tokens = (each.view(count, self.groups, -1) for each in (scores, tokens))
        first = torch.arange(count, device=tokens.device).unsqueeze(1) * self.beam_size
        ranks = torch.arange(self._size, device=tokens.device)
        totals: list[Tensor] = []
        rows: list[Tensor] = []
        chosen: list[Tensor] = []
        for group in range(self.groups):
            own, following = scores[:, group], tokens[:, group]
            compared = own
            for before, total in zip(chosen, totals, strict=True):
                alike = following.unsqueeze(2) == before.unsqueeze(1)
                taken = (alike & total.isfinite().unsqueeze(1)).sum(2)
                compared = compared - self.diversity * taken
            index = compared.topk(self._size).indices
            beyond = ranks >= beams.places[:, group].unsqueeze(1)
            totals.append(own.gather(1, index).masked_fill(beyond, float("-inf")))
            rows.append(first + group * self._size + index // width)
            chosen.append(following.gather(1, index))
        continued, continued_rows, last = (torch.cat(each, 1) for each in (totals, rows, chosen))
        return continued, continued_rows, last

    @override
    def _without(
        self, ended: Tensor, beams: Beams, totals: Tensor, finished: Tensor, penalty: Any
    ) -> Beams:
        """Return the beams without ``ended`` hypotheses.

        No prefix is dropped because it cannot matter: the tokens of a later group depend on it.
        """
        by_group = ended.unflatten(1, (self.groups, -1)).sum(2)
        totals = totals.masked_fill(ended, float("-inf"))
        return beams._replace(places=beams.places - by_group, totals=totals)
