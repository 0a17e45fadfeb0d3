# Written by `python -m bench.stub`; not by hand.
"""A registry of transformer parts and a harness that compares them honestly."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from zoo import sklearn as sklearn
from zoo.config.sizes import Sizes
from zoo.errors import ZooError as ZooError
from zoo.models.text_model import TextModel
from zoo.registry.declarations import hookimpl as hookimpl
from zoo.registry.declarations import part as part
from zoo.report.write import BenchResult
from zoo.sweep.progress import Progress

__version__: str

Names = str | Sequence[str]
Files = str | Path | Sequence[str | Path]

def bench(
    attention: Names | None = None,
    pe: Names | None = None,
    *,
    task: str | None = None,
    data: Any = None,
    suite: str | Path | None = None,
    seeds: int | Sequence[int] | None = None,
    on: str = "local",
    out: str | Path | None = None,
    against: str | Path | None = None,
    track: str | None = None,
    plugins: Files | None = None,
    progress: bool | Progress | None = None,
    norm: str | Sequence[str] | None = None,
    ffn: str | Sequence[str] | None = None,
    block: str | Sequence[str] | None = None,
    pool: str | Sequence[str] | None = None,
    baseline: str | None = None,
    design: Literal["factorial", "one-factor"] | None = None,
    phases: str | Sequence[str] | None = None,
    reference: str | None = None,
    metric: str | None = None,
    jobs: int | None = None,
    threads: int | None = None,
    blocks: int | None = None,
    timeout: float | None = None,
    dim: int | None = None,
    layers: int | None = None,
    heads: int | None = None,
    ffn_dim: int | None = None,
    max_length: int | None = None,
    vocab_size: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    batching: Literal["length", "random"] | None = None,
    lr: float | Sequence[float] | None = None,
    weight_decay: float | None = None,
    dropout: float | None = None,
    attention_dropout: float | None = None,
    embedding_std: float | None = None,
    label_smoothing: float | None = None,
    schedule: Literal["linear", "cosine", "constant"] | None = None,
    warmup: float | None = None,
    max_grad_norm: float | None = None,
    validation: float | None = None,
    evaluate_every: int | None = None,
    device: str | None = None,
    precision: Literal["auto", "fp32", "tf32", "bf16"] | None = None,
    compile: bool | None = None,
    init: Literal["", "pretrain"] | None = None,
    pretrain_epochs: int | None = None,
    pretrain_lr: float | None = None,
    pretrain_masked: float | None = None,
    test: str | None = None,
    test_size: float | None = None,
    split_seed: int | None = None,
    encoding: str | None = None,
    drop_bad_rows: bool | None = None,
    file_format: Literal["auto", "csv", "tsv", "json", "jsonl", "parquet"] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    quotes: bool | None = None,
    escape: bool | None = None,
    group_column: str | None = None,
    keep_duplicates: bool | None = None,
    head_hidden: int | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    token_deletion: float | None = None,
    class_weight: str | None = None,
    masked: float | None = None,
    tokens_column: str | None = None,
    tags_column: str | None = None,
    causal: bool | None = None,
) -> BenchResult:
    """Train and measure every combination: the table, the answer, and where everything is.

    attention, pe and the other axes (norm, ffn, block, pool): a name, a comma list or a list. In
    all but the pool, ``a/b`` takes turns over the layers.

    data: what ``--data`` takes; a pandas DataFrame or a ``datasets.Dataset``, with a column of
    texts and one of labels; a DatasetDict, or a dict of splits (``train``, ``test``); a list of
    dicts; a pair of lists ``(texts, labels)``. Several names, or tables with a ``name`` and options
    for that data set alone, give one line for each row on each data set.

    suite: a file of options, or one of the zoo's own; those given here win. seeds: how many, or
    which. on: a registered executor with its parameters, such as ``ray(address='10.0.0.1:6379')``.
    out: the directory of records and report, by default one under ``runs``. against: ``published``,
    or the directory of a run on streamed data, whose rows stand beside those of this run. track: a
    comma list of trackers, which show every training. plugins: single-file plug-ins. progress: True
    or False; by default bars in a notebook and on a terminal, and nothing elsewhere. An object of
    ``zoo.sweep.progress.Progress`` gets every event, and is closed at the end.

    Raises ZooError for bad usage or data. Cells that fail are rows with their status and reason.

    Options, all by name:

    norm: Norms, a comma list or all.  [default: layer]
    ffn: Feed-forward networks, a comma list or all.  [default: gelu]
    block: Blocks, a comma list or all.  [default: pre]
    pool: Pools, a comma list or all.  [default: mean]
    baseline: Baselines, a comma list, all or none. Where texts are cut, one that reads
        texts has a second row, NAME(whole=True), which reads whole texts.  [default: tfidf-
        logreg; lm: ngram; mlm: neighbour-ngram; seq2seq: none; tag: window-logreg]
    design: Cross all, or change one at a time. factorial: every combination; one-factor:
        the first part of each option, and one change of it at a time; what cannot be
        combined with the first encoding has the next that it can.  [default: factorial]
    phases: train (scores), cost (speed, memory) or both.  [default: train,cost]
    reference: The row that speeds are divided by, by parts that no other has, such as
        fused+sin; by default the first that can run.
    metric: The score that ranks rows; by default the task's first. Another is macro_f1.
    jobs: Models trained at once; by default as many as fit the cores or the cluster, one on
        a GPU or with --threads. Speeds are measured alone.
    threads: Threads of each model; 0: as the cores allow. A training then has its share of
        the cores, a measurement on a CPU has one, and on a cluster each has one.  [default:
        0]
    blocks: Most times that each model is timed, from 12 on until speeds are known within
        2%; by default 40, until they are known within 5%. At several lengths it is 6.
    timeout: Most seconds per training or timing.
    dim: Width of the model.  [default: 64]
    layers: Number of blocks.  [default: 2]
    heads: Attention heads.  [default: 4]
    ffn_dim: Inner width of the feed-forward networks.  [default: 256; classify: 128]
    max_length: Most tokens of a text; special tokens count, and the rest is cut off. With
        --phases cost a comma list measures costs at each of several lengths.  [default:
        256; classify: 128; lm: 128; seq2seq: 32]
    vocab_size: Vocabulary entries.  [default: 4000; lm: 1000; seq2seq: 1000]
    epochs: Training epochs.  [default: 6; classify: 3; lm: 2; seq2seq: 12]
    batch_size: Examples per training step.  [default: 32; classify: 8; lm: 8]
    batching: Batches of similar length, with little padding, or random.  [default: length]
    lr: Peak learning rate. Of several, one is chosen for each row on held-out training
        texts.  [default: 0.003; classify: 0.005]
    weight_decay: AdamW's weight decay.  [default: 0.01]
    dropout: Dropout of embeddings, networks, residual branches and the head.  [default:
        0.1]
    attention_dropout: Dropout of attention weights.  [default: 0.0]
    embedding_std: Standard deviation of new token embeddings.  [default: 1.0]
    label_smoothing: Share of the target spread over all classes.  [default: 0.0; classify:
        0.1]
    schedule: How the learning rate falls.  [default: linear]
    warmup: Share of the steps in which the rate rises.  [default: 0.1]
    max_grad_norm: Largest gradient norm; 0: no clipping.  [default: 1.0]
    validation: Score this share of the training split instead of the test split. Of data
        with a validation split, any share scores that.  [default: 0.0]
    evaluate_every: Examples between two evaluations on held-out texts. A training then ends
        when two in a row solve the task, or after the last epoch; 0: after the last epoch.
        [default: 0]
    device: Where to compute: auto, cpu, cuda, cuda:N for one GPU of several, or mps.
        [default: auto]
    precision: Precision of the arithmetic; auto: bf16 on a GPU that has it and is faster
        with it at this size, else fp32.  [default: auto]
    compile: Compile models with torch.compile.  [default: no]
    init: Begin with pretrain; by default new weights. pretrain is masked language modelling
        on the training texts before each training.
    pretrain_epochs: Passes of the pretraining over the training texts.  [default: 20]
    pretrain_lr: Peak learning rate of the pretraining.  [default: 0.003]
    pretrain_masked: Share of word pieces masked in pretraining.  [default: 0.3]
    test: Test split, a file or directory; for data without one. By default a part is held
        out.  [classify, tag only]
    test_size: Share to hold out as a test split; for data without one. By default 0.25.
        [classify, tag only]
    split_seed: Seed for splitting data without a test split.  [classify, tag only; default:
        0]
    encoding: Encoding of text files, such as latin-1; by default UTF-8, or UTF-16 where a
        byte order mark says so.
    drop_bad_rows: Leave out rows that cannot be used, and name them; otherwise they are
        errors.  [default: no]
    file_format: Format of the files; auto: by their endings.  [classify, lm, mlm only;
        default: auto]
    delimiter: What divides columns, a character, tab or space; by default a comma in CSV
        and a tab in TSV.  [classify, lm, mlm only]
    header: Whether the first line names the columns; without it they are numbered.
        [classify, lm, mlm only; default: yes]
    quotes: Whether double quotes enclose fields of a table; otherwise they are plain
        characters.  [classify, lm, mlm only; default: yes]
    escape: A backslash escapes a quote in a field of a table, as Spark and MySQL write it;
        otherwise a quote is written twice.  [classify, lm, mlm only; default: no]
    group_column: Column of the texts' groups (language, year), in files and Hub data, by
        which scores are reported too; by default there are none.  [classify, tag only]
    keep_duplicates: Train also on documents that are in the test split.  [classify, tag
        only; default: no]
    head_hidden: Width of the head's hidden layer; 0: none.  [classify, tag only; default:
        0]
    text_column: Column of the texts; in files and Hub data. Of several, as in title,body,
        the texts are joined.  [classify, lm, mlm only; default: text]
    label_column: Column of the labels; in files and Hub data.  [classify, lm, mlm only;
        default: label]
    token_deletion: Share of tokens deleted from each text in training.  [classify only;
        default: 0.0]
    class_weight: Weights of the classes in the loss, a comma list in the order of their
        names; by default all are alike.  [classify only]
    masked: Share of the word pieces that are masked.  [mlm only; default: 0.3]
    tokens_column: Column of the lists of tokens, in files and Hub data; in a CoNLL file its
        number, the first by default.  [tag only; default: tokens]
    tags_column: Column of the lists of tags, in files and Hub data; in a CoNLL file its
        number, the last by default.  [tag only; default: tags]
    causal: Let a token see only itself and those before it.  [tag only; default: no]
    """

def build(
    cell: Mapping[str, str] | None = None,
    sizes: Sizes | Mapping[str, int] | None = None,
    *,
    classes: int | None = None,
    dropout: float = 0.0,
    seed: int = 0,
    plugins: Files | None = None,
) -> nn.Module:
    """An untrained encoder of these components, as a plain ``torch.nn.Module``.

    It maps token ids (B, L), and if texts are padded an ``attention_mask`` (B, L) that is true
    where a token is real, to vectors (B, L, dim); with ``classes``, to logits (B, classes) by the
    cell's pool and a linear layer. Padding may stand anywhere.

    cell: ``{"attention": "fused", "pe": "rope"}``; an axis that is not named has the default.
    sizes: ``{"dim": 64, "layers": 2, ...}``, by default those of ``zoo.config.sizes.Sizes``, of
    which a task may have others. seed: of the initial weights, which are those of ``zoo.bench`` for
    this cell, seed and sizes.

    Raises ZooError for names that do not exist, and for parts that cannot be combined or refuse
    these sizes.
    """

def load(
    directory: str | Path,
    *,
    plugins: str | Path | Sequence[str | Path] = (),
    device: str | torch.device = "cpu",
    allow_changed: bool = False,
) -> TextModel:
    """The model that ``zoo train --save`` wrote, in float32, ready to predict or to generate.

    plugins: single-file plug-ins that it was trained with. allow_changed: load it also where it
    gives other outputs than when it was saved, because components have changed. Only code of
    registered components runs. Raises ZooError where the directory holds no intact model, or
    components are missing or have changed.
    """

def train(
    attention: str | None = None,
    pe: str | None = None,
    *,
    task: str | None = None,
    data: Any = None,
    suite: str | Path | None = None,
    save: str | Path | None = None,
    from_: str | Path | BenchResult | None = None,
    row: str = "",
    all_data: bool = False,
    seed: int = 0,
    on: str = "local",
    track: str | None = None,
    plugins: Files | None = None,
    progress: bool | Progress | None = None,
    norm: str | Sequence[str] | None = None,
    ffn: str | Sequence[str] | None = None,
    block: str | Sequence[str] | None = None,
    pool: str | Sequence[str] | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    dim: int | None = None,
    layers: int | None = None,
    heads: int | None = None,
    ffn_dim: int | None = None,
    max_length: int | None = None,
    vocab_size: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    batching: Literal["length", "random"] | None = None,
    lr: float | Sequence[float] | None = None,
    weight_decay: float | None = None,
    dropout: float | None = None,
    attention_dropout: float | None = None,
    embedding_std: float | None = None,
    label_smoothing: float | None = None,
    schedule: Literal["linear", "cosine", "constant"] | None = None,
    warmup: float | None = None,
    max_grad_norm: float | None = None,
    validation: float | None = None,
    evaluate_every: int | None = None,
    device: str | None = None,
    precision: Literal["auto", "fp32", "tf32", "bf16"] | None = None,
    compile: bool | None = None,
    init: Literal["", "pretrain"] | None = None,
    pretrain_epochs: int | None = None,
    pretrain_lr: float | None = None,
    pretrain_masked: float | None = None,
    test: str | None = None,
    test_size: float | None = None,
    split_seed: int | None = None,
    encoding: str | None = None,
    drop_bad_rows: bool | None = None,
    file_format: Literal["auto", "csv", "tsv", "json", "jsonl", "parquet"] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    quotes: bool | None = None,
    escape: bool | None = None,
    group_column: str | None = None,
    keep_duplicates: bool | None = None,
    head_hidden: int | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    token_deletion: float | None = None,
    class_weight: str | None = None,
    masked: float | None = None,
    tokens_column: str | None = None,
    tags_column: str | None = None,
    causal: bool | None = None,
) -> TextModel:
    """Train one model as ``zoo.bench`` trains it, and return it, ready to predict or generate.

    save: a new directory for the model; by default it is not written. from_: the directory of a
    run, or what ``zoo.bench`` returned: trains the row that its answer names, or the one called
    ``row`` (``"fused+sin"``), with the settings that it had, on all the data, those it was scored
    on included; nothing is left to score it. Another option may only say where the data are and
    how to execute. all_data: train any model so. seed: of initial weights, dropout and the order of
    the batches. attention, pe, task, data, suite, on, track, plugins, progress and options are as
    for ``zoo.bench``.

    Raises ZooError for bad usage or data, and
    ``zoo.inference.train.TrainingFailedError`` where the training itself fails.

    Options, all by name:

    norm: Norms, a comma list or all.  [default: layer]
    ffn: Feed-forward networks, a comma list or all.  [default: gelu]
    block: Blocks, a comma list or all.  [default: pre]
    pool: Pools, a comma list or all.  [default: mean]
    threads: Threads of each model; 0: as the cores allow. A training then has its share of
        the cores, a measurement on a CPU has one, and on a cluster each has one.  [default:
        0]
    timeout: Most seconds per training or timing.
    dim: Width of the model.  [default: 64]
    layers: Number of blocks.  [default: 2]
    heads: Attention heads.  [default: 4]
    ffn_dim: Inner width of the feed-forward networks.  [default: 256; classify: 128]
    max_length: Most tokens of a text; special tokens count, and the rest is cut off. With
        --phases cost a comma list measures costs at each of several lengths.  [default:
        256; classify: 128; lm: 128; seq2seq: 32]
    vocab_size: Vocabulary entries.  [default: 4000; lm: 1000; seq2seq: 1000]
    epochs: Training epochs.  [default: 6; classify: 3; lm: 2; seq2seq: 12]
    batch_size: Examples per training step.  [default: 32; classify: 8; lm: 8]
    batching: Batches of similar length, with little padding, or random.  [default: length]
    lr: Peak learning rate. Of several, one is chosen for each row on held-out training
        texts.  [default: 0.003; classify: 0.005]
    weight_decay: AdamW's weight decay.  [default: 0.01]
    dropout: Dropout of embeddings, networks, residual branches and the head.  [default:
        0.1]
    attention_dropout: Dropout of attention weights.  [default: 0.0]
    embedding_std: Standard deviation of new token embeddings.  [default: 1.0]
    label_smoothing: Share of the target spread over all classes.  [default: 0.0; classify:
        0.1]
    schedule: How the learning rate falls.  [default: linear]
    warmup: Share of the steps in which the rate rises.  [default: 0.1]
    max_grad_norm: Largest gradient norm; 0: no clipping.  [default: 1.0]
    validation: Score this share of the training split instead of the test split. Of data
        with a validation split, any share scores that.  [default: 0.0]
    evaluate_every: Examples between two evaluations on held-out texts. A training then ends
        when two in a row solve the task, or after the last epoch; 0: after the last epoch.
        [default: 0]
    device: Where to compute: auto, cpu, cuda, cuda:N for one GPU of several, or mps.
        [default: auto]
    precision: Precision of the arithmetic; auto: bf16 on a GPU that has it and is faster
        with it at this size, else fp32.  [default: auto]
    compile: Compile models with torch.compile.  [default: no]
    init: Begin with pretrain; by default new weights. pretrain is masked language modelling
        on the training texts before each training.
    pretrain_epochs: Passes of the pretraining over the training texts.  [default: 20]
    pretrain_lr: Peak learning rate of the pretraining.  [default: 0.003]
    pretrain_masked: Share of word pieces masked in pretraining.  [default: 0.3]
    test: Test split, a file or directory; for data without one. By default a part is held
        out.  [classify, tag only]
    test_size: Share to hold out as a test split; for data without one. By default 0.25.
        [classify, tag only]
    split_seed: Seed for splitting data without a test split.  [classify, tag only; default:
        0]
    encoding: Encoding of text files, such as latin-1; by default UTF-8, or UTF-16 where a
        byte order mark says so.
    drop_bad_rows: Leave out rows that cannot be used, and name them; otherwise they are
        errors.  [default: no]
    file_format: Format of the files; auto: by their endings.  [classify, lm, mlm only;
        default: auto]
    delimiter: What divides columns, a character, tab or space; by default a comma in CSV
        and a tab in TSV.  [classify, lm, mlm only]
    header: Whether the first line names the columns; without it they are numbered.
        [classify, lm, mlm only; default: yes]
    quotes: Whether double quotes enclose fields of a table; otherwise they are plain
        characters.  [classify, lm, mlm only; default: yes]
    escape: A backslash escapes a quote in a field of a table, as Spark and MySQL write it;
        otherwise a quote is written twice.  [classify, lm, mlm only; default: no]
    group_column: Column of the texts' groups (language, year), in files and Hub data, by
        which scores are reported too; by default there are none.  [classify, tag only]
    keep_duplicates: Train also on documents that are in the test split.  [classify, tag
        only; default: no]
    head_hidden: Width of the head's hidden layer; 0: none.  [classify, tag only; default:
        0]
    text_column: Column of the texts; in files and Hub data. Of several, as in title,body,
        the texts are joined.  [classify, lm, mlm only; default: text]
    label_column: Column of the labels; in files and Hub data.  [classify, lm, mlm only;
        default: label]
    token_deletion: Share of tokens deleted from each text in training.  [classify only;
        default: 0.0]
    class_weight: Weights of the classes in the loss, a comma list in the order of their
        names; by default all are alike.  [classify only]
    masked: Share of the word pieces that are masked.  [mlm only; default: 0.3]
    tokens_column: Column of the lists of tokens, in files and Hub data; in a CoNLL file its
        number, the first by default.  [tag only; default: tokens]
    tags_column: Column of the lists of tags, in files and Hub data; in a CoNLL file its
        number, the last by default.  [tag only; default: tags]
    causal: Let a token see only itself and those before it.  [tag only; default: no]
    """
