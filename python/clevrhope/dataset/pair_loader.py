"""Loads the pairs of a suite of paired tests for a loop that collects models' answers."""

from typing import TYPE_CHECKING, Any

from clevrhope.dataset.card import Cards
from clevrhope.dataset.item_sequence import ItemSequence
from clevrhope.dataset.pairs_h5 import RELATIONS, TIERS, PairFile
from clevrhope.dataset.torch_dataset import restored

if TYPE_CHECKING:
    from clevrhope.dataset.loader import Item, Split


class Pairs(ItemSequence):
    """The K pairs of a suite on a split, by number, as returned by `load(..., suite=...)`.

    Item k is a dictionary:

    | key        | value                                                                             |
    |------------|-----------------------------------------------------------------------------------|
    | original   | a dictionary as in `Split`; its question_index is the row in the suite's file     |
    | partner    | a dictionary of the same form for the partner                                     |
    | relation   | "same", "flip", "is" or "positive": how the partner's answer follows              |
    | value      | int, of "is": the number of the original's answer that makes it yes; otherwise -1 |
    | test       | name of the test                                                                  |
    | type       | the type of question, by which scores are grouped; "" for none                    |
    | tier       | "in" or "beyond" the dataset's own words and functions                            |
    | cell       | "10" if the original mentions the held-out pair and the partner does not          |
    | pair_index | int, the pair's place in the suite's file: k itself, unless this is a slice       |

    `original` and `partner` also have `original_index`, the question's row in the split's own file, or -1 for
    a question that the suite made.

    A slice, such as `[10:20]`, is again a `Pairs`.

    A `Pairs` pickles without open files and can be forked. It is a torch Dataset if torch is installed.
    """

    _unit = "pair"

    def __init__(self, questions: "Split", pairs: PairFile, *, sha256: str) -> None:
        self.suite, self.hop, self.split, self.pool = pairs.suite, pairs.hop, pairs.split, pairs.pool
        """The names of the suite, of the HOP, of the split, and of the pool in which `image_index` counts."""
        self.vocab = questions.vocab
        """The meaning of the numbers in the items; a suite's vocabulary keeps the dataset's numbers."""
        self.sha256 = sha256
        """SHA-256 of the suite's file, for the column `suite_sha256` of predictions."""
        self._questions = questions
        self._rows = range(len(questions) // 2)
        self._tests, self._types = pairs.tests, pairs.types
        rows = pairs.rows
        # Copy the columns so that the memory of the tokens can be freed.
        self._test, self._tier = rows.test[::2].copy(), rows.tier[::2].copy()
        self._cell, self._relation = rows.cell[::2].copy(), rows.relation[::2].copy()
        self._value, self._original_idxs = rows.value[::2].copy(), rows.orig_idxs.copy()

    def _item(self, k: int) -> "Item":
        sides = {
            role: {**self._questions[row], "original_index": int(self._original_idxs[row])}
            for role, row in (("original", 2 * k), ("partner", 2 * k + 1))
        }
        test, cell = int(self._test[k]), int(self._cell[k])
        return {
            **sides,
            "relation": RELATIONS[int(self._relation[k])],
            "value": int(self._value[k]),
            "test": self._tests[test],
            "type": self._types[test],
            "tier": TIERS[int(self._tier[k])],
            "cell": f"{cell:02b}",
            "pair_index": k,
        }

    def show(self, number: int) -> Cards:
        """Both questions of a pair with image, text, program and answer, for a notebook.

        Raises:
            IndexError: there is no pair with this number.
        """
        k = self._row(number)
        return Cards(self._questions.show(row) for row in (2 * k, 2 * k + 1))

    def __repr__(self) -> str:
        images = "with" if self._questions.rendered else "without"
        return f"<{len(self):,} pairs of {self.suite} on {self.hop}/{self.split}, {images} images>"

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (Pairs, self.__dict__)
