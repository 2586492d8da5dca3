"""The yardstick: models and a training loop as one writes them in plain PyTorch.

Sound and ordinary: buckets of similar length, keys projected once, the vocabulary projected after
the loop, torch's modules wherever there is one. Nothing is tuned.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from datamodules.batching import Batch
from datamodules.tokenization import PAD

Score = Literal["none", "additive", "dot", "general"]


class BareRnn(nn.Module):
    """Bidirectional LSTM and LSTM decoder of one layer each.

    Each direction is as wide as the decoder; half as wide for dot, which needs one width.
    """

    def __init__(
        self,
        vocabulary: int,
        score: Score,
        previous: bool = False,
        feeding: bool = False,
        width: int = 256,
    ) -> None:
        super().__init__()
        self.previous, self.feeding, self.score, self.width = previous, feeding, score, width
        self.src_embedding, self.tgt_embedding = (
            nn.Embedding(vocabulary, width, padding_idx=PAD) for _ in range(2)
        )
        reader = width // 2 if score == "dot" else width
        self.encoder = nn.LSTM(width, reader, batch_first=True, bidirectional=True)
        self.hidden, self.cell = (nn.Linear(2 * reader, width) for _ in range(2))
        memory = 2 * reader if score != "none" else 0
        step = width + (memory if previous else 0) + (width if feeding else 0)
        self.decoder: nn.Module = (
            nn.LSTMCell(step, width)
            if previous or feeding
            else nn.LSTM(step, width, batch_first=True)
        )
        self.keys = None
        if score != "none":
            self.keys = nn.Identity() if score == "dot" else nn.Linear(memory, width, bias=False)
        self.query = nn.Linear(width, width, bias=False)
        self.energy = nn.Linear(width, 1, bias=False)
        self.combine = nn.Linear(width + memory, width, bias=False)
        self.output = nn.Linear(width, vocabulary)

    def forward(self, batch: Batch) -> Tensor:
        lengths = batch.src_mask.sum(1).cpu()
        packed = pack_padded_sequence(
            self.src_embedding(batch.src), lengths, batch_first=True, enforce_sorted=False
        )
        states, last = self.encoder(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        hidden, cell = (
            layer(torch.cat(tuple(end), -1)).tanh()
            for layer, end in zip((self.hidden, self.cell), last, strict=True)
        )
        embedded = self.tgt_embedding(batch.tgt_in)
        keys = None if self.keys is None else self.keys(states)
        if isinstance(self.decoder, nn.LSTM):
            out, _ = self.decoder(embedded, (hidden.unsqueeze(0), cell.unsqueeze(0)))
            read = (
                out if keys is None else torch.cat([self.attend(out, keys, states, batch), out], -1)
            )
            return self.output(self.combine(read).tanh())
        features = []
        fed = torch.zeros_like(hidden)
        for token in embedded.unbind(1):
            inputs = [token]
            if self.previous:
                context = self.attend(hidden.unsqueeze(1), keys, states, batch).squeeze(1)
                inputs.append(context)
            if self.feeding:
                inputs.append(fed)
            hidden, cell = self.decoder(torch.cat(inputs, -1), (hidden, cell))
            if not self.previous:
                context = self.attend(hidden.unsqueeze(1), keys, states, batch).squeeze(1)
            fed = self.combine(torch.cat([context, hidden], -1)).tanh()
            features.append(fed)
        return self.output(torch.stack(features, 1))

    def attend(self, query: Tensor, keys: Tensor | None, states: Tensor, batch: Batch) -> Tensor:
        """Return contexts ``(batch, tgt, 2 · width)`` of queries ``(batch, tgt, width)``."""
        assert keys is not None
        if self.score == "additive":
            hidden = (self.query(query).unsqueeze(2) + keys.unsqueeze(1)).tanh()
            energies = self.energy(hidden).squeeze(-1)
        else:
            energies = query @ keys.transpose(1, 2)
        hide = ~batch.src_mask.unsqueeze(1)
        return energies.masked_fill(hide, float("-inf")).softmax(-1) @ states


class BareTransformer(nn.Module):
    """``nn.Transformer``, 3 + 3 layers, 256 wide, 4 heads, feed-forward 1024, pre-norm."""

    def __init__(self, vocabulary: int, width: int = 256, layers: int = 3, heads: int = 4) -> None:
        super().__init__()
        self.src_embedding, self.tgt_embedding = (
            nn.Embedding(vocabulary, width, padding_idx=PAD) for _ in range(2)
        )
        self.positions = nn.Embedding(512, width)
        self.transformer = nn.Transformer(
            width, heads, layers, layers, 4 * width, 0.0, batch_first=True, norm_first=True
        )
        self.output = nn.Linear(width, vocabulary)

    def forward(self, batch: Batch) -> Tensor:
        src, tgt = (
            table(tokens) * table.embedding_dim**0.5 + self.positions.weight[: tokens.shape[1]]
            for table, tokens in (
                (self.src_embedding, batch.src),
                (self.tgt_embedding, batch.tgt_in),
            )
        )
        causal = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1], device=tgt.device)
        hide = ~batch.src_mask
        states = self.transformer(
            src,
            tgt,
            tgt_mask=causal,
            src_key_padding_mask=hide,
            memory_key_padding_mask=hide,
            tgt_is_causal=True,
        )
        return self.output(states)


class BareLoop:
    """Forward, loss at all positions, backward, clipping, Adam."""

    def __init__(self, model: nn.Module, precision: torch.dtype | None = None) -> None:
        self.model = model.train()
        self.precision = precision
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)

    def step(self, batch: Batch) -> None:
        with torch.autocast(
            batch.src.device.type, self.precision, enabled=self.precision is not None
        ):
            logits = self.model(batch)
            loss = self.criterion(logits.flatten(0, 1), batch.tgt_out.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
