"""The words that replies are read by; everything else in a reply means nothing to the reader."""

from collections.abc import Mapping


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


YES = _list("yes yeah yep yup true correct affirmative indeed")
NO = _list("no nope nah false incorrect negative")
ABROAD: Mapping[str, str] = {
    **dict.fromkeys(_list("\u662f \u662f\u7684 \u6709 \u5bf9 s\u00ed oui ja sim \u0434\u0430"), "yes"),
    **dict.fromkeys(_list("\u5426 \u4e0d \u4e0d\u662f \u6ca1\u6709 non nein n\u00e3o \u043d\u0435\u0442"), "no"),
}
"""Yes and no in Chinese, Spanish, French, German, Portuguese and Russian."""
ALWAYS_YES = _list("yes yeah yep yup")
BEFORE_CLAUSE = _list("there it they that this i the not its it's")
"""Before these, "no" is an answer and not "no cube"."""

NOTHING = _list("none nothing nobody")
DENIALS = (*_list("not never neither nor no without cannot"), *NOTHING)
HEDGES = _list("might may could maybe perhaps possibly if whether would")

NUMBERS = _list("zero one two three four five six seven eight nine ten")
LARGER = _list("eleven twelve thirteen fourteen fifteen twenty dozen hundred")
BEFORE_COUNTED = _list("other others more such separate different are is")

FORMS: Mapping[str, tuple[str, ...]] = {
    "large": ("huge",),
    "small": ("little",),
    "gray": ("grey",),
    "rubber": ("rubbery",),
    "cube": ("cubic", "cubical", "box"),
    "sphere": ("spherical",),
    "cylinder": ("cylindrical",),
    "1": ("single",),
    "left": ("leftmost",),
    "right": ("rightmost",),
}
"""Answer -> what replies say for it beside the words that CLEVR has."""
OTHER_VALUES: Mapping[str, tuple[str, ...]] = {
    "size": ("medium",),
    "color": _list("orange pink black white teal turquoise violet silver gold golden"),
    "material": _list("plastic wood wooden glass stone"),
    "shape": _list("cone pyramid prism torus"),
}
"""Values that a world may not have: "red or orange" is not red."""
NOUNS = dict.fromkeys(_list("thing things object objects item items"), "object")
NOUNS |= dict.fromkeys(_list("image images picture pictures photo photos"), "image")

DETERMINERS = _list("the a an another other this that only any two three")
BEFORE_LANDMARK = _list("behind than to in from near beside by between with")
BEFORE_OF = _list("left right front side back")
SIDES = frozenset(("behind", *BEFORE_OF))

COMPARISONS: Mapping[str, str] = {
    **dict.fromkeys(_list("same equal identical equally"), "same"),
    **dict.fromkeys(_list("different differ differs unequal bigger larger smaller"), "different"),
    **dict.fromkeys(_list("more greater outnumber outnumbers"), "more"),
    **dict.fromkeys(_list("fewer less"), "fewer"),
}
KINDS = _list("size color shape material")
VERBS = _list("is are do does has have was were contain contains")
BARE = (*_list("it they them both there that this these i he she sure indeed really say would so believe think certainly"), *VERBS)
"""The words of a statement that says no more than yes or no: "they are"."""
SAYING = (*VERBS, *_list("there's see a an"))
"""What a statement that there is something has."""
OF_NOTHING = (*NOUNS, *_list("any such like exist exists appear appears seem seems probably the case be to can see look looks like spot find"))
"""What a statement without a subject of its own may have: "there isn't any", "no such thing"."""

NO_TYPOS = _list(
    "there these seen sheen serve shall smell smaller smallest larger largest mental matter matters blocked tree pure thins"
)
"""English words that are one letter away from an answer."""
