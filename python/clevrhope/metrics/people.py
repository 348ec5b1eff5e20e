"""What several people answered to the same questions: their majority, and how far they agree."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

AMBIGUOUS = "ambiguous"
"""The answer of somebody who cannot say: the question or the image allows several answers, or none."""


@dataclass(frozen=True)
class Agreement:
    """How far people agree.

    Attributes:
        n_people: the number of people who answered.
        n_answers: the number of their answers.
        n_ambiguous: how many of these are `AMBIGUOUS`.
        n_undecided: the number of questions without a majority.
        alpha: Krippendorff's alpha; None if no question has two answers, or all answers are the same.
    """

    n_people: int
    n_answers: int
    n_ambiguous: int
    n_undecided: int
    alpha: float | None


def majority(answers: Sequence[str]) -> str | None:
    """The answer that more people gave than any other; None if there is no such answer."""
    (first, n_first), *others = Counter(answers).most_common(2)
    return None if others and others[0][1] == n_first else first


def majorities(by_person: Mapping[str, Mapping[str, str]]) -> tuple[Mapping[str, str], Agreement | None]:
    """The replies that count, by question, and how far people agree; None for the replies of one.

    Args:
        by_person: each person's replies by question. A question without a majority gets an empty reply.
    """
    if len(by_person) < 2:
        return next(iter(by_person.values()), {}), None
    answers: dict[str, list[str]] = {}
    for replies in by_person.values():
        for question, reply in replies.items():
            answers.setdefault(question, []).append(reply)
    decided = {question: majority(of_one) or "" for question, of_one in answers.items()}
    return decided, agreement(answers, n_people=len(by_person))


def agreement(answers: Mapping[str, Sequence[str]], *, n_people: int) -> Agreement:
    """How far people agree on questions.

    Args:
        answers: each question's answers, at least one.
        n_people: the number of people who gave them.
    """
    given = [answer for of_one in answers.values() for answer in of_one]
    return Agreement(
        n_people,
        len(given),
        given.count(AMBIGUOUS),
        sum(majority(of_one) is None for of_one in answers.values()),
        krippendorff_alpha(list(answers.values())),
    )


def krippendorff_alpha(units: Sequence[Sequence[str]]) -> float | None:
    """Krippendorff's alpha for answers that are equal or not: 1 for full agreement, 0 for that of chance.

    Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". A unit with m answers counts its
    pairs of answers with a weight of 1 / (m - 1); units with fewer than two answers do not count.

    Args:
        units: the answers to each question; people may have left out questions.

    Returns:
        None where it is not defined: no two people answered one question, or there is only one answer.
    """
    pairable = [Counter(unit) for unit in units if len(unit) > 1]
    totals: Counter[str] = sum(pairable, Counter())
    n = totals.total()
    observed = 0.0
    for counts in pairable:
        m = counts.total()
        observed += (m * m - sum(count * count for count in counts.values())) / (m - 1)
    expected = (n * n - sum(count * count for count in totals.values())) / (n - 1) if n else 0.0
    return 1 - observed / expected if expected else None
