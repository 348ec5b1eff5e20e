"""Templates of one's own that a dataset cannot be made with."""

import json
from pathlib import Path

from building import request

from clevrhope.errors import TemplateError
from clevrhope.pipeline import build
from wording import refused

VERIFY = {
    "text": ["Is the <S> <C>?"],
    "nodes": [
        {"type": "scene", "inputs": []},
        {"type": "filter_shape", "inputs": [0], "side_inputs": ["<S>"]},
        {"type": "unique", "inputs": [1]},
        {"type": "verify_color", "inputs": [2], "side_inputs": ["<C>"]},
    ],
    "params": [{"type": "Shape", "name": "<S>"}, {"type": "Color", "name": "<C>"}],
}


def test_functions_that_datasets_have_no_tokens_for_are_named_before_anything_is_written(
    tmp_path: Path,
) -> None:
    templates, out = tmp_path / "templates", tmp_path / "out"
    templates.mkdir()
    (templates / "verify.json").write_text(json.dumps([VERIFY]))
    with refused(TemplateError):
        build(request(out, templates=templates, render=False))
    assert not out.exists()
