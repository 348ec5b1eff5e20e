"""The files of episodes with nonce words: one for each condition, whose rows are the same queries."""

from clevrhope.splits.nonce.supports import CONDITIONS

_PREFIX = "nonce_"

NONCE_SPLITS = tuple(f"{_PREFIX}{condition}" for condition in CONDITIONS)
"""The names of the conditions as splits."""

NONCE_CAPTIONS = {
    NONCE_SPLITS[0]: "Images teach new words; no image shows the pair that the question is about",
    NONCE_SPLITS[1]: "The same questions; two images have swapped objects, and show the pair",
}
"""What a reader should look for in either."""

SCENES, OBJECTS = "nonce_scenes", "nonce_objects"
"""The pool of query scenes, and that of the support's one-object scenes."""

STATEMENT_WIDTH = 8
"""Tokens of the longest statement: <START> this is a large red thing <END>."""

TEST = "none"
"""In place of a control: the test itself."""

CONTROLS = (TEST, "words", "real", "text", "bare", "told")
"""Ways of asking about the same episodes: the test; single words; in real words; without images; without the
support; and with the types of words told although they are to be found."""

FOUND, TOLD = "found", "told"
"""How a reader learns which attribute a word names: from the images, or from the episode's instructions."""


def is_nonce(split: str) -> bool:
    """Whether a split's questions are those of episodes with nonce words."""
    return split in NONCE_SPLITS


def control_split(condition: str, control: str) -> str:
    """The split of predictions about a control: nonce_seen_real for the control real of nonce_seen."""
    return condition if control == TEST else f"{condition}_{control}"


def condition_and_control(split: str) -> tuple[str, str]:
    """The condition and the control of such a split; the inverse of `control_split`."""
    condition = next((name for name in NONCE_SPLITS if split.startswith(name)), split)
    return condition, split.removeprefix(condition).removeprefix("_") or TEST


def control_problem(split: str, control: str) -> str:
    """What is wrong with the control that predictions about a split name; "" for nothing."""
    condition, of_split = condition_and_control(split)
    if not is_nonce(condition) or control == of_split:
        return ""
    wanted = f'split "{control_split(condition, control)}", or ' if control in CONTROLS else ""
    return f'control is "{control}", but split is "{split}"; expected {wanted}control "{of_split}"'


def nonce_file(split: str) -> str:
    """The name of a condition's file in its folder: seen for nonce_seen."""
    return split.removeprefix(_PREFIX)


def plural(word: str) -> str:
    """The plural of a nonce word."""
    return word + ("es" if word[-1] in "sxz" else "s")
