"""Phrases that replies use, and the plain ones that the reader knows."""

import re

from clevrhope.replies import lexicon
from clevrhope.replies.colors import BASIC, SHADES

_N = rf"(?:no|{lexicon.NUMBER})"
_COLOR = f"(?:{'|'.join((*BASIC, *SHADES))})"
_UNREAL = r"\b(?:if|had) (?:\w+ ){0,3}(?:were|was|been|had(?! to\b))(?:n't)?\b"
_WRONG = r"(?:(?:the |an? )?(?:wrong|incorrect|false)|not (?:the )?(?:right|correct))"
_VALUE = rf"(?:{_COLOR}|large|big|small|tiny|metal|rubber|cube|sphere|cylinder)"
_SHADE = rf"(?:light|pale|bright|dark|deep|sky|bluish|greenish) (?:shade of |kind of )?{_COLOR}"
_THING = r"(?:things?|objects?|items?|ones?|cubes?|spheres?|cylinders?|blocks?|balls?|boxes)"
_IMAGE = r"(?:(?:the|any|an|your|this) )?(?:image|picture|photo|scene|view)"
_THE_IMAGE = r"(?:the|this|your) (?:image|picture|photo|scene)"
_OF_SIZE = r"(?= (?:size|ones|objects|things|items|(?:one )?of the two sizes)\b)"
_PARTLY = r"(?:partially|partly|mostly|half|slightly|somewhat|almost|a bit|a little)"
_HIDDEN = r"(?:hidden|occluded|obscured|blocked|covered|cut off|hard to see)"
_SEE = r"(?:see|find|spot|notice|make out|count)"
_MATCH = r"(?:match(?:es)?|equals?)"
_HUE = r"(?:colou?r|shade|tone|hue)"
_KIND = r"(?:colou?rs?|sizes?|shapes?|materials?)"

_REWORDED = {
    # Spelling
    r"\b(do|does|did|is|are|was|were|has|have|ca|could|would)nt\b": r"\1n't",
    r"\b(there|they)(s|re)\b": r"\1'\2",
    r"\bits(?= (?:an?|the|made) )": "it's",
    r"\b3-?d\b": "rendered",
    r"\by(?:e+s{2,}|a+s{2,})\b": "yes",
    r"\bnil\b": "zero",
    rf" (?:in|on|of|within) {_IMAGE}\b(?! \d)": "",
    rf"\b{_THE_IMAGE} (?:does )?(?:has|have|contains?|includes?|shows?|features?)(?= \w)": "there is",
    rf"\b{_THE_IMAGE} (?:does not|doesn't) (?:have|contain|include|show|feature)\b": "there isn't",
    rf"\b(?:there (?:is|are)|i (?:can )?{_SEE}): ?\n": "\n",
    r"\bain'?t\b(?: no\b)?": "isn't",
    r"\b(?:gr[ae]y|light|neutral|plain|white) (?=floor|background)|(?<=floor|round) is \w+": "",
    r"\bleft out\b": "missing",
    rf"\bi (?:can |could )?only (?:can |could )?{_SEE}(?= \w)": "there are only",
    r"((?:^|[.\n] ?))(?:since|because|as) ([^.,;\n]{1,40}? (?:is|are) [^.,;\n]{1,40}?),?"
    r" (?=there (?:is|are|isn't|aren't)\b)": r"\1since \2, ",
    r"((?:in front|behind|left|right)\b[\w ]{1,40}): ?[^.:\n]{1,120}[.\n]+ ?([^.:;\n]{1,60}) among"
    r" (?:them|these|those)\b": r"\2 \1",
    r"\b(?:(?:in|common to) both(?: lists| sets| groups)?|in common|intersection|overlap) ?[:=] ?"
    r"(?:([a-z])\b[.,;\s]*\1(?= is)|(?=(?:the |an? )?\w+(?: \w+)?(?:[.\n]|$)))": "so it is ",
    # What only seems to be so
    r"(?<![^.;,\n])[^.;,\n]*\b(?:looks?|seems?|appears?)\b[^.;,\n]{1,60},? (?:but|yet|however,?)"
    r"(?= (?:it|there|they|is|are|in fact|actually|really)\b)": "",
    r"\bwhat (?:looks|seems|appears) (?:like |to be )?[\w ]{1,40}? (?:is|are)\b(?: in fact)?": "it is",
    rf"{_UNREAL}[^.;\n]{{0,80}}\b(?:would|'d)\b[^.;\n]*?(?=,? (?:but|so)\b|[.;\n]|$)"
    rf"|(?<![^.;,\n])[^.;,\n]*\b(?:would|'d)\b[^.,;\n]*,? {_UNREAL}[^.,;\n]*"
    r"|\b(?:were|had) (?:it|they|there)\b[^.,;\n]{1,40}, (?:yes|no)\b"
    r"|\b(?:some|people|many|others|you|one) (?:might|may|could|would) (?:\w+ )?(?:yes|no)\b"
    r"|\b(?:almost|nearly) (?:a )?(?:yes|no)\b": " ",
    r"(?<=\w), (?:no|right)(?=\?\s*$)": "",
    r"\bno\. ?(?=1\b)([^\n]{1,60}?)\bno\. ?(?=2\b)": r"number \1number ",
    r"(?:\bthe (?:claim|statement|idea|assertion) |(?:^|(?<=[.\n] )))that ([^.,;\n]{1,80}?) is"
    r" (?:false|untrue|wrong|incorrect|not true)\b": r"it is untrue that \1",
    # Openings
    r"((?:^|[.!\n]) *)(?:fun fact|(?:good|bad|great) news|short answer|spoiler|note)\s*[:!,-]": r"\1",
    r" from me\b": "",
    # Agreement that begins with "no", and opinions
    r"\b(?:that|this|which)(?:'s| is) (?:right|correct|true)(?= *(?:[.,!;:\n]|$))": "yes",
    r"\bthat(?:'s| is) the case(?= *(?:[.,!;:\n]|$))": "yes",
    r"\b(?:i (?:\w+ly )?doubt (?:it|that|so)|it(?:'| i)s (?:\w+ly )?unlikely)(?= *(?:[.,!;:\n]|$))": "no",
    r"\b(?:it )?(?:looks|seems) (?:that way|like it)(?= *(?:[.,!;:\n]|$))": "it is",
    r"\b(?:any|some)thing else\b": "any other thing",
    r"\beverything(?! else)\b": "all things",
    r"\b(?:does|do|did)(?: not|n't) (?:seem|appear|look)(?: to be| like)?\b": "isn't",
    r"\b(?:(?:do|does|would) )?(?:seems?|appears?) to be\b": "is",
    r"\b(?:does|would) (seem|appear)\b": r"\1s",
    r"\b(?:no (?:doubt|question)(?: about (?:it|that))?|without (?:an?y? )?(?:doubt|question)"
    r"|beyond (?:an?y? )?doubt|doubtless|undoubtedly|unquestionably|unlikely as it may seem)\b": "certainly",
    r"\bno (?:worries|problem|need to worry)\b": "certainly ",
    r"\b(?:i(?:'d| would)? (?:think|believe|guess|suppose|imagine|say) so"
    r"|it (?:seems|appears|looks) so|(?:it )?looks? like it)\b(?= *(?:[.!,:;\u2014-]|$))": "it is",
    r"\b(?:opposite|reverse) is (?:true|correct)\b|(?:^|(?<=no[,.] )|(?<=ly ))(?:it's |it is )?"
    r"the (?:other way a?round\b|(?:opposite|reverse)(?=\W*$))"
    r"|\bon the contrary\b": "opposite",
    r"\bthere (?:exists?|happens? to be)\b": "there is",
    # Denial and absence
    rf"\bnowhere ((?:[\w ]{{1,60}}? )??)(?:can|is|are|do)(?: (?:i|you|we|there))?(?: {_SEE})? (?:an?|any)"
    r" ([\w ]{1,40}?)(?: (?:to )?be (?:seen|found)| visible| present)?(?=[.,;\n]|$)": r"there is no \2 \1",
    rf"\b(?:there (?:is|are)|i (?:can )?{_SEE}) no ([\w ]{{1,40}}?),? (?:that|which) (?:is|are)(?: not|n't)"
    r" (?=(?:made of )?\w+(?:[.,;\n]|$))": r"all \1 are ",
    r"(?<=\w),? (?:rather than|instead of|and not)(?= (?:an? )?\w+\b)": ", not",
    r"\b(?:there (?:is|are|'s)|there's|i (?:can )?see) ([\w ]{1,40}),? (?:but|however),?"
    r" (?:it's|it is|they are|they're|(?:that|this) one is|both are|all are)\b": r"the only \1 is",
    r"\bnot only\b": "",
    r"\banything (?:but|except)(?: an?)?\b|\bfar from (?:being )?(?!the\b|an?\b|it\b)": "not ",
    r"\b(?:all things|anything) (?:but|except)(?: for)? (?:an?|any)\b": "no",
    r"\bnon-?(?=identical|matching|equal)": "not ",
    rf"\byes\b[^.,;\n]{{0,20}} (?:is|was|would be) {_WRONG}(?: answer)?\b": "no",
    rf"\bno (?:is|was|would be) {_WRONG}(?: answer)?\b": "yes",
    r"\b(?:do|does)(?: not|n't) (?:lack|miss)\b|\bis(?: not|n't) (?:devoid|free) of\b": "has",
    r"\bno ([\w ]{1,60}?),? (?:except(?:ing)?(?: for)?|other than|(?:apart|aside) from|besides|save for)"
    r" (?:the|that) one(?= (?:at|on|in|behind|near|next|to|left|right)\b)": r"one \1",
    r"\bthe (?:area|space|spot)(?: of the \w+)? ([\w ]{1,60}?) is (?:\w+ly )?empty\b": r"nothing is \1",
    r"\b(?:nothing|none)(?: else)? (?:but|other than|except(?: for)?)\b": "only",
    r"\b(?:looked|looking|search(?:ed|ing)|check(?:ed|ing)|scann(?:ed|ing))(?: \w+){0,3} for\b": "check for",
    r"\b(?:fail(?:s|ed)? to|(?:(?:am|'m|was|were) )?(?:unable|not able) to|can ?not|can't"
    rf"|could(?: not|n't))(?= (?:\w+ )?(?:see|find|spot|locate|detect|make out)"
    rf" (?!{_IMAGE}|whether|if|wh))": "don't",
    r"\b(is|are|was|were)(?: not|n't) any\b(?= [a-z])": r"\1 no",
    r"\b(?:(?:(?:entirely |completely )?lacks?(?! of\b)|is (?:lacking|devoid of|free of|without)"
    r"|is missing(?= an?y? ))|contains? (?:no|zero))(?: an?y?| the| single)*(?= [a-z])": "has no",
    r"\b(?:(?:apart|aside) from|save for|(?:besides|other than)(?= an?y? | the ))\b": "except",
    # Comparison
    r"\b(?:just|exactly|equally|every bit) as (?:big|large|small|tall|huge|tiny)(?! as)\b": "the same size",
    r"\bat least as many\b": "may be as many",
    r"\bneither(?: \w+)? (?:outnumbers?|exceeds?)(?: the other)?": "same number",
    rf"\banother ({_KIND})\b": r"different \1",
    r",? in favou?r of\b": " more",
    r"\bnot (?:quite |nearly )?as many\b": "fewer",
    r"\b(?:twice|double|triple|(?:two|three|four|five|six|\d) times) (?:as many|the number of)\b": "more ",
    r"\bhalf (?:as many|the number of)\b": "fewer ",
    rf"\b(?:(?:exactly |just )?(?:as|equally) many(?! as {_N}\b)|on (?:a )?par|evenly matched)\b": "same",
    r"\bshar(?:e|es|ing|ed) (?:(?:the|an?|its|their|one|that|this|same|common|identical) )*"
    rf"(?={_KIND}\b)": "same ",
    rf"\b(?:twice|double|half|{_N} times) as (?:big|large|tall|huge) as\b": "larger than",
    rf"\b(?:twice|double|half|{_N} times) as (?:small|tiny) as\b": "smaller than",
    r"\b(?:just |exactly |quite )*as (?:big|large|small|tall|huge|tiny) as\b": "same size as",
    rf"\b(has|have) its ({_KIND})\b": r"\1 the same \2",
    r"\band so (is|are|does|do)\b": r"as \1",
    rf"\b(?:vs?\.?|against|compared (?:to|with)|as opposed to)(?= (?:just |only |the )*{_N}\b)": "versus",
    rf"\b(?:of|in|with|has|have) (?:that|this)(?: very| same)* ({_KIND})\b": r"of the same \1",
    r"\b(?:on|in|at|to) (?:that|this) (?:side|area|spot|place|direction|position|region)\b": "there",
    rf"\b(?:that|which) (?:{_MATCH}|shares?) (?:(?:the|its) )?({_KIND})(?: of| as| with)?(?: that of)?"
    rf" (?=the )|\b(?:that|which) {_MATCH} (?=the [\w ]{{1,40}}'s ({_KIND})\b)"
    rf"|\bwhose ({_KIND}) (?:{_MATCH}|is (?:like|equal to|the same as)) that of (?=the )": (
        r"of \1\2\3 matching "
    ),
    r"\b(match|fitt|satisfy|meet)ing (?=(?:all )?(?:the|that|this|your|these) (?:descr|crit|cond))": (
        r"that \1 "
    ),
    # What stands between a subject and its verb
    r", (?:which|that|located|sitting|placed|positioned|standing|seen|the one|in|to|on|behind|next|near"
    r"|beside|between|just)\b[^.;:\n]{1,80}?,(?= (?:is|are|has|have|appears|looks|seems)\b)": " ",
    # Quantity
    r"(?:,| and| but)+ (?:no|not|nothing|not any) more(?: than (?:that|this))?(?:(?:,| and|,? or)? no less)?"
    r"(?=[.,;!\n]|$)": "",
    rf",? (?:al)?though {_N}(?: of (?:them|these))? is (?:{_PARTLY} )?{_HIDDEN}[^.,;\n]*"
    rf"|,? (?:but|and|with) {_N}(?: of (?:them|these))?(?: (?:is|are))? {_PARTLY} {_HIDDEN}"
    r"(?: by (?:the )?[\w ]+?)?(?=[.,;!\n]|$)": "",
    r"\b(?:along|together) with\b": "and",
    r"\bno ([\w ]{1,30}?),? but (?=the\b)": r"no \1 except ",
    rf"\b(all (?:of )?(?:the )?{_N}(?: of (?:them|these))?),? (?:but|save) (?=the\b)": r"\1 except ",
    rf",? (?:al)?though (?=(?:only )?{_N}\b(?! of\b))": ", but ",
    rf"\ball (?:of )?(?:the )?({_N} )?(?!but|except)([\w ]{{1,60}}?),? (?:but|save|except(?: for)?) ({_N})"
    r"(?= (?:is|are)\b)": r"all but \3 of the \1\2",
    rf"\b((?:minus|plus) [\w ]{{1,40}}?) (?:is|equals|makes|gives|leaves)(?= {_N}\b)": r"\1 =",
    rf"\ball (?:(?:of )?(?:them|these|things|objects) )?are (\w+),? but ({_N})"
    r"(?=[.,;\n]|$)": r"allbut \2 are \1",
    r"\b(?:an? )?(?:pair|couple|duo)(?: of)?\b": "two",
    r"\ba trio(?: of)?\b": "three",
    r"\bhalf a dozen\b": "six",
    r"\b(?:no|not) more (?:and|or|nor) (?:no |not )?(?:less|fewer) than\b": "exactly",
    rf"\bno more than(?= {_N}\b)": "at most",
    rf"\b(?:every|each)(?: (?:single )?{_THING})? (?:but|except(?: for)?)(?= {_N}\b)": "allbut",
    r"\ball (?:but|except(?:ing)?(?: for)?)\b": "allbut",
    rf"\b(?:except(?:ing)?|apart|aside|save|barring|excluding)(?: for| from)?(?= {_N}\b)": "except",
    rf"\b(?<!most )(?<!nearly )(?<!not )(?:every (?:single )?one|each|all) of the(?= {_N}\b)": "all",
    rf"\b({_N}) (?:in total|in all|altogether|overall)\b": r", total: \1 ",
    # Values
    r"\b(?:has|have) an? (\w+) (?:finish|surface|texture|appearance|look)(?=[.,;!\n]|$)": r"are \1",
    rf"(?<!the )\b({_VALUE}) is the {_KIND} of ([\w ]+?)(?=[,.;\n]|$| (?:and|while|but)\b)": r"\2 is \1",
    rf"\b({_VALUE}) (?:is )?that of (?=the\b)([\w ]+?)(?=[,.;\n]|$)": r"\2 is \1",
    rf"\b(?:{'|'.join(SHADES)})ish (?={_COLOR})": "",
    rf"\b(?:(?:one|some) of )?the (?:larger|bigger|largest|biggest){_OF_SIZE}": "the large",
    rf"\b(?:(?:one|some) of )?the (?:smaller|smallest|tinier|tiniest){_OF_SIZE}": "the small",
    r"\b(?:non|un)[- ]?(?:shiny|glossy|reflective|polished|metallic)\b"
    r"|\b(?:matte|dull|rubbery|rubber-like)(?: \w+)? plastic\b": "matte",
    rf"\bround( {_THING}\b)": r"sphere\1",
    r"\b(?:an?|the|tin|soda) can\b(?! be\b)": "cylinder",
    rf"\b{_SHADE}(?: colou?r)? \(({_COLOR})\)": r"\1",
    rf"\b({_COLOR}),? \(?(?:which is |i\.e\. |or )?an? (?:{_SHADE}(?:[- ]{_COLOR})?(?: {_HUE})?"
    rf"|{_COLOR}(?:[- ]{_COLOR})? {_HUE})\b\)?": r"\g<1>",
}
"""Pattern -> the plain phrase that means the same; applied in this order."""
_PATTERNS = [(re.compile(pattern), plain) for pattern, plain in _REWORDED.items()]


def reworded(text: str) -> str:
    """A text in lower case in plainer words."""
    for pattern, plain in _PATTERNS:
        text = pattern.sub(plain, text)
    return text
