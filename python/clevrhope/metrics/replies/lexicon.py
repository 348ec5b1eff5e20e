"""The words that the reader of replies understands; others have no meaning to it."""


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


def _table(rows: str) -> dict[str, tuple[str, ...]]:
    """The rows of a text, keyed by their first words."""
    return {row.split()[0]: _list(row)[1:] for row in rows.split(",")}


def _meanings(rows: str) -> dict[str, str]:
    """Maps each further word of a row to the row's first word."""
    return {word: first for first, words in _table(rows).items() for word in words}


YES = _list("yes yeah yep yup true correct affirmative indeed")
NO = _list("no nope nah false incorrect negative")
ABROAD = _meanings(
    "yes \u662f \u662f\u7684 \u6709 \u5bf9 s\u00ed oui ja sim \u0434\u0430,"
    "no \u5426 \u4e0d \u4e0d\u662f \u6ca1\u6709 non nein n\u00e3o \u043d\u0435\u0442"
)
"""Yes and no in Chinese, Spanish, French, German, Portuguese and Russian."""
ALWAYS_YES = _list("yes yeah yep yup")
BEFORE_CLAUSE = _list("there it they that this i the not its it's")
"""Before these words, "no" is an answer, and not part of a phrase such as "no cube"."""

NOTHING = _list("none nothing nobody")
DENIALS = (*_list("not never neither nor no without cannot"), *NOTHING)
HEDGES = _list(
    "might may could maybe perhaps possibly if whether would question asks need must should let looking find"
    " check"
)
"""Words of statements that are uncertain, or that name something still to be determined."""

NUMBERS = _list("zero one two three four five six seven eight nine ten")
LARGER = _list("eleven twelve thirteen fourteen fifteen twenty dozen hundred")
BEFORE_COUNTED = _list("other others more such separate different are is")
"""Words that may stand between a number and the objects it counts."""

FORMS = _table(
    "large huge, small little, gray grey, rubber rubbery, cube cubic cubical box, sphere spherical,"
    "cylinder cylindrical, 1 single, left leftmost, right rightmost"
)
"""Answer -> words that replies use for it in addition to CLEVR's."""
OTHER_VALUES = _table(
    "size medium, color orange pink black white teal turquoise violet silver gold golden,"
    "material plastic wood wooden glass stone, shape cone pyramid prism torus"
)
"""Values that a world may lack: "red or orange" is not red."""
NOUNS = _meanings(
    "object thing things object objects item items, image image images picture pictures photo photos"
)

DETERMINERS = _list("the a an another other this that only any two three")
BEFORE_LANDMARK = _list("behind than to in from near beside by between with")
BEFORE_OF = _list("left right front side back")
SIDES = frozenset(("behind", *BEFORE_OF))

COMPARISONS = _meanings(
    "same same equal identical equally, different different differ differs unequal bigger larger smaller,"
    "more more greater outnumber outnumbers, fewer fewer less"
)
KINDS = _list("size color shape material")

VERBS = _list("is are do does has have was were contain contains")
BARE = (
    *_list("it they them both there that this these i would say so believe think sure really certainly"),
    *VERBS,
)
"""The words of a statement that says only yes or no, such as "they are"."""
SAYING = (*VERBS, *_list("there's see a an"))
"""Words that show that a statement asserts existence."""
OF_NOTHING = (
    *NOUNS,
    *_list("any such like exist exists appear seem seems probably the case be to can see look spot find"),
)
"""Words of a statement without a subject of its own, such as "there isn't any" or "no such thing"."""

NO_TYPOS = _list(
    "there these seen sheen serve shall smell smaller smallest larger largest mental matter matters blocked"
)
"""English words that look like misspelt answers."""
