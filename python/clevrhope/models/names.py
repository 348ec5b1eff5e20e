"""A model's name in, its class out: ours by name, anybody's as package.module:Class. No torch of its own."""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrhope.errors import ConfigError, first_sentence, shown
from clevrhope.runtime.installed import check_torch
from clevrhope.runtime.settings import suggestion

if TYPE_CHECKING:
    from torch.nn import Module

    from clevrhope.dataset.vocab import Vocab
    from clevrhope.models.protocol import Model

MODELS: Mapping[str, str] = {
    "film": "clevrhope.models.film:Film",
    "lxmert_p": "clevrhope.models.lxmert.model:LxmertPretrained",
    "lxmert_s": "clevrhope.models.lxmert.model:LxmertScratch",
    "mac": "clevrhope.models.mac:Mac",
    "object_transformer": "clevrhope.models.object_transformer:ObjectTransformer",
    "question_only": "clevrhope.models.question_only:QuestionOnly",
    "tensor_nmn": "clevrhope.models.tensor_nmn.model:TensorNmn",
    "vector_nmn": "clevrhope.models.vector_nmn:VectorNmn",
}
"""Name -> module and class."""

METHODS = ("build", "loss", "predict")
"""What a class has to have; `clevrhope.models.protocol.Model` says what they do."""


def find_model(name: str) -> "type[Model]":
    """The class of that name, whose module is imported now.

    Classes of one's own are looked for where Python looks, and in the working directory.

    Raises:
        ConfigError: no such name, module or class; a class without one of the methods; torch is missing.
    """
    check_name(name)
    module_name, _, class_name = MODELS.get(name, name).partition(":")
    found = getattr(_module(name, module_name), class_name, None)
    if found is None:
        raise ConfigError(f'model "{name}": {module_name} has no {class_name}')
    check_methods(name, found)
    return found  # type: ignore[no-any-return]


def check_name(name: str) -> None:
    """Passes for one of our names, and for what can be anybody's class.

    Raises:
        ConfigError: neither.
    """
    module_name, colon, class_name = MODELS.get(name, name).partition(":")
    if not (module_name and colon and class_name):
        raise ConfigError(
            f"no model {shown(name)}{suggestion(name, MODELS)}; there are: {', '.join(MODELS)}; "
            "one of your own is package.module:Class"
        )


def check_methods(name: str, found: Any) -> None:
    """Passes for a torch.nn.Module with all of the methods.

    Raises:
        ConfigError: it is none, or lacks one; says which.
    """
    from torch.nn import Module

    if not (isinstance(found, type) and issubclass(found, Module)):
        raise ConfigError(f'model "{name}": {found!r} is no class of a torch.nn.Module')
    for method in METHODS:
        if not callable(getattr(found, method, None)):
            raise ConfigError(
                f'model "{name}": the class has no method {method}; a model needs {", ".join(METHODS)} '
                "(docs/models_of_your_own.md)"
            )


def build_model(name: str, found: "type[Model]", config: Mapping[str, Any], vocab: "Vocab") -> "Module":
    """A new model of a class that `find_model` found.

    Raises:
        ConfigError: its `build` gives no torch.nn.Module, or knows no such configuration.
    """
    from torch.nn import Module

    try:
        model = found.build(config, vocab)
    except (MemoryError, OverflowError, RuntimeError) as error:
        if name not in MODELS:
            raise  # a bug of somebody's own class, which a traceback tells best
        raise ConfigError(
            f"{name}: cannot be made with these settings ({first_sentence(error)[:200]})"
        ) from error
    if not isinstance(model, Module):
        given = "nothing" if model is None else f"a {type(model).__name__}"
        raise ConfigError(
            f'model "{name}": its build gives {given}; expected a torch.nn.Module, as a rule one of the class'
        )
    return model


def _module(name: str, module_name: str) -> Any:
    check_torch()
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        # A console script's path begins with its own folder, not with the user's, where the model's file is.
        sys.path.append(here)
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if module_name == missing or module_name.startswith(f"{missing}."):
            where = "neither installed nor in the working directory"
            raise ConfigError(f'model "{name}": no module {missing}, {where}') from error
        raise ConfigError(
            f'model "{name}": its module needs {missing}, which is not installed'
            + (": pip install clevrhope[train]" if name in MODELS else "")
        ) from error
    except (ImportError, SyntaxError, ValueError) as error:
        raise ConfigError(f'model "{name}": {module_name} cannot be imported ({error})') from error
    finally:
        if added:
            sys.path.remove(here)
