"""Baselines: whole models that are not assembled from parts.

Their capability says how they are built and called. Classifiers:
``texts``: built without arguments; ``fit(texts, labels)`` and ``predict(texts) -> labels``. The
texts that it is given are cut where a cell stops reading them; with ``whole=True`` they are whole.
``tokens``: a torch module built as ``Baseline(vocab_size=, classes=, sizes=, dropout=)`` that maps
(ids, tokens) to logits (B, classes), trained on the same batches as every cell.
``vocabulary``, besides ``tokens``: also given ``vocabulary=``, the word piece of every id.
``head``, besides ``tokens``: also given ``head_hidden=``, as a cell's head is.
Taggers:
``token-texts``: built without arguments; ``fit(texts, tags)`` and ``predict(texts) -> tags``. A
text is a list of tokens, its tags a list of one int for each: -100 where it does not count.
Language models:
``stream``: built as ``Baseline(vocab_size=)``; ``fit(ids)`` and ``nats(ids)`` take numpy arrays of
token ids; ``nats`` returns -ln P of every token but the first, given those before it.
Masked language models:
``masked``: built as ``Baseline(vocab_size=)``; ``fit(texts)`` takes a list of numpy arrays of token
ids; ``log_probabilities(ids, places)`` takes one text and returns ln P (places, vocab_size) of what
may stand at these places of it.
"""
