"""The words that the reader of replies understands; others have no meaning to it."""


def _list(words: str, *more: str) -> tuple[str, ...]:
    return (*words.split(), *more)


def _table(rows: str) -> dict[str, tuple[str, ...]]:
    """The rows of a text, keyed by their first words."""
    return {row.split()[0]: _list(row)[1:] for row in rows.split(",")}


def _meanings(rows: str) -> dict[str, str]:
    """Maps each further word of a row to the row's first word."""
    return {word: first for first, words in _table(rows).items() for word in words}


def _phrases(rows: str) -> dict[str, str]:
    """Maps the phrases in each row, after its first word, to that word."""
    table = (row.partition(" ") for row in rows.split(","))
    return {phrase: first for first, _, phrases in table for phrase in phrases.split("|")}


YES = _list("yes yeah yea yep yup ye yh ya yah yess true correct affirmative indeed")
NO = _list("no nope nah nay false incorrect negative")
AGREEING = _list("true correct indeed affirmative")
"""Words of agreement, which say nothing themselves before a clause: "indeed, there is no red cube"."""
ABROAD = _meanings(
    "yes \u662f \u662f\u7684 \u6709 \u5bf9 s\u00ed oui ja sim \u0434\u0430,"
    "no \u5426 \u4e0d \u4e0d\u662f \u6ca1\u6709 non nein n\u00e3o \u043d\u0435\u0442"
)
"""Yes and no in Chinese, Spanish, French, German, Portuguese and Russian."""
ALWAYS_ALONE = _list("yes yeah yea yep yup ye yh ya nope nah")
BEFORE_CLAUSE = _list("nothing none theres there's there it they that this i the not its it's")
"""Before these words, "no" is an answer, and not part of a phrase such as "no cube"."""

ALONE = _phrases(
    "yes right|of course|absolutely|definitely|certainly|exactly|undeniably|sure|sure thing|y|aye|present"
    "|it exists|probably|most probably|likely|most likely|very likely,"
    "no no way|by no means|opposite|the opposite|quite the opposite|n|wrong|absent|missing|unlikely"
    "|very unlikely|i doubt it|hardly|far from it"
)
"""Statements that mean yes or no as a whole."""
SIGNS = _meanings(
    "yes \u2705 \u2714 \u2713 \u2611 \U0001f44d \U0001f4af,"
    "no \u274c \u2717 \u2718 \u2716 \u274e \U0001f44e \U0001f6ab,"
    "red \U0001f534 \U0001f7e5, yellow \U0001f7e1 \U0001f7e8, green \U0001f7e2 \U0001f7e9,"
    "blue \U0001f535 \U0001f7e6, purple \U0001f7e3 \U0001f7ea, brown \U0001f7e4 \U0001f7eb"
)
"""Replies that are a single sign."""

ABSENT = _list("missing absent lacking nonexistent nowhere unrepresented empty gone omitted excluded removed")
OF_STATE = _list("been : is are was were be isn't aren't wasn't seems appears")
NOTHING = _list("none nothing nobody")
DENIALS = _list("not never neither nor no without cannot", *NOTHING)
DENYING = _list(
    "doubt doubts doubtful deny denies untrue false wrong incorrect inaccurate lie myth lack shortage dearth"
    " scarcity lacking fail fails failed misses omit omits exclude excludes rule rules reject dispute forgot"
    " forgets refute denying disagree mistake mistaken absence hardly barely scarcely unlikely improbable"
    " implausible"
)
"""Words that deny what follows them, like "not"."""
EXCLUDING = _list("rule rules exclude excludes unlikely improbable implausible")
"""Such words whose own denial asserts nothing: "I cannot rule out a red cube"."""
TURNING = _list("true case say claim correct accurate", *DENYING)
"""Words after which a statement begins that is asserted or denied, such as "it is not the case that"."""
BEFORE_CLAIM = _list("that any of out to show there there's is are was : , say be include contain")
HEDGES = _list(
    "might may could maybe perhaps possibly if whether would question asks need must should let find"
    " check wanted asking"
)
"""Words of statements that are uncertain, or that name something still to be determined."""

NUMBERS = _list("zero one two three four five six seven eight nine ten")
NUMBER = rf"(?:\d+|{'|'.join(NUMBERS)})"
"""A pattern for a number in words or digits."""
LARGER = _list("eleven twelve thirteen fourteen fifteen twenty dozen hundred")
BEFORE_COUNTED = _list("other others more such separate different are is")
"""Words that may stand between a number and the objects it counts."""

FORMS = _table(
    "large huge, small little, gray grey, rubber rubbery, blue blu, cube cubic cubical box, sphere spherical,"
    "cylinder cylindrical, 1 single, left leftmost, right rightmost"
)
"""Answer -> words that replies use for it in addition to CLEVR's."""
SYNONYMS = _table(
    "large giant enormous massive lg lrg, small mini miniature petite minuscule sm sml smol smoll,"
    "metal glossy reflective polished steel brass iron aluminum chromed, rubber dull nonshiny,"
    "cube cuboid square qube, sphere orb globe round, cylinder tube pillar barrel cyl drum pipe, cyan cian"
)
"""Like `FORMS`, but too much like other words to be looked for in misspelt ones."""
OTHER_VALUES = _table("size medium, material plastic wood wooden glass stone, shape cone pyramid prism torus")
"""Values that a world may lack: "red or orange" is not red."""
NOUNS = _meanings(
    "object thing things object objects item items, image image images picture pictures photo photos"
)

ORDINALS = _list("second third fourth fifth")
DETERMINERS = _list("the a an another other this that only any two three")
BEFORE_ONE = _list("the this that other another which see is there's only just than each every")
"""Words before a "one" that is not one of two."""
BEFORE_LANDMARK = _list(
    "except matching sharing resembling behind than to in from near beside by between with"
)
BEFORE_OF = _list("left right front side back")
BEFORE_PLACE = _list(
    "to on in at the its just directly immediately located sitting placed positioned standing sits stands"
)
OPPOSITE_SIDES = {"left": "right", "right": "left", "front": "behind", "behind": "front"}
SIDES = frozenset(("behind", *BEFORE_OF))

COMPARISONS = _meanings(
    "same same share shares sharing shared match matches matching equal equals equally identical alike tie"
    " tied,"
    "different different differ differs diff difference unequal distinct mismatch unlike bigger larger"
    " smaller,"
    "more more greater outnumber outnumbers, fewer fewer less"
)
COMPARISONS_OF_NUMBERS = COMPARISONS | _meanings(
    "more bigger larger higher exceed exceeds exceeding surpass surpasses win wins majority outweigh beat"
    " beats,"
    "fewer smaller lower minority outnumbered"
)
OUTNUMBERING = _list("outnumber outnumbers exceed exceeds exceeding surpass surpasses beat beats outweigh")
"""Verbs whose subject is more than their object."""
OF_SIZE = _list("bigger larger smaller")
OF_NUMBER = _list("number count amount numbers counts total of the a in are is there")
"""Words between a comparison and the objects that it is said of."""
OF_OTHERS = _list("other others another else")
KINDS = _list("size color shape material")

ALIKE = _list("so too like likewise also well as")
"""Words that say that what is said of one object holds for another."""

VERBS = _list("is are do does has have was were contain contains")
BARE = _list(
    "it they them both there that this these here i we you would will won could can say so believe"
    " think sure indeed guess suppose looks seems seem appears appear like most very see found spot"
    " notice afraid certain confident positive regret chances am had must",
    *VERBS,
)
"""The words of a statement that says only yes or no, such as "they are"."""
SAYING = _list("there's see a an present visible", *VERBS)
"""Words that show that a statement asserts existence."""
NO_ADVERBS = _list("only hardly barely scarcely unlikely formerly supposedly allegedly seemingly reportedly")
OF_PREDICATE = _list("is are made a an all both also , of which them only just")
"""Words between objects and what is said of them, as in "two cubes, only one of which is red"."""
OF_MATCHES = frozenset(_list("match matches fit fits satisfy satisfies meet meets such"))
OF_NOTHING = _list(
    "any like exist exists appear seem the case be to can see look spot find one ones at all quite here"
    " single even a present visible found seen of course same in anywhere anything anymore sort kind"
    " description criteria both condition conditions scene scenes view sight far",
    *NOUNS,
    *OF_OTHERS,
    *OF_MATCHES,
)
"""Words of a statement without a subject of its own, such as "there isn't any" or "no such thing"."""

OBJECTS = _list("just only exactly it some few several", *NUMBERS)
"""The words of a statement that says that there are objects, such as "there are two"."""
OF_NO_LIKENESS = _list("at all quite the case same true of course so not be match")
"""Words of a statement that denies a likeness: "not at all", "they aren't the same"."""

OF_OPENING = _list(
    "there's complete be to any an a the it's i'm i've that's out case by no image picture scene photo",
    *BARE,
)
"""Further words of an opening that denies or doubts what follows."""
PLAIN = _list(
    "there here these it it's they their i i'm you we me be can not isn't by near next with within"
    " between beside edge edges corner center centre middle top bottom upper lower foreground background"
    " toward towards from among around along close lying hidden partly though overlapping visible"
    " present seen shown shows show depicted pictured found included exists exist appears appear spot"
    " notice identify make out look looking and believe think confident sure indeed same as so too well"
    " most least several some many multiple few more allbut everything sizes colors shapes materials"
    " finish surface colored shadow perspective viewer's camera namely one ones share shares sharing"
    " similar description criteria include includes pretty quite very far over rear tall occluded"
    " obscured blocked leftmost rightmost smaller larger taller find who up down under above below"
    " alongside adjacent amongst against touching resting rests floor ground table area part frame group"
    " row half first containing including depicts features displays detect observe spotted closest"
    " nearest closer farther further your my whose facing single number nice lovely beautiful cute neat"
    " cool gorgeous",
    *OF_PREDICATE,
    *VERBS,
    *BEFORE_PLACE,
    *BEFORE_ONE,
    *SIDES,
    *OF_OTHERS,
    *OF_MATCHES,
    *KINDS,
)
"""Words that leave a statement that something exists as it is; with any other, it is not read as yes."""

NO_TYPOS = _list(
    "there these seen sheen serve shall smell smaller smallest larger largest mental teen matter matters"
    " blocked"
)
"""English words that look like misspelt answers."""
