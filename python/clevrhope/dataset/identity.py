"""The identity of a dataset, to which a trained run is bound.

Sizes and test sets are left out: they can grow, and a run uses the first questions of train.
"""

import hashlib
import json
from typing import Any

from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.vocab import Vocab
from clevrhope.runtime.json_text import as_json_values
from clevrhope.splits.kinds import TRAIN
from clevrhope.splits.palettes import parse_pool_name


def identity(manifest: Manifest, vocab: Vocab, *, hop: str, images: bool) -> dict[str, Any]:
    """The identity of one sub-dataset, in values that JSON can store.

    Args:
        manifest: the dataset's manifest.
        vocab: the dataset's vocabulary.
        hop: the sub-dataset, by its name in the manifest.
        images: whether images are part of the identity.
    """
    train = manifest.splits.get(hop, {}).get(TRAIN.name, {})
    _, palette = parse_pool_name(str(train.get("pool", "")))
    found = {
        "version": manifest.version,
        "seed": manifest.seed,
        "world": manifest.world["fingerprint"],
        "templates": manifest.templates["fingerprint"],
        "questions": manifest.questions,
        "palette": manifest.palettes.get(palette),
        "rendering": manifest.rendering if images else None,
        "vocab": vocab_digest(vocab),
    }
    return dict(as_json_values(found))


def vocab_digest(vocab: Vocab) -> str:
    """SHA-256 of all words, program tokens and answers with their numbers."""
    maps = [vocab.question_token_to_idx, vocab.program_token_to_idx, vocab.answer_token_to_idx]
    return hashlib.sha256(json.dumps([dict(each) for each in maps], sort_keys=True).encode()).hexdigest()
