"""The measures of each kind of question: a new measure is one row of a table here.

D are the originals of pairs of questions and D' their partners. Sources: Jimenez et al., "CARETS", for ACC,
CONS and C-ACC; Rosenberg et al., "Are VQA Systems RAD?", section 2.1, for RAD.
"""

from collections.abc import Mapping

import numpy as np

from clevrhope.metrics.bootstrap import Floats, ratio
from clevrhope.metrics.shares import Kind, Measures, difference, share

ACCURACY: Measures = {"accuracy": Kind("accuracy", share("right", "given"))}
"""Of test sets and of COVR's: right answers among the questions that were answered."""

MINIMAL_GROUPS: Measures = {
    # A constant answer has 0, a coin 1 in 16 for four images.
    "group_accuracy": Kind("whole groups right", share("group_right", "group_given")),
    # Groups of minimal_iid at places where one image shows the held-out pair, which is left out.
    "smaller_group_accuracy": Kind(
        "smaller groups right", share("smaller_group_right", "smaller_group_given")
    ),
}
"""Of minimal sets: groups of which all answers are right (`splits.minimal_groups`)."""

_RAD, _PARTNER = share("both", "original"), share("partner", "pairs")

PAIRS: Measures = {
    # The share of right answers over originals and partners together.
    "accuracy": Kind("ACC", lambda s: (ratio(s["original"] + s["partner"], 2 * s["pairs"]), 2 * s["pairs"])),
    "original_accuracy": Kind("Acc(D)", share("original", "pairs")),
    "partner_accuracy": Kind("Acc(D')", _PARTNER),
    # SAME pairs with equal answers and other pairs with different ones. It does not use the right answers. If
    # the partner is a yes/no question and the original is not, nearly all answers differ. Never shown without
    # accuracy.
    "consistency": Kind("CONS", share("consistent", "pairs")),
    # Pairs whose answers satisfy the relation and are of the kinds asked for, without the right answers. For
    # yes/no pairs, SAME or FLIP, it is 1 - 2 (ACC - C-ACC) minus the share of pairs in which neither answer
    # is right and one of them is neither yes nor no. Consistency is not accuracy: a model that mistakes one
    # material for another can be fully consistent and often wrong.
    "strict_consistency": Kind("strict", share("strict", "pairs")),
    "both_right": Kind("C-ACC", share("both", "pairs")),
    # RAD(D, D'): of the pairs with the original right, those with the partner right too: C-ACC / Accuracy(D).
    # If the two are right independently of each other, it is Accuracy(D').
    "rad": Kind("RAD", _RAD),
    # RAD(D', D): of the pairs with the partner right, those with the original right too.
    "rad_backward": Kind("RAD back", share("both", "partner")),
    "rad_minus_accuracy": Kind("RAD-Acc(D')", difference(_RAD, _PARTNER), signed=True),
}
"""Of pairs with both questions answered (`pairs.outcomes`)."""

_CROSSING, _CONTROL = share("crossing", "originals"), share("control", "originals")

CROSSINGS: Measures = {
    "crossing": Kind("completing", _CROSSING),
    "control": Kind("control", _CONTROL),
    # Below 0, the model says yes to the held-out pair more often.
    "difference": Kind("difference", difference(_CROSSING, _CONTROL), signed=True),
}
"""Accuracy on the partners whose foil completes the held-out pair, and on those of the same originals whose
foil does not; only originals with both answered count."""

GROUPS: Measures = {
    "one_yes": Kind("one yes", share("one_yes", "groups")),
    "named_yes": Kind("named", share("named_yes", "groups")),
}
"""Of groups with a partner for every value of an attribute, those in which exactly one partner got yes, and
those in which its value is also the model's own answer to the original."""

REPLIES: Measures = {
    "yes": Kind("yes", share("yes", "asked")),
    "no": Kind("no", share("no", "asked")),
    "other": Kind("other", share("other", "asked")),
    "right_yes": Kind("yes is right", share("right_yes", "asked")),
}
"""Of the answers to questions for yes or no; the last is the share of these to which yes is right."""

JOINED: Measures = {
    **{name: PAIRS[name] for name in ("accuracy", "consistency", "both_right")},
    **{name: REPLIES[name] for name in ("yes", "no", "other")},
}
"""Of pairs whose questions join two descriptions by and, or by or (CARETS, table 3)."""

_TEXT, _HELD_OUT, _IID_SIZE = (share(model, "questions") for model in ("text", "held_out", "iid_size"))


def _generalisation(sums: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    (text, n), (model, _), (iid_size, _) = _TEXT(sums), _HELD_OUT(sums), _IID_SIZE(sums)
    return ratio(model - text, iid_size - text), n


GENERALISATION: Measures = {
    "text": Kind("text", _TEXT),
    "held_out": Kind("model", _HELD_OUT),
    "iid_size": Kind("iid-size", _IID_SIZE),
    # Undefined unless iid_size is above text, that is, unless images help. Bogin et al. 2021, whose plots
    # clip it to 0 to 100. It is not clipped here: it is negative if the model does worse than a text-only
    # model, and over 100 if it does better than a model trained on as many questions drawn with the property.
    "score": Kind("generalisation score", _generalisation, is_share=False),
}
"""Of questions with a property, for a model trained without it ("held_out"), a text-only model, and a model
trained on as many questions drawn with the property. The score is the share of the gain from training on the
property that the model reaches without it."""

GENERALISATION_SCORES: Mapping[str, str] = {
    "generalisation_score": "text",
    "score_over_held_out_text": "held_out_text",
}
"""Each score -> its text-only model. COVR's is trained on all questions: in its tables 7 and 8, VB_TEXT are
means over templates of VB_TEXT in table 12, which is of the split with nothing held out. The other one, which
is this project's, is trained on the same questions as the model."""

_UNSEEN, _SEEN = share("unseen", "episodes"), share("seen", "episodes")
_KNOWN_UNSEEN, _KNOWN_SEEN = share("known_unseen", "known_episodes"), share("known_seen", "known_episodes")


def _half_width(sums: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Half of the gap's 95% interval: 1.96 SE, with the differences of a group of matched scenes summed.

    If groups were single episodes, of which b and c are right in one condition only, SE would be
    sqrt((b + c) / n^2 - gap^2 / n). Undefined for one group alone and where all groups have one difference,
    which do not tell how much groups differ.
    """
    n = sums["episodes"]
    gap = _UNSEEN(sums)[0] - _SEEN(sums)[0]
    squares = sums["squares"] - 2 * gap * sums["products"] + gap**2 * sums["squared_sizes"]
    differ = (sums["squared_sizes"] < n**2) & (squares > 1e-9)
    return np.where(differ, 1.96 * ratio(np.sqrt(np.maximum(squares, 0)), n), np.nan), n


def _chance(sums: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    return ratio(sums["sixths"], 6 * sums["episodes"]), sums["episodes"]


def _noise_gap(sums: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """The gap of a learner as often right on `seen` that composes, but loses words to one misperceived image.

    It needs u images in `unseen` and s in `seen`, and guesses otherwise; with p the share that it knows in
    `seen`, it knows p^(u / s) in `unseen`. Undefined for questions of several levels of chance.
    """
    chance, n = _chance(sums)
    known = np.maximum(ratio(_SEEN(sums)[0] - chance, 1 - chance), 0)
    gap = (1 - chance) * (known ** ratio(sums["images_unseen"], sums["images_seen"]) - known)
    is_one_level = np.isclose(sums["squared_sixths"] * n, sums["sixths"] ** 2)
    return np.where(is_one_level, gap, np.nan), n


_BY_CONDITION: Mapping[str, str] = {
    "words": "single words",
    "real": "real words",
    "text": "without images",
    "bare": "without support",
    "told": "told which words are for which attribute",
    "group": "whole groups right",
    "yes": "answered yes",
    "unread": "not read",
}

NONCE: Measures = {
    "unseen": Kind("unseen", _UNSEEN),
    "seen": Kind("seen", _SEEN),
    "gap": Kind("gap, unseen minus seen", difference(_UNSEEN, _SEEN), signed=True),
    "half_width": Kind("half-width of the gap by its formula", _half_width, is_share=False),
    "noise_gap": Kind("gap by noise in images alone", _noise_gap, signed=True, is_share=False),
    "chance": Kind("chance", _chance),
    "known": Kind("episodes with known words", share("known", "probed")),
    "known_unseen": Kind("  of these unseen", _KNOWN_UNSEEN),
    "known_seen": Kind("  of these seen", _KNOWN_SEEN),
    "known_gap": Kind("  their gap", difference(_KNOWN_UNSEEN, _KNOWN_SEEN), signed=True),
    **{
        f"{name}_{side}": Kind(f"{text}, {side}", share(f"{name}_{side}", f"{name}_{side}_of"))
        for name, text in _BY_CONDITION.items()
        for side in ("unseen", "seen")
    },
}
"""Of episodes with nonce words that are answered in both conditions, and of their controls (`metrics.nonce`).

A word is known if all of its probes are right, so an episode's words are if all eight of both conditions are:
by chance in 1 of 256."""
