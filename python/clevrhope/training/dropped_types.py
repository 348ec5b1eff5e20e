"""Train sets without a share of their questions of some types.

Source: Rosenberg et al., "Are VQA Systems RAD?", section 4, whose instances of a model differ in how many
training questions of one type they have not seen.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError, shown
from clevrhope.runtime.settings import suggestion
from clevrhope.training.order import derived_seed

QUERY = "query_"
"""A question whose program ends with query_color is of the type color; any other, of its last function's."""

_END = 1
"""Where the last function of a program is in its row: programs are in prefix order, after <START>."""


def type_of(function: str) -> str:
    """The type of questions whose programs end with a function: color for query_color, count for count."""
    return function.removeprefix(QUERY)


def kept_rows(
    programs: Ints, drops: Mapping[str, float], *, seed: int, vocab: Vocab
) -> npt.NDArray[np.int64]:
    """The rows of a train set that stay, in their order.

    A row's draw follows from the seed and the row's place alone. So the rows that stay of a smaller train set
    are the first ones of those of a larger set, and what a smaller share drops, a larger one drops too.

    Args:
        programs: (N, P) tokens.
        drops: type -> share of its questions to drop.
        seed: of the run.
        vocab: whose numbers the programs have.

    Raises:
        ConfigError: no question is of a type, or none stays.
    """
    ends = programs[:, _END]
    types = np.asarray([type_of(name) for name in vocab.programs()])[ends]
    there = sorted(set(types.tolist()))
    draws = np.random.PCG64(derived_seed(seed, "drop-type")).random_raw(len(programs)) / 2.0**64
    stays = np.ones(len(programs), dtype=bool)
    for name, share in drops.items():
        if name not in there:
            raise ConfigError(
                f"--drop-type: no question of the train set is of the type {shown(name)}"
                f"{suggestion(name, there)}; there are: {', '.join(there)}"
            )
        stays &= (types != name) | (draws >= share)
    if not stays.any():
        raise ConfigError("--drop-type: no question of the train set is left; drop less")
    return np.flatnonzero(stays)
