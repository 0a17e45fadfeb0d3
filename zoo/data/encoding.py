"""How each form of data becomes token ids, from the cache or into it.

Tokenizers are trained on the training split alone. What each ``encode_`` function gives is kept in
the cache, and returned as ``EncodedData`` of it; it raises ZooError where the cache cannot be
written, or a size is too small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.data.sources.corpus import IGNORED, Corpus, Pairs, TaggedCorpus, Texts, whole_text
from zoo.data.token_arrays import TokenArrays, kept_encoded
from zoo.data.tokenizer import UNK, train_byte_level, train_word_pieces, word_level_tokenizer
from zoo.errors import ZooError

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

CHUNK = 1000  # texts encoded at once: the tokenizer returns more than their ids
END_OF_TEXT = 0  # of a stream of texts
STREAM_SPECIALS = ("[end of text]",)
START, END = 1, 2  # of pairs, whose padding is PAD_ID too
_Columns = tuple[list[list[int]], dict[str, Any]]  # ids of examples, and columns
Encoded = tuple["Tokenizer", dict[str, TokenArrays]]  # a tokenizer, and the arrays of every split
PAIR_SPECIALS = ("[no token]", "[start of text]", "[end of text]")


@kept_encoded
def encode_labelled(corpus: Corpus | TaggedCorpus, vocab_size: int, max_length: int) -> Encoded:
    """Labelled or tagged texts, each cut to max_length tokens.

    Columns: those of ``_classified`` or ``_tagged``, and ``groups`` of test texts that have any.
    """
    tagged = isinstance(corpus, TaggedCorpus)
    if max_length < 2 and not tagged:
        raise ZooError(f"a length of {max_length} has no room for [CLS] and one token")
    plain = list(map(whole_text, corpus.train.texts))
    if corpus.word_level:
        tokenizer = word_level_tokenizer(plain)
    else:
        tokenizer = train_word_pieces(plain, vocab_size)
    splits = {}
    for split, (texts, targets, groups) in corpus.splits.items():
        columns_of = _tagged if tagged else _classified
        ids, columns = columns_of(tokenizer, texts, targets, max_length)
        if split == "test" and groups:
            columns["groups"] = groups
        splits[split] = TokenArrays.of(ids, **columns)
    return tokenizer, splits


def _classified(tokenizer: Tokenizer, texts: Any, labels: Any, max_length: int) -> _Columns:
    """Ids that begin with [CLS].

    Columns of every text: ``labels``; ``whole``, its tokens before it was cut; ``ends``, the
    characters up to the end of the last token that is read.
    """
    ids, whole, ends = list[list[int]](), list[int](), list[int]()
    for text, encoding in zip(texts, _encodings(tokenizer, texts), strict=True):
        ids.append(encoding.ids[:max_length])
        whole.append(len(encoding))
        fits = len(encoding) <= max_length
        ends.append(len(text) if fits else encoding.offsets[max_length - 1][1])
    return ids, {"labels": labels, "whole": whole, "ends": ends}


def _tagged(tokenizer: Tokenizer, texts: Any, tags: Any, max_length: int) -> _Columns:
    """Ids without [CLS].

    A token's tag is on its first piece, and its other pieces have ``IGNORED`` (Devlin et al. 2019,
    section 5.3): the column ``tags``, of every piece. Columns of every text: ``tokens``, how many
    of its tokens are read; ``cut``, how many tags that count are beyond max_length.
    """
    pieces = pieces_of(tokenizer, (token for tokens in texts for token in tokens))
    ids, labels, read, cut = list[list[int]](), list[int](), list[int](), list[int]()
    if max(map(len, pieces.values())) == 1:  # as of a diagnostic, which has many texts
        ids = [[pieces[token][0] for token in tokens[:max_length]] for tokens in texts]
        read = list(map(len, ids))
        labels = [tag for text_tags in tags for tag in text_tags[:max_length]]
        cut = [sum(tag != IGNORED for tag in text_tags[max_length:]) for text_tags in tags]
        return ids, {"tags": labels, "tokens": read, "cut": cut}
    for tokens, text_tags in zip(texts, tags, strict=True):
        text_ids, firsts = join_pieces(tokens, pieces, max_length)
        tag_at = dict(zip(firsts, text_tags, strict=False))
        ids.append(text_ids)
        labels += [tag_at.get(place, IGNORED) for place in range(len(text_ids))]
        read.append(len(firsts))
        cut.append(sum(tag != IGNORED for tag in text_tags[len(firsts) :]))
    return ids, {"tags": labels, "tokens": read, "cut": cut}


@kept_encoded
def encode_pairs(pairs: Pairs, vocab_size: int, max_length: int) -> Encoded:
    """Sources as the splits ``train`` and ``test``, targets as ``train_target``, ``test_target``.

    A source ends with END; a target also begins with START. Raises ZooError where one is longer
    than max_length: a shortened answer would be wrong.
    """
    both_sides = chain.from_iterable(zip(pairs.train.texts, pairs.train.targets, strict=True))
    tokenizer = train_byte_level(both_sides, vocab_size, PAIR_SPECIALS, symbols=True)
    splits = {}
    for split, (sources, targets, _) in pairs.splits.items():
        for name, side, start in ((split, sources, ()), (f"{split}_target", targets, (START,))):
            encodings = tokenizer.encode_batch_fast(side)
            splits[name] = TokenArrays.of([[*start, *e.ids, END] for e in encodings])
    lengths = np.concatenate([arrays.lengths for arrays in splits.values()])
    if (longest := lengths.max()) > max_length:
        raise ZooError(
            f"{pairs.called}: {(lengths > max_length).sum()} sources or targets are longer than "
            f"{max_length} tokens; the longest takes --max-length {longest}"
        )
    return tokenizer, splits


@kept_encoded
def encode_stream(texts: Texts, vocab_size: int, max_length: int) -> Encoded:
    """``train`` and ``validation`` as tokens that follow one another, END_OF_TEXT before each text.

    Raises ZooError where there is less text than one block of max_length.
    """
    tokenizer = train_byte_level(texts.train.texts, vocab_size, STREAM_SPECIALS)
    splits = {}
    for split, part in texts.splits.items():
        encodings = tokenizer.encode_batch_fast(part.texts)
        splits[split] = TokenArrays.of([[END_OF_TEXT, *e.ids] for e in encodings])
    if (tokens := len(splits["train"].ids)) <= max_length:
        raise ZooError(
            f"{texts.called} has {tokens} tokens to train on: too few for one block of "
            f"{max_length} (--max-length)"
        )
    return tokenizer, splits


@kept_encoded
def encode_windows(texts: Texts, vocab_size: int, max_length: int) -> Encoded:
    """``train`` and ``validation`` as ``windows`` of word pieces, so that no text is cut."""
    if max_length < 3:
        raise ZooError(f"a length of {max_length} has no room for [CLS], a mask and a neighbour")
    tokenizer = train_word_pieces(texts.train.texts, vocab_size)
    splits = {s: windows(tokenizer, e.texts, max_length) for s, e in texts.splits.items()}
    for split in (split for split, arrays in splits.items() if not len(arrays)):
        raise ZooError(f"{texts.called}: {split} has no word")
    return tokenizer, splits


def windows(tokenizer: Tokenizer, texts: Sequence[str], max_length: int) -> TokenArrays:
    """Each text as windows of about equal length, at most max_length; [CLS] begins each of them.

    The column ``texts`` has the number of each window's text. A text without a piece has no window.
    """
    parts, numbers = list[list[int]](), list[int]()
    for number, encoding in enumerate(_encodings(tokenizer, texts)):
        cls, *pieces = encoding.ids
        count = -(-len(pieces) // (max_length - 1))
        parts += [[cls, *p.tolist()] for p in (np.array_split(pieces, count) if count else ())]
        numbers += [number] * count
    return TokenArrays.of(parts, texts=np.array(numbers, dtype=np.int64))


def pieces_of(tokenizer: Tokenizer, tokens: Iterable[str]) -> dict[str, list[int]]:
    """The ids of the pieces of every token: at least one, the unknown token's.

    As the tokenizer's ``is_pretokenized`` encodes them, with each different token encoded once.
    """
    different = list(dict.fromkeys(tokens))
    encodings = tokenizer.encode_batch_fast(
        [[token] for token in different], is_pretokenized=True, add_special_tokens=False
    )
    unknown = tokenizer.token_to_id(UNK)
    assert unknown is not None
    return {t: e.ids or [unknown] for t, e in zip(different, encodings, strict=True)}


def join_pieces(
    tokens: Sequence[str], pieces: Mapping[str, list[int]], max_length: int
) -> tuple[list[int], list[int]]:
    """The ids of a text, at most max_length, and where each token's first piece is among them."""
    ids, firsts = list[int](), list[int]()
    for token in tokens:
        if len(ids) >= max_length:
            break
        firsts.append(len(ids))
        ids += pieces[token]
    return ids[:max_length], firsts


def decode_target(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of a target's ids, without the special ones."""
    text: str = tokenizer.decode([i for i in ids if i >= len(PAIR_SPECIALS)])
    return text.strip()


def _encodings(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[Encoding]:
    for start in range(0, len(texts), CHUNK):
        yield from tokenizer.encode_batch(list(texts[start : start + CHUNK]))
