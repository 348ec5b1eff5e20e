"""The dataset card of an export, README.md, which Hugging Face shows."""

from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.describe.datasheet.origin import CLEVR
from clevrhope.describe.markdown import table
from clevrhope.export.source import SetSource, Source
from clevrhope.splits.hops import PRELIM

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Upper bounds of the Hub's size categories; 1M<n<10M and 10M<n<100M follow."""


def dataset_card(source: Source) -> str:
    """A head in YAML, with a config for each HOP and a file pattern for each split, and the text."""
    return f"---\n{_head(source)}---\n\n{_body(source)}"


def _head(source: Source) -> str:
    n = sum(len(each.reader) for each in (*source.splits, *source.suites))
    size = next((name for bound, name in _SIZES if n < bound), "1M<n<10M" if n < 10**7 else "10M<n<100M")
    lines = [
        "license: cc-by-4.0",
        "language:",
        "- en",
        "pretty_name: CLEVR-HOPE",
        "task_categories:",
        "- visual-question-answering",
        "tags:",
        "- compositional generalisation",
        "- systematicity",
        "- clevr",
        "size_categories:",
        f"- {size}",
        "configs:",
    ]
    for config, splits in source.by_config().items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for each in splits:
            lines += [f"  - split: {each.split}", f"    path: {config}/{each.split}-*.parquet"]
    return "\n".join(lines) + "\n"


def _body(source: Source) -> str:
    first = source.splits[0]
    of_one = next((each for each in source.splits if not isinstance(each, SetSource)), None)
    of_sets = any(isinstance(each, SetSource) for each in source.splits)
    rows = [
        (each.config, each.split, f"{len(each.reader):,}", f"{len(each.indices):,}")
        for each in (*source.splits, *source.suites)
    ]
    image, its_image, prefixes = "images", "its images", ""
    if of_one:
        image, its_image = "an image", "its image"
        prefixes = (
            " The first 25,000 and 200,000 rows of a `train` of the paper's size are its smaller train sets."
        )
    images = (
        f"Each row is a question with {its_image}."
        if source.rendered
        else "Text only: the dataset was exported without images."
    )
    if "clevr" in source.manifest.world:
        images += (
            f" Part of the scenes and images of `train` are from the train split of CLEVR ({CLEVR}; "
            "CC BY 4.0)."
        )
    columns = (
        _of_one(source, of_one.vocab) if of_one else "",
        _of_sets(source) if of_sets else "",
        _SUITES if source.suites else "",
    )
    return f"""# CLEVR-HOPE

Visual question answering where one pair of attribute values is held out: a model that has met rubber things
and cylinders, but never a rubber cylinder, in images or in words, is asked about rubber cylinders. The
design is that of Berlot-Attwell, Agrawal, Carrell, Sharma and Saphra, *Attribute Diversity Determines the
Systematicity Gap in VQA*; this dataset was made by `clevrhope` from seed {source.manifest.seed}.

```python
from datasets import load_dataset

rows = load_dataset("THIS_FOLDER", "{first.config}", split="{first.split}", streaming=True)
```

Without `streaming=True` the library copies the rows into its cache, where each question has {image} of its
own.{prefixes}

{images}

{table(("config", "split", "questions", "scenes"), rows)}
{"".join(columns)}"""


def _of_one(source: Source, vocab: Vocab) -> str:
    """On splits of questions about one image."""
    n_answers = len(set(vocab.answers()).difference(SPECIAL_TOKENS))
    image = "| `image` | the image, 8-bit RGB |\n" if source.rendered else ""
    prelim = ""
    if any(hop.startswith(f"{PRELIM}_") for hop in source.by_hop()):
        prelim = f"Configs `{PRELIM}_...` hold nothing out: they test whether a model knows a single value.\n"
    return f"""
The gap in systematicity is the accuracy on an `ood` split less that on its `iid` split. Tune on none of them.
{prelim}
| column | holds |
|---|---|
{image}| `question` | the question in English |
| `answer` | one of {n_answers}: yes, no, a number, a size, a color, a material or a shape |
| `program` | functions in prefix order, such as `filter_color[red]` |
| `question_family_index` | number of the template, as in CLEVR |
| `question_index` | place of the question in its split |
| `image_index` | the scene's index in its pool; equal for equal images of a split |
"""


def _of_sets(source: Source) -> str:
    """On splits of questions about sets of images."""
    images = "| `images` | the images of the set, 8-bit RGB |\n" if source.rendered else ""
    return f"""
Configs `....covr` are questions about sets of one to five images, in the templates of COVR (Bogin, Gupta,
Gardner and Berant 2021). Rows 2k and 2k + 1 are the same text about two sets, with different answers. The gap
is the accuracy on `covr_test_ood` less that on `covr_test`; tune on `covr_dev`.

| column | holds |
|---|---|
{images}| `question` | the question in English |
| `answer` | yes, no, a number, a value or a relation |
| `program` | functions in prefix order |
| `template` | name of the template, such as `verify_count` |
| `structure` | form of what is described: `single`, `edge`, `chain` or `v` |
| `source` | place in the set of an image that shows what the question describes |
| `question_index` | place of the question in its split |
| `image_indices` | the scenes' indices in their pool, in the order of the images |
"""


_SUITES = """
Configs with a dot are suites of paired tests on the questions of the config before the dot. Two rows are a
pair: an original, and a partner whose answer follows from the original's. `question_index` is the row's place
in the suite. Suites may have words and functions that the splits do not have. These are more columns of them:

| column | holds |
|---|---|
| `suite`, `test` | the suite, and the test that the pair belongs to |
| `type` | the type of question by which scores are grouped; empty for none |
| `tier` | `in` for the dataset's own words and functions, `beyond` for others |
| `cell` | what mentions the held-out pair: `00` nothing, `01` the partner, `10` the original, `11` both |
| `role` | `original` or `partner` |
| `pair_index` | the pair's number |
| `original_index` | the question's place in the split; null for a question that the suite made |
| `relation` | of the answers: `same`, `flip`, `is` (yes exactly for `value`), `positive` (yes above 0) |
| `value` | of `is`: the original's answer for which the partner is yes; otherwise null |
"""
