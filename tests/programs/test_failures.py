"""Programs without an answer on a scene: the message names the step that failed, and what it was given."""

import pytest

from clevrhope import execute
from clevrhope.errors import ProgramError

CUBES = [{"color": color, "shape": "cube", "3d_coords": [0, 0, 0]} for color in ("red", "blue", "blue")]
SCENE = {"objects": CUBES, "relationships": {"left": [[], [0], [0]], "right": [[1, 2], [], []]}}
FAILURES = {
    "query_color(unique(filter_color[green](scene)))": "step 2, unique(1), .* one object, but there are 0;",
    "query_color(unique(filter_color[blue](scene)))": "step 2, unique(1), .* one object, but there are 2;",
    "count(assert_unique(scene))": "step 1, assert_unique(0), .* one object, but there are 3;",
    "subtraction(count(filter_color[red](scene)), count(scene))": "step 5, .* 1 less 3 is below 0;",
    "choose_color[green](unique(filter_color[red](scene)), option_color[gray])": "step 4, .* green nor gray;",
    "choose_relation[left](unique(filter_color[red](scene)), scene)": "step 4, .* for exactly one object of",
}


@pytest.mark.parametrize("program", FAILURES)
def test_it_says_which_step_failed_and_what_it_was_given(program: str) -> None:
    pattern = FAILURES[program].replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ProgramError, match=pattern) as raised:
        execute(program, SCENE)
    others = {"unique", "choose", "subtraction"} - {
        name for name in ("unique", "choose", "subtraction") if name in program
    }
    assert not any(name in str(raised.value) for name in others)
