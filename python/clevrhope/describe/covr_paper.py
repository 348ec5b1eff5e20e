"""The counts in COVR's paper, which datasheets show beside a split's own numbers."""

from collections.abc import Mapping

N_TRAIN = 248_154
"""Train questions of COVR. Source: Bogin et al. 2021, section 3."""

FILTERED: Mapping[str, int] = {
    "has-quant": 33_300,
    "has-quant-all": 21_100,
    "compscope": 22_800,
    "has-compar": 16_700,
    "has-compar-more": 7_600,
    "has-groupby": 33_300,
    "has-logic": 16_700,
    "has-logic-and": 8_800,
    "num-3": 6_900,
    "num-3-ans-3": 12_100,
    "ans-num": 33_300,
    "program": 48_000,
    "sameattr-color": 27_300,
    "tpl-choose-object": 16_700,
    "tpl-verify-quantifier-attr": 16_700,
    "tpl-verify-attr": 16_700,
}
"""Property -> train questions that have it, rounded. Source: "Filtered" in tables 7 and 8."""

MAJ, MAJ_TEMPL = 26.8, 41.5
"""Accuracy of the most frequent answers on COVR's test set, in per cent. Source: table 6."""
