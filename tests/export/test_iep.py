"""The HDF5 files of the public CLEVR models, read as their loaders do.

Those loaders are programs, not a library that could be installed: `Loader` does what the published ones do
with the files, with h5py as they do.
"""

import json
from pathlib import Path

import h5py
import numpy as np
from truth import HOP, SPLITS, Truth, prefix

from clevrhope.export import export


class Loader:
    """One split: all of the questions in memory as int64, images by row when they are asked for."""

    def __init__(self, folder: Path, split: str) -> None:
        vocab = json.loads((folder / "vocab.json").read_text())
        self.words, self.functions, self.names = (
            {number: token for token, number in vocab[f"{kind}_token_to_idx"].items()}
            for kind in ("question", "program", "answer")
        )
        assert [vocab["question_token_to_idx"][name] for name in ("<NULL>", "<START>", "<END>")] == [0, 1, 2]
        with h5py.File(folder / f"{split}_questions.h5", "r") as file:
            names = ("questions", "programs", "answers", "image_idxs", "orig_idxs", "question_families")
            arrays = [np.asarray(file[name], dtype=np.int64) for name in names]
        self.questions, self.programs, self.answers, self.image_idxs, self.orig_idxs, self.families = arrays

    def decoded(self, row: np.ndarray, names: dict[int, str]) -> list[str]:
        tokens = [names[token] for token in row.tolist()]
        assert tokens[0] == "<START>"
        end = tokens.index("<END>")
        assert set(tokens[end + 1 :]) <= {"<NULL>"}
        return tokens[1:end]


def test_tokens_answers_and_images_are_those_of_the_questions(
    dataset: Path, truth: Truth, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(dataset, out, format="iep", hops=[HOP])
    for split in SPLITS:
        loader = Loader(out, split)
        wanted = truth.questions(split)
        assert loader.orig_idxs.tolist() == list(range(len(wanted)))
        assert loader.families.tolist() == [question["question_family_index"] for question in wanted]
        with h5py.File(out / f"{split}_images.h5", "r") as file:
            assert file["images"].shape[0] == len({question["image_index"] for question in wanted})
            for k, question in enumerate(wanted):
                words = loader.decoded(loader.questions[k], loader.words)
                assert words == question["question"].replace("?", "").replace(";", " ;").split()
                functions = loader.decoded(loader.programs[k], loader.functions)
                assert functions == prefix(question["program"])
                assert loader.names[int(loader.answers[k])] == question["answer"]
                image = np.asarray(file["images"][loader.image_idxs[k]], dtype=np.float32)
                np.testing.assert_array_equal(image, truth.pixels(question["image_filename"]))
