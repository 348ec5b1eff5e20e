"""The interface that a model must implement to be trained and evaluated, ours and users' alike."""

from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

from torch import Tensor

from clevrhope.dataset.vocab import Vocab
from clevrhope.models.batch import Batch


@runtime_checkable
class Model(Protocol):
    """A torch.nn.Module with three methods, and any others.

    It reads questions as tokens of vocab.json, or as sentences (`Batch.text`) with a tokenizer of its own.

    Optional attributes of the class, or of the model that `build` returns if they depend on its configuration
    (so they are read from the model, not from its class):

    - `feature_kind`: the kind of image features that the model reads; "pixels" by default, "none" for none,
      "package.module:Class" for those of a custom class.
    - `recipe`: a `Recipe`, which defines how it is trained; by default one stage of Adam on `loss`.
    - `ways`: a mapping from a name to the method that predicts in that way, for a model with several ways to
      answer ("true_programs", "predicted_programs"); by default only `predict`.
    - `program_ways`: a similar mapping for methods that return (B, P) program tokens instead of scores
      ("symbolic"); `clevrhope.dataset.oracle.execute_programs` runs these on the images' true scenes.
    - `begin`: a method without arguments that is called before the first update of a new run, but not when a
      run is resumed or evaluated: for pretrained weights from a file, which is then needed only once.
    - `add_set_layers`: a method without arguments that is called once, after `build`, if questions are about
      sets of images; the model then takes batches with `images`. A model that reads features but lacks this
      method is rejected for such questions.
    - `vocab_rows`: a static method that takes a vocabulary and returns a mapping from names of weights to the
      words or answers that their rows stand for. With it, a run can start from one with another vocabulary.
    - `rehearses`: False if no batch of a stage can be tried before the run begins, for instance because it
      needs what an earlier stage left in a buffer.
    - `plan`: a method that takes a batch on the CPU and returns what an update needs to know of its numbers
      there, such as the longest question. It is called one batch ahead, in another thread, and the result is
      the `plan` of the batch that the losses and ways take. An update that reads such numbers from a GPU
      waits for it. Features of the batch are read from their files where they are used.
    - `is_static`: True if the losses of every batch of a given size need the same operations on tensors of
      the same shapes. Training then records an update on a GPU and replays it, which takes a fraction of the
      time if the operations are many and small. The losses may read the batch's tensors, the weights and
      buffers, and torch's generator, and nothing else: no `plan`, and no number that changes on the CPU, such
      as a counter or one from `random`. State has to be updated in place
      (`self.average.mul_(0.9).add_(...)`).
    - `stack_losses`: a mapping from the name of a loss to the method that computes it for a stack of models
      (`clevrhope.models.stack`), for models that can be trained together with others of their kind. The
      method takes a batch, in which the questions of each model are consecutive, with the plan of
      `stack_plan`, and one torch.Generator per model, the only source from which it may draw. It returns (M,)
      losses, each of which depends only on its own model's weights and questions.
    - `stack_plan`: as `plan`, for such a batch.
    - `log_values`: a method without arguments that returns a mapping from names to scalar tensors, for the
      log.
    """

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        """Builds a new model, with weights drawn from torch's generator.

        Args:
            config: settings by name; each setting has a default.
            vocab: the dataset's words, program tokens and answers.

        Raises:
            ConfigError: a name is unknown, or a value is invalid.
        """

    def loss(self, batch: Batch) -> Tensor:
        """The loss of a batch, a scalar. A stage may name another method with this signature."""

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores, one for each answer of vocab.json by its index; the highest is the model's answer.

        A row that contains a NaN is not an answer, and counts as wrong.
        """


def answer_methods(model: object) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """A model's `ways` and `program_ways`, including their defaults."""
    return getattr(model, "ways", {"predict": "predict"}), getattr(model, "program_ways", {})
