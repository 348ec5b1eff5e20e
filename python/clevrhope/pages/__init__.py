"""The pages of a dataset and of its exports, as templates that can be edited without knowing Python.

The templates are the other files of this folder, in Jinja's language; README.md there says how to edit them.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from clevrhope.errors import counted
from clevrhope.pages.markdown import code, decimal, escape, listed, mean, number, percent, percentile, plain

PAPER = (
    "Berlot-Attwell, Agrawal, Carrell, Sharma and Saphra, "
    '"Attribute Diversity Determines the Systematicity Gap in VQA" (EMNLP 2024, '
    "doi 10.18653/v1/2024.emnlp-main.537)"
)
"""The paper whose dataset this one follows."""

CLEVR = (
    "Johnson, Hariharan, van der Maaten, Fei-Fei, Zitnick and Girshick, "
    '"CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning" (2017)'
)
"""Credit for CLEVR's scenes and images, which their licence, CC BY 4.0, requires."""

COVR = (
    'Bogin, Gupta, Gardner and Berant, "COVR: A Test-Bed for Visually Grounded Compositional Generalization '
    'with Real Images" (2021)'
)
"""The paper whose questions over several images the dataset's follow."""

_FENCED = re.compile(r"^(```.*?^```)$", re.DOTALL | re.MULTILINE)
_NEXT_ROW = re.compile(r"\n\s*\n(?=\|)(?!\|[^\n]*\n\|---)")
"""Blank lines before a row of a table that is not its head."""
_NEXT_LINE = re.compile(r"\s*\n\s*(?!\s*- )")


class _Environment(Environment):
    """Jinja's environment, except that in `a.b` a key of a mapping comes before a method such as `values`."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """As in Jinja."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


@cache
def _environment() -> Environment:
    found = _Environment(
        loader=PackageLoader("clevrhope", "pages"),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "code": code,
        "counted": counted,
        "decimal": decimal,
        "json": json.dumps,
        "listed": listed,
        "md": escape,
        "mean": mean,
        "number": number,
        "percent": percent,
        "percentile": percentile,
        "plain": plain,
    }
    found.globals |= {"paper": PAPER, "clevr": CLEVR, "covr_paper": COVR}
    return found


def render_page(template: str, **values: object) -> str:
    """A page as the template writes it; every value is escaped if the template's name ends in .html."""
    return _environment().get_template(template).render(values)


def read_page(name: str) -> str:
    """A file beside the templates."""
    return files("clevrhope.pages").joinpath(name).read_text("utf-8")


def render_markdown(template: str, **values: object) -> str:
    """A page in Markdown.

    Blocks are separated by blank lines. The lines of a paragraph are joined, so that a template may break
    them anywhere; tables, lists and fenced code keep theirs.
    """
    text = _NEXT_ROW.sub("\n", render_page(template, **values))
    blocks: list[str] = []
    for k, part in enumerate(_FENCED.split(text)):
        blocks += [part] if k % 2 else map(_block, re.split(r"\n\s*\n", part))
    return "\n\n".join(block for block in blocks if block) + "\n"


def render_lines(template: str, **values: object) -> list[str]:
    """The paragraphs of a page in Markdown, each in one line, for a terminal."""
    return [line for line in render_markdown(template, **values).split("\n") if line]


def _block(text: str) -> str:
    if text.lstrip().startswith("|"):
        return "\n".join(line.strip() for line in text.splitlines() if line.strip())
    return _NEXT_LINE.sub(" ", text.strip())
