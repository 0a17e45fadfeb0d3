"""The zoo's classifiers as estimators of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from zoo.data.sources.corpus import is_blank
from zoo.data.sources.load_data import stored
from zoo.errors import ZooError, listed
from zoo.files import scratch_directory
from zoo.inference.saved_model import save
from zoo.inference.train import train
from zoo.registry import loading
from zoo.sweep.make_request import make_request
from zoo.sweep.progress import Progress


class InputError(ZooError, ValueError):
    """Data that cannot be learned from; a ValueError, as scikit-learn expects."""


class ZooClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier made of the zoo's components and trained from scratch on the texts given.

    X is a list, an array or a Series of texts, or has one column of them; y their classes. All of X
    is trained on. The parameters are the options of ``zoo bench`` of the same names; threads 0:
    every core. plugins: single-file plug-ins. class_weight: as of scikit-learn's classifiers: None,
    ``"balanced"`` or a weight for each class. random_state: an int is the seed of ``zoo train``;
    None draws one. Fits in several threads wait for one another.

    classes_: the classes, sorted. model_: the trained ``TextClassifier``, as of ``zoo.load``.
    """

    def __init__(
        self,
        attention: str = "fused",
        pe: str = "rope",
        *,
        norm: str = "layer",
        ffn: str = "gelu",
        block: str = "pre",
        pool: str = "mean",
        dim: int = 64,
        layers: int = 2,
        heads: int = 4,
        ffn_dim: int = 128,
        max_length: int = 128,
        vocab_size: int = 4000,
        epochs: int = 3,
        batch_size: int = 8,
        lr: float = 5e-3,
        weight_decay: float = 0.01,
        dropout: float = 0.1,
        label_smoothing: float = 0.1,
        schedule: str = "linear",
        warmup: float = 0.1,
        device: str = "auto",
        precision: str = "auto",
        threads: int = 0,
        plugins: str | Sequence[str] = (),
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        # Each parameter as it was given, as scikit-learn's get_params expects.
        self.__dict__.update({n: v for n, v in locals().items() if n not in ("self", "__class__")})

    def fit(self, X: Any, y: Any) -> Self:
        """Train on texts and their classes.

        Raises InputError for what are no texts or classes, ZooError for parameters that do not fit,
        and ``TrainingFailedError`` where the training diverges or fails.
        """
        if y is None:
            raise InputError("ZooClassifier requires y to be passed, but the target y is None")
        # Before NumPy makes the text "nan" of one among texts.
        missing = pd.isna(np.asarray(y, dtype=object).ravel())
        if missing.any():
            raise InputError(f"Input y contains NaN: class {missing.argmax() + 1} is missing")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        texts = _texts(X)
        check_consistent_length(texts, y)
        if empty := [str(n) for n, text in enumerate(texts, start=1) if is_blank(text)]:
            raise InputError(f"X is empty in text {listed(empty, 5)}")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            label = self.classes_[0]
            raise InputError(f"every text is of one class, {label}: a classifier needs two classes")
        options = self.get_params(deep=False)
        plugins, seed = options.pop("plugins"), options.pop("random_state")
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31)
        if (weights := options.pop("class_weight")) is not None:
            weights = compute_class_weight(weights, classes=self.classes_, y=y)
            options["class_weight"] = ",".join(f"{weight:.17g}" for weight in weights)
        loaded = loading.load(plugins)
        data = stored(_splits(texts, codes.tolist()), {})
        request = make_request({**options, "data": data, "keep_duplicates": True}, loaded.registry)
        with scratch_directory() as scratch:
            self.model_: Any = train(
                request,
                loaded,
                Progress(),
                scratch / "model",
                int(seed),
                on="inline",
                all_data=True,
            )
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every class (texts, classes), in the order of ``classes_``."""
        check_is_fitted(self)
        predictions = self.model_.predict(_texts(X))
        # The names of the model's classes are the numbers of ``classes_``.
        names = [str(code) for code in range(len(self.classes_))]
        return np.array([[each.probabilities[name] for name in names] for each in predictions])

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of every text (texts)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        classes: np.ndarray = self.classes_[likeliest]
        return classes

    def save(self, directory: str | Path) -> None:
        """Write the fitted model as ``zoo train --save`` does: for ``zoo.load`` and ``zoo export``.

        Its labels are the classes as text. Raises ZooError where the directory exists.
        """
        check_is_fitted(self)
        save(self.model_, Path(directory), [str(each) for each in self.classes_])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def _texts(X: Any) -> list[str]:
    """Texts as a list; InputError where one is none, or there is more than one column."""
    if isinstance(X, str):
        raise InputError("X is one text: give a list of texts")
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) != 1:
        if len(shape) != 2 or shape[1] != 1 or not hasattr(X, "__array__"):
            raise InputError(f"X has the shape {tuple(shape)}: give one column of texts")
        X = np.asarray(X)[:, 0]
    texts = list(X)
    if not texts:
        raise InputError("X has no texts (0 samples): a minimum of 1 is required")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InputError(f"text {number} of X is no text but a {type(text).__name__}")
    return [str(text) for text in texts]


def _splits(texts: list[str], codes: list[int]) -> dict[str, tuple[list[str], list[int]]]:
    """Two splits, as data must have, that are all the texts together: both are trained on.

    The last text of every class that has several is the test split; where no class has, it is the
    first of all texts once more.
    """
    last = {code: row for row, code in enumerate(codes)}
    test = {row for code, row in last.items() if codes.count(code) > 1}
    rows = range(len(texts))
    parts = {"train": [r for r in rows if r not in test], "test": sorted(test) or [0]}
    return {s: ([texts[r] for r in own], [codes[r] for r in own]) for s, own in parts.items()}
