"""A pretrained BERT on the zoo's ids: what is taken over, and what is refused. No network."""

import json
import shutil

import huggingface_hub
import pytest
import torch
import transformers
from peer_helpers import PIECES
from torch import nn
from zoo_peers.encoders import HfBert
from zoo_peers.wordpieces import remapped, split

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.errors import ZooError

THEIRS = {piece: number for number, piece in enumerate(PIECES)}
SIZES = Sizes(dim=12, layers=2, heads=2, ffn_dim=20, max_length=16)
OURS = ["[PAD]", "[UNK]", "[CLS]", "the", "stock", "team", "##tea", "##m", "zebra", "tease"]


def build(source, *, sizes=SIZES, vocabulary=OURS, **options):
    return HfBert(
        vocab_size=len(OURS),
        classes=3,
        sizes=sizes,
        vocabulary=vocabulary,
        pretrained=str(source),
        **options,
    ).eval()


@pytest.mark.parametrize(
    ("piece", "pieces"),
    [
        ("the", "the"),
        ("[CLS]", "[CLS]"),
        ("##m", "##m"),
        ("stock", "st ##ock"),
        ("trader", "tr ##ad ##er"),
        ("team", "t ##e ##a ##m"),
        ("##tea", "##t ##e ##a"),
        ("zebra", ""),
        ("tease", ""),  # its start is known, an s is not
        ("##the", ""),  # no ##h: 'the' begins a word and does not continue one
    ],
)
def test_a_piece_is_split_as_by_the_pretrained_tokenizer(piece, pieces):
    assert split(piece, THEIRS) == [THEIRS[one] for one in pieces.split()]


def test_words_are_split_as_by_the_librarys_tokenizer(pretrained):
    tokenizer = transformers.AutoTokenizer.from_pretrained(pretrained)
    for word in ("the", "stock", "trader", "team", "goal", "meat", "matte"):
        expected = tokenizer(word, add_special_tokens=False)["input_ids"]
        assert (split(word, THEIRS) or [THEIRS["[UNK]"]]) == expected


def test_a_vector_is_the_mean_of_its_pieces():
    weights = torch.randn(len(PIECES), 5, generator=torch.Generator().manual_seed(0))
    found = dict(zip(OURS, remapped(weights, THEIRS, OURS), strict=True))
    assert torch.equal(found["the"], weights[THEIRS["the"]])
    assert torch.equal(found["[CLS]"], weights[THEIRS["[CLS]"]])
    expected = (weights[THEIRS["st"]] + weights[THEIRS["##ock"]]) / 2
    torch.testing.assert_close(found["stock"], expected)
    assert torch.equal(found["zebra"], weights[THEIRS["[UNK]"]])


def test_layers_positions_and_norms_are_those_that_were_saved(pretrained):
    saved = transformers.BertForMaskedLM.from_pretrained(pretrained).bert.state_dict()
    taken = build(pretrained).encoder.state_dict()
    assert taken.keys() == saved.keys()
    for name, value in taken.items():
        if name != "embeddings.word_embeddings.weight":
            assert torch.equal(value, saved[name]), name
    assert taken["embeddings.word_embeddings.weight"].shape == (len(OURS), SIZES.dim)


def test_texts_of_pieces_that_both_know_come_out_as_from_the_model_itself(pretrained):
    model = transformers.BertModel.from_pretrained(pretrained, add_pooling_layer=False).eval()
    words = ["[CLS]", "the", "##m", "the"]
    ours, theirs = (torch.tensor([[known.index(w) for w in words]]) for known in (OURS, PIECES))
    peer = build(pretrained)
    with torch.inference_mode():
        out = peer.encode(ours, Tokens.whole(4))
        torch.testing.assert_close(out, model(input_ids=theirs).last_hidden_state)


def test_all_of_it_goes_on_learning(pretrained):
    peer = build(pretrained, dropout=0.1, attention_dropout=0.2)
    assert {m.p for m in peer.modules() if isinstance(m, nn.Dropout)} == {0.1, 0.2}
    assert all(p.dtype == torch.float32 and p.requires_grad for p in peer.parameters())
    ids = torch.arange(len(OURS))[None]
    peer(ids, Tokens.whole(len(OURS))).square().sum().backward()
    words = peer.encoder.get_input_embeddings().weight
    assert words.grad.any(dim=1).all()


def test_a_model_of_another_size_is_refused(pretrained):
    large = SIZES.model_copy(update={"dim": 24, "layers": 4})
    with pytest.raises(
        ValueError, match=r"another size: --set dim=12,layers=2,heads=2,ffn_dim=20$"
    ):
        build(pretrained, sizes=large)
    with pytest.raises(ValueError, match="knows 32 positions, not 64: ask for --max-length 32"):
        build(pretrained, sizes=SIZES.model_copy(update={"max_length": 64}))


def test_a_missing_vocabulary_is_refused(pretrained):
    with pytest.raises(ZooError, match="needs the word piece of each of the 10 ids"):
        build(pretrained, vocabulary=())


def test_a_directory_that_holds_no_bert_is_refused_in_one_line(tmp_path, pretrained):
    with pytest.raises(ZooError, match="cannot be loaded") as caught:
        build(tmp_path)
    assert "\n" not in str(caught.value)
    transformers.RobertaConfig().save_pretrained(tmp_path)
    with pytest.raises(ZooError, match="is a roberta, not a bert"):
        build(tmp_path)
    bare = tmp_path / "bare"
    shutil.copytree(pretrained, bare)
    (bare / "model.safetensors").unlink()
    with pytest.raises(ZooError, match="cannot be loaded"):
        build(bare)


def test_a_model_without_its_word_pieces_is_refused(tmp_path, pretrained):
    """The library would make up a tokenizer of five special tokens, and all words be unknown."""
    for name in ("config.json", "model.safetensors"):
        shutil.copy(pretrained / name, tmp_path)
    with pytest.raises(ZooError, match=f"of 5 word pieces that does not fit its {len(PIECES)} emb"):
        build(tmp_path)


def test_an_old_checkpoint_is_loaded(tmp_path, pretrained):
    """With a vocab.txt, and a config that does not say which model it is of."""
    config = json.loads((pretrained / "config.json").read_text())
    del config["model_type"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES))
    shutil.copy(pretrained / "model.safetensors", tmp_path)
    old, new = build(tmp_path), build(pretrained)
    for name, value in old.encoder.state_dict().items():
        assert torch.equal(value, new.encoder.state_dict()[name]), name


def test_a_model_with_weights_missing_is_refused_and_not_filled_at_random(tmp_path, pretrained):
    model = transformers.BertForMaskedLM.from_pretrained(pretrained)
    lacking = {n: v for n, v in model.state_dict().items() if "layer.1.attention" not in n}
    model.save_pretrained(tmp_path, state_dict=lacking)
    transformers.AutoTokenizer.from_pretrained(pretrained).save_pretrained(tmp_path)
    with pytest.raises(ZooError, match=r"has no weights for \d+ parameters, encoder.layer.1.atten"):
        build(tmp_path)


@pytest.mark.parametrize("name", ["no/such/directory", "./gone", "a b"])
def test_what_is_neither_a_directory_nor_a_name_is_refused(name):
    with pytest.raises(ZooError, match="neither a directory nor a name of the Hub"):
        build(name)


def without_hub(monkeypatch, cache):
    """The Hub's cache is this one, and its address one where nobody answers.

    The library has read both when it was imported.
    """
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    # The client waits longer before each new try, half a minute for a file.
    monkeypatch.setattr(huggingface_hub.utils._http.time, "sleep", lambda seconds: None)


def test_a_hub_out_of_reach_is_one_line(tmp_path, monkeypatch):
    without_hub(monkeypatch, tmp_path)
    with pytest.raises(ZooError, match=r"'owner/tiny' cannot be loaded: .*127\.0\.0\.1:9") as e:
        build("owner/tiny")
    assert "\n" not in str(e.value)


def test_without_the_hub_the_cached_copy_is_used(tmp_path, pretrained, monkeypatch):
    commit = "0" * 40
    repository = tmp_path / "models--owner--tiny"
    shutil.copytree(pretrained, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    without_hub(monkeypatch, tmp_path)
    cached, there = (build(name).encoder.state_dict() for name in ("owner/tiny", pretrained))
    assert all(torch.equal(cached[name], there[name]) for name in there)
    with pytest.raises(ZooError, match="'owner/tiny@other' cannot be loaded"):
        build("owner/tiny@other")
