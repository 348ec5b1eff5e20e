"""The numbers of a dataset's episodes with nonce words, which are the same in both conditions."""

from collections import Counter

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import NONCE
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.vocab import read_vocab
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.kinds import NONCE_SPLITS


def count_episodes(layout: Layout) -> dict[str, dict[str, Counter[str]]]:
    """Form -> "grids", "answers" and "objects" (of the question's image) -> the episodes with each.

    Names are in order, numbers before words. It is empty without episodes.

    Raises:
        DatasetError: a file is damaged.
    """
    found: dict[str, dict[str, Counter[str]]] = {}
    if not layout.nonce_vocab.is_file():
        return found
    table = open_split(layout, NONE, NONCE_SPLITS[0], vocab=read_vocab(layout.nonce_vocab))
    scenes = scenes_of(layout, table.pool, table.scenes)
    objects = {scene["image_index"]: len(scene["objects"]) for scene in scenes}
    forms, grids = (map(str, table.values(field)) for field in NONCE.fields[:2])
    answers = [table.answer_names[answer] for answer in table.answers]
    n_objects = [str(objects[index]) for index in table.image_idxs.tolist()]
    for form, *names in zip(forms, grids, answers, n_objects, strict=True):
        of_form = found.setdefault(form, {by: Counter() for by in ("grids", "answers", "objects")})
        for counts, name in zip(of_form.values(), names, strict=True):
            counts[name] += 1
    return {
        form: {by: Counter(dict(sorted(counts.items(), key=_in_order))) for by, counts in of_form.items()}
        for form, of_form in found.items()
    }


def _in_order(entry: tuple[str, int]) -> str:
    return entry[0].zfill(2)  # "4" before "10"
