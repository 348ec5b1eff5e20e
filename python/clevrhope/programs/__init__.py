"""Executes programs on scenes, and so computes the correct answers of one question or of millions.

Functions have the same meaning as in CLEVR's question engine (Johnson et al. 2017, appendix A). Paired tests
add these:

- `and`, `or` and `not` combine truth values;
- `verify_color` and its counterparts check whether an object has the value that they name;
- `offer_color` and its counterparts return their object unchanged: `query_color` of an object for which two
  values are offered is a choice question;
- `count_is` checks whether an integer is the number that it names, such as "3";
- `verify_relation` checks whether its first object stands in the relation that it names to its second.

Templates of one's own may also use `subtraction`, the first count less the second; below 0 it has no answer.

A `SceneSet` holds up to five scenes for one program, as in COVR (Bogin et al. 2021, table 11); a relation
holds only between objects of the same image. Where COVR has one name for several functions, each has its own
name here: `count`, `count_images` and `count_groups`; `with_relation` and `with_same_color`. A choice between
two values is `choose_color[red]` of the object and `option_color[blue]`; it fails if the object has neither.

Programs are read as text (`count(filter_color[red](scene))`, see `programs.text`), as prefix tokens, and as
JSON in both of CLEVR's spellings (`function` and `value_inputs`, `type` and `side_inputs`) and in COVR's
(`operation` and `arguments`). Scenes are read as in CLEVR's scene files, and need to contain only what the
programs ask for.
"""

from clevrhope.programs.execution import (
    ILL_FORMED,
    INVALID,
    answer_text,
    execute,
    execute_batch,
    find,
    read_scenes,
    trace,
)
from clevrhope.programs.program import Nodes, Program
from clevrhope.programs.scene import MAX_IMAGES, Question, Scene, SceneSet, sample_scenes
from clevrhope.programs.steps import Answer, Trace, TracedStep
from clevrhope.scenes.vocabulary import default_vocabulary, read_vocabulary

__all__ = [
    "ILL_FORMED",
    "INVALID",
    "MAX_IMAGES",
    "Answer",
    "Nodes",
    "Program",
    "Question",
    "Scene",
    "SceneSet",
    "Trace",
    "TracedStep",
    "answer_text",
    "default_vocabulary",
    "execute",
    "execute_batch",
    "find",
    "read_scenes",
    "read_vocabulary",
    "sample_scenes",
    "trace",
]
