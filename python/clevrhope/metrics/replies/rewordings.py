"""Phrases that replies use, and the plain ones that the reader knows."""

import re

from clevrhope.metrics.replies import lexicon
from clevrhope.metrics.replies.colors import BASIC, SHADES

_N = rf"(?:no|{lexicon.NUMBER})"
_COLOR = f"(?:{'|'.join((*BASIC, *SHADES))})"
_SHADE = rf"(?:light|pale|bright|dark|deep|sky|bluish|greenish) (?:shade of |kind of )?{_COLOR}"
_THING = r"(?:things?|objects?|items?|ones?|cubes?|spheres?|cylinders?|blocks?|balls?|boxes)"
_IMAGE = r"(?:(?:the|any|an|your|this) )?(?:image|picture|photo)"
_KIND = r"(?:colou?rs?|sizes?|shapes?|materials?)"

_REWORDED = {
    # Spelling
    r"\1n't": r"\b(do|does|did|is|are|was|were|has|have|ca|could|would)nt\b",
    "there's": r"\btheres\b",
    "it's": r"\bits (?=(?:an?|the|made) )",
    "nothing": r"\bnothin\b",
    "rendered": r"\b3-?d\b",
    "small": r"\b(?:sm|sml)\b",
    "large": r"\b(?:lg|lrg)\b",
    "yes": r"\by(?:e+s{2,}|a+s{2,})\b",
    "no ": r"\bno{2,}\b",
    # Agreement that begins with "no", and opinions
    "certainly": r"\b(?:no (?:doubt|question)(?: about (?:it|that))?|without (?:an?y? )?(?:doubt|question)"
    r"|beyond (?:an?y? )?doubt|doubtless|undoubtedly)\b",
    "certainly ": r"\bno (?:worries|problem|need to worry)\b",
    "it is": r"\b(?:i(?:'d| would)? (?:think|believe|guess|suppose|imagine|say) so"
    r"|it (?:seems|appears|looks) so|(?:it )?looks? like it)\b(?= *(?:[.!,]|$))",
    "opposite": r"\b(?:opposite|reverse) is (?:true|correct)\b",
    # Denial and absence
    "": r"\bnot only\b",
    "no": r"\b(?:an? )?(?:\w+ )?absence of\b",
    "only": r"\b(?:nothing|none) (?:but|other than|except(?: for)?)\b",
    "check for": r"\b(?:looked|searched|checked|scanned|searching|checking|scanning) for\b",
    "don't": r"\b(?:fail(?:s|ed)? to|(?:(?:am|'m|was|were) )?(?:unable|not able) to|can ?not|can't"
    rf"|could(?: not|n't))(?= (?:\w+ )?(?:see|find|spot|locate|detect|make out) (?!{_IMAGE}))",
    r"\1 no": r"\b(is|are|was|were)(?: not|n't) any\b(?= [a-z])",
    "isn't any": r"\b(?:is|are) not? (?:a single|even (?:a single|one))\b",
    "has no": r"\b(?:(?:(?:entirely |completely )?lacks?|is (?:lacking|devoid of|free of|without)"
    r"|is missing(?= an?y? ))|contains? (?:no|zero))(?: an?y?| single)*(?= [a-z])",
    # Comparison
    "fewer": r"\bnot (?:quite |nearly )?as many\b",
    r"\1 fewer": r"\b(are|is|do|does|were|has|have)n't (?:quite |nearly )?as many\b",
    "more ": r"\b(?:twice|double|triple|(?:two|three|four|five|six|\d) times) (?:as many|the number of)\b",
    "fewer ": r"\bhalf (?:as many|the number of)\b",
    "same": rf"\b(?:(?:exactly |just )?(?:as|equally) many(?! as {_N}\b)|on (?:a )?par|evenly matched)\b",
    "same ": r"\bshar(?:e|es|ing|ed) (?:(?:the|an?|its|their|one|that|this|same|common|identical) )*"
    rf"(?={_KIND}\b)",
    "same size as": r"\b(?:just |exactly |quite )*as (?:big|large|small|tall|huge|tiny) as\b",
    r"as \1": r"\band so (is|are|does|do)\b",
    "versus": rf"\b(?:vs?\.?|against|compared (?:to|with)|as opposed to)(?= (?:just |only |the )*{_N}\b)",
    # Quantity
    "at most": rf"\bno more than(?= {_N}\b)",
    "allbut": r"\ball (?:but|except(?:ing)?(?: for)?)\b",
    "except": rf"\b(?:except(?:ing)?|apart|aside|save|barring|excluding)(?: for| from)?(?= {_N}\b)",
    "all": rf"\b(?:every (?:single )?one|each|all) of the(?= {_N}\b)",
    r", total: \1 ": rf"\b({_N}) (?:in total|in all|altogether|overall)\b",
    "two": r"\b(?:an? )?pair(?: of)?\b",
    "single": r"\b(?:lone|solitary)\b",
    # Values
    "matte": r"\b(?:non|un)[- ]?(?:shiny|glossy|reflective|polished|metallic)\b"
    r"|\b(?:matte|dull|rubbery|rubber-like)(?: \w+)? plastic\b",
    r"sphere\1": rf"\bround( {_THING}\b)",
    "cylinder": r"\b(?:an?|the|tin|soda) can\b(?! be\b)",
    r"\1": rf"\b{_SHADE}(?: colou?r)? \(({_COLOR})\)",
    r"\g<1>": rf"\b({_COLOR}),? \(?(?:which is |i\.e\. )?an? {_SHADE}\b\)?",
}
"""Plain phrase -> a pattern of what means the same; applied in this order."""
_PATTERNS = [(re.compile(pattern), plain) for plain, pattern in _REWORDED.items()]


def reworded(text: str) -> str:
    """A text in lower case in plainer words."""
    for pattern, plain in _PATTERNS:
        text = pattern.sub(plain, text)
    return text
