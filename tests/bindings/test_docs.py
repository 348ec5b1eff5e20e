"""The native module documents itself: `help()` says what a name is for, and a repr what a handle holds."""

import inspect
from collections.abc import Iterator

import numpy as np
import pytest
from small_worlds import PAIR, asked_on, sampled, studio, zero_hop

from clevrhope import _core
from wording import refused


def public_names() -> Iterator[tuple[str, object]]:
    for name in _core.__all__:
        member = getattr(_core, name)
        if callable(member):
            yield name, member
        if isinstance(member, type):
            for inner in (inner for inner in vars(member) if inner[0].islower()):
                yield f"{name}.{inner}", getattr(member, inner)


def test_every_public_name_is_documented() -> None:
    documented = {"the module": _core, **dict(public_names())}
    assert len(documented) > 100
    for name, member in documented.items():
        doc = inspect.getdoc(member)
        assert doc, name


def test_arguments_show_in_help() -> None:
    assert str(inspect.signature(_core.sample_scenes)) == "(world, *, seed, pool, indices)"
    assert str(inspect.signature(_core.CountingPool)) == "(world, *, value)"
    assert str(inspect.signature(_core.QuestionStream.next)) == "(self, /, n_windows)"


def test_every_handle_has_a_repr_of_its_own(world: _core.World) -> None:
    classes = [each for _, each in public_names() if isinstance(each, type)]
    assert len(classes) > 15
    assert [each for each in classes if each.__repr__ is object.__repr__] == []
    assert repr(_core.AuditViolation.NO_ANSWER) == "AuditViolation.NO_ANSWER"
    templates = zero_hop(world)
    scenes = sampled(world, 7, 9)
    asked = asked_on(scenes, templates, 1)
    for handle, values in (
        (world, ("3 to 10 objects", "480 x 320", world.fingerprint[:8])),
        (templates, (str(templates.n_families),)),
        (scenes, ("2 scenes", "7 to 9")),
        (asked, (str(len(asked)), asked.texts[0])),
        (_core.MinimalPool(world, held_out=PAIR), ("960", "4 images")),
    ):
        assert repr(handle).startswith(f"<{type(handle).__name__}")
        assert all(value in repr(handle) for value in values), repr(handle)


def test_an_unknown_choice_lists_the_known_ones(world: _core.World) -> None:
    templates = zero_hop(world)
    pool = _core.MinimalPool(world, held_out=PAIR)
    scenes = sampled(world, 7)
    with refused(ValueError):
        _core.instantiate_questions(
            scenes, templates, seed=1, held_out=None, questions_per_scene=1,
            questions="al",  # type: ignore[arg-type]
        )  # fmt: skip
    with refused(ValueError):
        pool.questions(templates, seed=1, kind="id", places=np.zeros(1, np.uint64))  # type: ignore[arg-type]
    with refused(ValueError):
        world.seen_palette(PAIR, diversity=4, mode="nest", seed=1)  # type: ignore[arg-type]
    with refused(ValueError):
        studio().render(b"{}", width=2, height=2, quality="low")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        studio().render(b"{}", width=2, height=2, quality=1)  # type: ignore[arg-type]
