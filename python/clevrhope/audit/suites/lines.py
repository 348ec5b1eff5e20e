"""The lines of the audit's report that the checks of suites fill in."""

from dataclasses import dataclass, fields

from clevrhope.audit.report import Check


@dataclass(frozen=True)
class PairLines:
    """One line for each property that is proved of pairs."""

    pairs: Check
    programs: Check
    answers: Check
    mentions: Check
    texts: Check
    balance: Check
    foils: Check
    files: Check
    added: Check
    images: Check

    def all(self) -> list[Check]:
        """The lines in the report's order."""
        return [getattr(self, each.name) for each in fields(self)]


def pair_lines() -> PairLines:
    """Lines for which nothing has been checked yet."""
    return PairLines(
        Check(
            "pairs",
            "every pair has a question of its split, the same in every array, or one that was searched for "
            "on an image of it, each once; and one that the suite made of it about the same image, in a "
            "family that the test makes; vocabularies keep the dataset's numbers",
            "pairs",
        ),
        Check(
            "pair programs",
            "every program of a pair, executed again, gives the stored answer and needs the stored "
            "relations; lengths and padding fit its tokens",
            "questions",
        ),
        Check(
            "pair answers",
            "the answers of each pair go together as its relation says; the answer to a choice is one of the "
            "values offered",
            "pairs",
        ),
        Check(
            "pair mentions",
            "`cell` and `touches` say whether questions mention, the image shows and an answer completes "
            "what is held out; no question that was made breaks the rule of its split, in program or words",
            "pairs",
        ),
        Check(
            "pair texts",
            "each text that a suite made, parsed back through the templates, means its program, family and "
            "answer, and differs from its original's",
            "questions",
        ),
        Check(
            "pair balance",
            "where partners ask for the answer or another value, each value is asked for with yes as often "
            "as with no, in each test, for each type of answer, with and without a mention in the original",
            "pairs",
        ),
        Check(
            "pair foils",
            "crossings ask for the value that completes what is held out, with what the original says of its "
            "object; controls beside them for another one; groups for every value of a type, of which one is "
            "right; and pairs have the cells that their test takes",
            "pairs",
        ),
        Check("pair files", "HDF5, JSON and scene files agree on every question of a pair", "questions"),
        Check(
            "added questions",
            "a train set with questions of a suite has all questions of its train set, the same in every "
            "array, and after every ten of them one whose original is among those before it",
            "questions",
        ),
        Check(
            "pair images",
            "every edited image and its scene are those of the split's image with the edit that is recorded: "
            "foreground and background, objects, places and what is seen of them; names are unique",
            "images",
        ),
    )
