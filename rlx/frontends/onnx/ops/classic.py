"""Operators of classical machine learning (``ai.onnx.ml``) around and in place of a network.

A class that the file names by a text is the number of that text in the file's list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType
from rlx.ops.nn import NnSoftmax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real
    from rlx.ir import Array

_DOMAIN = "ai.onnx.ml"


@importer("Scaler", domain=_DOMAIN)
def import_scaler(call: Call) -> Real:
    """``Scaler``: ``(x - offset) * scale``, one of each or one for each feature."""
    x = call.value(0).cast(DType.F32)
    features = x.shape[-1] if x.ndim else 1
    for name in ("offset", "scale"):
        parameter = call.numbers(name) or ()
        if len(parameter) not in (1, features):
            raise call.malformed(f"has {len(parameter)} numbers {name!r} for {features} features")
        numbers = call.constant(np.array(parameter, np.float32))
        x = x - numbers if name == "offset" else x * numbers
    return x


@importer("Normalizer", domain=_DOMAIN)
def import_normalizer(call: Call) -> Real:
    """``Normalizer``: each row by its maximum, or its L1 or L2 norm; zeros stay."""
    x, norm = call.value(0).cast(DType.F32), call.text("norm")
    if isinstance(x.value.node.op, NnSoftmax) and norm == "L1":
        return x  # the numbers of a softmax have the sum 1
    if norm == "MAX":
        by = x.max(-1, keep_dims=True)
    elif norm == "L1":
        by = abs(x).sum(-1, keep_dims=True)
    elif norm == "L2":
        by = (x * x).sum(-1, keep_dims=True).sqrt()
    else:
        raise call.malformed(f"norm is {norm!r}, expected MAX, L1 or L2")
    return x / by.where(by.not_equal(0.0), 1.0)


@importer("LinearRegressor", domain=_DOMAIN)
def import_linear_regressor(call: Call) -> Real:
    """``LinearRegressor``: a dense layer."""
    return _transformed(call, _scores(call, call.integer("targets")))


@importer("LinearClassifier", domain=_DOMAIN)
def import_linear_classifier(call: Call) -> Sequence[Real]:
    """``LinearClassifier``: a dense layer, and the class of the largest number of each row."""
    call.integer("multi_class")
    labels, count = _classes(call)
    intercepts = call.numbers("intercepts") or ()
    if len(intercepts) != count:
        raise call.refuse(
            f"computes {len(intercepts)} numbers for {count} classes",
            "export the model with a row of coefficients for each class",
        )
    scores = _scores(call, count)
    return _labelled(call, scores.argmax(-1).cast(DType.I64), labels), _transformed(call, scores)


def _classes(call: Call) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]] | None, int]:
    """Return the integer labels, else None, and how many there are."""
    numbers = call.integers("classlabels_ints")
    texts = call.attribute("classlabels_strings")
    if numbers:
        return np.array(numbers, np.int64), len(numbers)
    return None, len(texts) if isinstance(texts, tuple) else 0


def _scores(call: Call, count: int) -> Real:
    x = call.value(0).cast(DType.F32)
    numbers = np.array(call.numbers("coefficients") or (), np.float32)
    intercepts = call.numbers("intercepts") or (0.0,) * count
    features = x.shape[-1] if x.ndim else 1
    fits = numbers.size and len(intercepts) == count
    if not fits or not isinstance(features, int) or numbers.size != count * features:
        raise call.malformed(
            f"has {numbers.size} coefficients and {len(intercepts)} intercepts for {count} results"
            f" of {x.type}"
        )
    x = x if x.ndim == 2 else x.reshape(-1, features)
    bias = np.array(intercepts, np.float32)
    return x.linear(call.constant(numbers.reshape(count, features)), call.constant(bias))


def _transformed(call: Call, scores: Real) -> Real:
    """Return scores after ``post_transform``."""
    kind = call.text("post_transform")
    if kind == "NONE":
        return scores
    if kind == "SOFTMAX":
        return scores.softmax(-1)
    if kind == "LOGISTIC":
        return scores.sigmoid()
    raise call.refuse(f"post_transform is {kind}, which rlx does not model")


@importer("ArrayFeatureExtractor", domain=_DOMAIN)
def import_array_feature_extractor(call: Call) -> Real:
    """``ArrayFeatureExtractor``: chosen numbers of the last axis; of texts, their places."""
    indices = call.value(1).cast(DType.I64).reshape(-1)
    if call.texts(0) is not None:
        return indices.expand_dims(0)
    known = call.known(0)
    if known is not None and known.ndim == 1:
        return _labelled(call, indices, known).expand_dims(0)
    x = call.value(0)
    x = x.expand_dims(0) if x.ndim == 1 else x
    return x.gather(indices, x.ndim - 1)


def _labelled(call: Call, indices: Real, labels: Array | None) -> Real:
    """Return the labels at some places; where each is its own place, or a text, the places."""
    if labels is None:
        return indices
    if labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(len(labels))):
        return indices.cast(DType.of(labels))
    return call.constant(labels).gather(indices)


@importer("ZipMap", domain=_DOMAIN)
def import_zip_map(call: Call) -> Real:
    """``ZipMap``: a list of maps from labels to numbers stays the matrix of the numbers."""
    for name in ("classlabels_strings", "classlabels_int64s"):
        call.attribute(name)
    return call.value(0)
