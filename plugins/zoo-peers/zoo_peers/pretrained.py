"""Loading a pretrained BERT from a directory, the Hub's cache, or the Hub where it answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo_peers.wordpieces import UNKNOWN

_REPOSITORY = re.compile(r"(?P<id>[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?")


class Pretrained:
    """A pretrained model's source and config; ZooError where there is none."""

    def __init__(self, name: str, transformers: Any) -> None:
        self.name, self._transformers = name, transformers
        self._options: dict[str, Any] = {"local_files_only": True}
        self._source = name
        if not Path(name).expanduser().is_dir():
            match = _REPOSITORY.fullmatch(name)
            if not match:
                raise ZooError(
                    f"pretrained model {name!r} is neither a directory nor a name of the Hub, "
                    "owner/name or owner/name@revision"
                )
            self._source = match["id"]
            self._options = {"revision": match["revision"]}
        else:
            self._source = str(Path(name).expanduser())
        # Not AutoConfig: the oldest BERT checkpoints name no model type.
        written = self._load(transformers.BertConfig.get_config_dict)[0]
        if not written:
            raise ZooError(f"pretrained model {name!r} cannot be loaded: it has no config")
        if written.get("model_type", "bert") != "bert":
            raise ZooError(f"pretrained model {name!r} is a {written['model_type']}, not a bert")
        self.config = transformers.BertConfig.from_dict(written)

    def must_fit(self, sizes: Sizes) -> None:
        """ValueError unless its sizes are those of the run."""
        options = {
            "dim": (sizes.dim, self.config.hidden_size),
            "layers": (sizes.layers, self.config.num_hidden_layers),
            "heads": (sizes.heads, self.config.num_attention_heads),
            "ffn_dim": (sizes.ffn_dim, self.config.intermediate_size),
        }
        if any(asked != has for asked, has in options.values()):
            wanted = ",".join(f"{name}={has}" for name, (_, has) in options.items())
            raise ValueError(f"pretrained model {self.name!r} is of another size: --set {wanted}")
        longest = self.config.max_position_embeddings
        if sizes.max_length > longest:
            raise ValueError(
                f"pretrained model {self.name!r} knows {longest} positions, "
                f"not {sizes.max_length}: ask for --max-length {longest} or less"
            )

    def bert(self, attn_implementation: str, options: dict[str, Any]) -> Any:
        """The BertModel, in float32, without pooler; options replace values of its config."""
        for option, value in options.items():
            setattr(self.config, option, value)
        model, found = self._load(
            self._transformers.BertModel.from_pretrained,
            config=self.config,
            add_pooling_layer=False,
            attn_implementation=attn_implementation,
            dtype=torch.float32,
            output_loading_info=True,
        )
        if found["missing_keys"]:  # the library would initialise them at random
            missing = sorted(found["missing_keys"])
            raise ZooError(
                f"pretrained model {self.name!r} has no weights for {len(missing)} parameters, "
                f"{missing[0]} among them"
            )
        return model

    def vocabulary(self) -> dict[str, int]:
        """Its word pieces and their ids; ZooError where they do not fit its embeddings."""
        tokenizer = self._load(self._transformers.BertTokenizer.from_pretrained)
        pieces: dict[str, int] = tokenizer.get_vocab()
        rows = self.config.vocab_size
        # Without a vocabulary file the library makes a tokenizer of special tokens only.
        if UNKNOWN not in pieces or len(pieces) < rows / 2 or max(pieces.values()) >= rows:
            raise ZooError(
                f"pretrained model {self.name!r} has a tokenizer of {len(pieces)} word pieces "
                f"that does not fit its {rows} embeddings"
            )
        return pieces

    def _load(self, loader: Callable[..., Any], **options: Any) -> Any:
        """The result of the library's loader; its errors, pages long, in one line."""
        try:
            return loader(self._source, **self._options, **options)
        except (OSError, ValueError, KeyError) as error:
            first = re.split(r"\n|\. ", str(error).strip(), maxsplit=1)[0]
            raise ZooError(f"pretrained model {self.name!r} cannot be loaded: {first}") from error
