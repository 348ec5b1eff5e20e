"""What a model has to offer to be trained and evaluated: ours and anybody's alike."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from torch import Tensor

from clevrhope.dataset.vocab import Vocab
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Recipe


@runtime_checkable
class Model(Protocol):
    """A torch.nn.Module with three methods, and what else it likes.

    Optional, as attributes of the class; or of the model that `build` made, where its configuration decides
    them (so look at the model, not at its class):

    - `feature_kind`: the kind of features that it reads, "pixels" where it does not say, "none" for none.
    - `recipe`: a `Recipe`, how it is trained; where it has none, one stage of Adam on `loss`.
    - `ways`: a mapping from a name to the method that predicts so, for models that can answer in several ways
      ("true_programs", "predicted_programs"); where it has none, `predict` alone.
    - `program_ways`: the same for methods that give no scores but (B, P) program tokens ("symbolic"), which
      `clevrhope.models.symbolic.execute_programs` runs on the images' true scenes.
    - `begin`: a method without arguments that is called before a new run's first update, and not where a run
      is gone on with or evaluated: for pretrained weights from a file, which is then needed only once.
    - `rehearses`: False where a batch of a stage cannot be tried before the run begins, as of one that needs
      what a stage before it left in a buffer.
    - `log_values`: a method without arguments that gives a mapping from names to scalar tensors, for the log.
    """

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        """A new model, its weights drawn from torch's generator.

        Args:
            config: what was set for it, by name; it has a default for each.
            vocab: the dataset's words, program tokens and answers.

        Raises:
            ConfigError: a name or value that it does not know.
        """

    def loss(self, batch: Batch) -> Tensor:
        """What to minimise on a batch: one number. A stage may name another method of this form."""

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores, one for each answer of vocab.json by its number; the highest is its answer.

        A row with a NaN in it is no answer, which counts as wrong.
        """


class HasRecipe(Protocol):
    """A model that says how it is trained."""

    recipe: ClassVar[Recipe]


class HasWays(Protocol):
    """A model that can answer in several ways."""

    ways: ClassVar[Mapping[str, str]]


class HasProgramWays(Protocol):
    """A model that can write programs for an executor to answer by."""

    program_ways: ClassVar[Mapping[str, str]]


class HasBegin(Protocol):
    """A model whose runs begin with more than drawn weights."""

    def begin(self) -> None:
        """Takes weights from elsewhere.

        Raises:
            ConfigError: they are not there, or do not fit.
        """


class HasLogValues(Protocol):
    """A model that has more to tell a log than its loss."""

    def log_values(self) -> Mapping[str, Tensor]:
        """Scalars by name."""
