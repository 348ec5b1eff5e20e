"""Finds a model's class: ours by name, a user's as package.module:Class. Does not itself import torch."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clevrhope.errors import ConfigError, first_sentence, shown, with_article
from clevrhope.runtime.extras import check_torch, import_class, is_class_name
from clevrhope.runtime.settings import suggestion

if TYPE_CHECKING:
    from torch.nn import Module

    from clevrhope.dataset.vocab import Vocab
    from clevrhope.models.protocol import Model

MODELS: Mapping[str, str] = {
    "cnn_lstm": "clevrhope.models.cnn_lstm:CnnLstm",
    "cnn_lstm_sa": "clevrhope.models.cnn_lstm:CnnLstmSa",
    "film": "clevrhope.models.film:Film",
    "lxmert_p": "clevrhope.models.lxmert.model:LxmertPretrained",
    "lxmert_s": "clevrhope.models.lxmert.model:LxmertScratch",
    "object_transformer": "clevrhope.models.object_transformer:ObjectTransformer",
    "question_only": "clevrhope.models.question_only:QuestionOnly",
    "tensor_nmn": "clevrhope.models.tensor_nmn.model:TensorNmn",
    "vector_nmn": "clevrhope.models.vector_nmn:VectorNmn",
    "visualbert": "clevrhope.models.visualbert:VisualBert",
}
"""Name -> module and class."""

SET_MODELS = ("lxmert_p", "lxmert_s", "object_transformer", "question_only", "visualbert")
"""Models that can be trained on questions about sets of images."""

METHODS = ("build", "loss", "predict")
"""Methods that every model class needs; `clevrhope.models.protocol.Model` describes them."""


def find_model(name: str) -> "type[Model]":
    """Imports a class by name; users' modules are found on Python's path and in the working directory.

    Raises:
        ConfigError: there is no such name, module or class; a class lacks a method; or torch is missing.
    """
    check_name(name)
    check_torch()
    remedy = ": pip install 'clevrhope[train]'" if name in MODELS else ""
    found = import_class(MODELS.get(name, name), f'model "{name}"', remedy=remedy)

    from torch.nn import Module

    if not (isinstance(found, type) and issubclass(found, Module)):
        raise ConfigError(f'model "{name}": {found!r} is not a subclass of torch.nn.Module')
    for method in METHODS:
        if not callable(getattr(found, method, None)):
            raise ConfigError(
                f'model "{name}": the class has no method {method}; a model needs {", ".join(METHODS)} '
                "(docs/models_of_your_own.md)"
            )
    return found  # type: ignore[return-value]


def check_name(name: str) -> None:
    """Checks that a name is one of ours or has the form package.module:Class; raises ConfigError if not."""
    if not is_class_name(MODELS.get(name, name)):
        raise ConfigError(
            f"no model {shown(name)}{suggestion(name, MODELS)}; there are: {', '.join(MODELS)}; "
            "name one of your own as package.module:Class"
        )


def build_model(name: str, config: Mapping[str, Any], vocab: "Vocab", *, sets: bool = False) -> "Module":
    """Builds a new model.

    Args:
        name: the name of its class, as for `find_model`.
        config: its settings.
        vocab: the dataset's vocabulary.
        sets: whether its questions are about sets of images.

    Raises:
        ConfigError: there is no such class, settings are invalid, `build` does not return a torch.nn.Module,
            or a model of one image is to read sets.
    """
    found = find_model(name)

    from torch.nn import Module

    try:
        model = found.build(config, vocab)
    except (MemoryError, OverflowError, RuntimeError) as error:
        if name not in MODELS:
            raise  # a bug in a user's class, which a traceback shows best
        raise ConfigError(
            f"{name}: cannot be made with these settings ({first_sentence(error)[:200]})"
        ) from error
    if not isinstance(model, Module):
        given = "nothing" if model is None else with_article(type(model).__name__)
        raise ConfigError(
            f'model "{name}": its build returns {given}; expected a torch.nn.Module, usually one of the class'
        )
    if sets:
        _prepare_for_sets(name, model)
    return model


def _prepare_for_sets(name: str, model: "Module") -> None:
    """Gives a model its layers for sets of images; a model that reads no image needs none.

    Raises:
        ConfigError: it reads one image, or predicts programs, which are executed on one scene.
    """
    if callable(add := getattr(model, "add_set_layers", None)):
        add()
    elif getattr(model, "feature_kind", "pixels") != "none" or getattr(model, "program_ways", {}):
        raise ConfigError(
            f'model "{name}": it answers questions about one image, not about sets of images; for those '
            f"there are {', '.join(SET_MODELS)}"
        )
