"""Hugging Face's BertModel, with random weights or pretrained ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zoo import part
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo_peers.peer import Peer, key_mask, library
from zoo_peers.pretrained import Pretrained
from zoo_peers.wordpieces import remapped


@part(
    "baseline",
    "hf-bert",
    source="Devlin et al. 2019, https://arxiv.org/abs/1810.04805; https://huggingface.co/docs/transformers/model_doc/bert",
    adds=("tokens", "vocabulary", "head"),
)
class HfBert(Peer):
    """Hugging Face's BertModel from a config or pretrained, mean pool, the cells' head.

    transformers.BertModel without its pooler (Devlin et al. 2019); needs the extra ``hf``.

    As in the library: word, position and type embeddings and a norm over their sum; post-norm
    layers; GELU; weights from N(0, 0.02²).

    pretrained: a model of the Hub, ``owner/name`` or ``owner/name@revision``, or a directory that
    ``save_pretrained`` wrote. The harness's ids are the zoo's and not that model's, so layers,
    positions and norms are loaded, and the word embeddings are looked up by word piece: see
    ``zoo_peers.wordpieces``. Its sizes must be those of the run.
    vocabulary: the word piece of every id, needed with pretrained.

    Raises ComponentError where transformers is missing; ZooError where the pretrained model
    cannot be loaded or is not a BERT; ValueError where sizes or values do not fit.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        classes: int,
        sizes: Sizes,
        dropout: float = 0.0,
        vocabulary: Sequence[str] = (),
        pretrained: str = "",
        attn_implementation: str = "sdpa",
        attention_dropout: float = 0.0,
        pool: str = "mean",
        head_hidden: int = 0,
    ) -> None:
        super().__init__(
            classes=classes, sizes=sizes, dropout=dropout, pool=pool, head_hidden=head_hidden
        )
        transformers = library("transformers", "hf-bert", "hf")
        drops = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": attention_dropout}
        try:
            if pretrained:
                source = Pretrained(pretrained, transformers)
                source.must_fit(sizes)
                self.encoder = source.bert(attn_implementation, drops)
                self._set_vocabulary(source.vocabulary(), vocab_size, vocabulary)
                return
            config = transformers.BertConfig(
                vocab_size=vocab_size,
                hidden_size=sizes.dim,
                num_hidden_layers=sizes.layers,
                num_attention_heads=sizes.heads,
                intermediate_size=sizes.ffn_dim,
                max_position_embeddings=sizes.max_length,
                # Padding is masked; a pad_token_id would also keep one embedding from training.
                pad_token_id=None,
                attn_implementation=attn_implementation,
                **drops,
            )
            self.encoder = transformers.BertModel(config, add_pooling_layer=False)
        except ImportError as error:  # the implementation's kernel is not installed
            raise ValueError(
                f"attn_implementation {attn_implementation!r} cannot be loaded: {error}"
            ) from error

    def encode(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to vectors (B, L, D)."""
        positions = tokens.positions
        mask = key_mask(tokens)
        out = self.encoder(
            input_ids=ids,
            attention_mask=None if mask is None else mask.long(),
            position_ids=positions if positions.dim() == 2 else positions[None],
        )
        vectors: Tensor = out.last_hidden_state
        return vectors

    @torch.no_grad()
    def _set_vocabulary(self, theirs: dict[str, int], vocab_size: int, ours: Sequence[str]) -> None:
        """Replace the word embeddings by those of the zoo's vocabulary."""
        if len(ours) != vocab_size:
            raise ZooError(
                f"a pretrained model needs the word piece of each of the {vocab_size} ids, "
                f"not of {len(ours)}"
            )
        weights = remapped(self.encoder.get_input_embeddings().weight, theirs, ours)
        self.encoder.set_input_embeddings(nn.Embedding.from_pretrained(weights, freeze=False))
        self.encoder.config.vocab_size = vocab_size
        self.encoder.config.pad_token_id = None
