"""Counts the images of splits that show described objects, and the questions about these images."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from clevrhope.dataset.folder import Folder
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.vocab import read_vocab
from clevrhope.describe.measure import SceneCounts, read_scene_counts
from clevrhope.describe.stats.comparison import StatsSheet
from clevrhope.errors import DatasetError
from clevrhope.scenes.descriptions import parse_description


def count_shown(
    root: Path, sheets: Sequence[StatsSheet], texts: Sequence[str]
) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Sub-dataset -> description -> split -> the number of such images, of all, and of questions about them.

    Episodes have their two pools in place of splits: both conditions ask about the same images, and their
    supports share images.

    Raises:
        ConfigError: a description has a word that the world does not know.
        DatasetError: a file is missing or damaged, or has an image without a scene.
    """
    folder = Folder.open(root, finished=False)
    layout = folder.layout
    wanted = {text: parse_description(text, folder.attributes) for text in texts}

    @cache
    def counts_of(pool: str) -> SceneCounts:
        return read_scene_counts(list(layout.scene_files(pool)), folder.attributes)

    found: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    for sheet in sheets:
        of_texts = found.setdefault(sheet.group, {text: {} for text in texts})
        own = [each.split for each in sheet.columns if not each.other]
        tables = [
            open_split(layout, sheet.group, split, vocab=read_vocab(layout.vocab_of(split)))
            for split in (*own, *sheet.covr, *sheet.episodes)
        ]
        asked = [(each.split, each.pool, each, each.image_idxs) for each in tables]
        if sheet.episodes:
            conditions = tables[-len(sheet.episodes) :]
            table = conditions[0]
            supports = np.concatenate([each.support_idxs for each in conditions], axis=1)  # (N, 2 K)
            asked[-len(conditions) :] = [
                (table.pool, table.pool, table, table.image_idxs),
                (table.support_pool, table.support_pool, table, supports),
            ]
        for row, pool, table, idxs in asked:
            counts, images = counts_of(pool), idxs.reshape(len(table), -1)
            if len(missing := np.setdiff1d(images[images >= 0], counts.indices)):
                raise DatasetError(f"{table.path}: no scene of {pool} has index {missing[0]}")
            for text, description in wanted.items():
                used, such = np.unique(images[images >= 0]), counts.indices[counts.shows(description)]
                of_texts[text][row] = {
                    "images": int(np.isin(used, such).sum()),
                    "all_images": len(used),
                    "questions": int(np.isin(images, such).any(axis=1).sum()),
                }
    return found
