"""The numbers of a dataset's episodes with nonce words, which are the same in both conditions."""

from collections import Counter

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.vocab import read_vocab
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.kinds import NONCE_SPLITS

Counts = dict[str, dict[str, Counter[str]]]
"""Form -> "grids", "answers" and "objects" (of the query's image) -> the episodes with each."""


def count_episodes(layout: Layout) -> Counts:
    """Counts a folder's episodes; empty if it has none. Raises a DatasetError if a file is damaged."""
    found: Counts = {}
    if not layout.nonce_vocab.is_file():
        return found
    table = open_split(layout, NONE, NONCE_SPLITS[0], vocab=read_vocab(layout.nonce_vocab))
    scenes = scenes_of(layout, table.pool, table.scenes)
    objects = {scene["image_index"]: str(len(scene["objects"])) for scene in scenes}
    for row in range(len(table)):
        names = {
            "grids": table.grid_names[table.grids[row]],
            "answers": table.answer_names[table.answers[row]],
            "objects": objects[table.images_of(row)[0]],
        }
        of_form = found.setdefault(table.forms[table.question_families[row]], {})
        for by, name in names.items():
            of_form.setdefault(by, Counter())[name] += 1
    return found
