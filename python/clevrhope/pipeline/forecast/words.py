"""A plan as text and as JSON."""

from typing import Any

from clevrhope.config.question_settings import QuestionSettings
from clevrhope.images.rendering_record import rendering_as_json, rendering_in_words
from clevrhope.pipeline.forecast.result import Plan
from clevrhope.pipeline.forecast.suites import suite_lines, suites_json
from clevrhope.runtime.display import duration, size
from clevrhope.splits.hops import name_order
from clevrhope.splits.kinds import TRAIN
from clevrhope.splits.palettes import Palette, parse_pool_name

IMAGES_OF_THE_PAPER = 481_000
"""Distinct images of all 29 pairs at the paper's sizes, to which the time per image is extrapolated."""


def plan_lines(plan: Plan) -> list[str]:
    """The plan as text, a list of lines."""
    request = plan.resolved.request
    about = "" if plan.exact else "about "
    lines = [
        f"{request.out}: preset {request.config.preset}, seed {plan.resolved.seed}; nothing is written",
        "",
    ]
    width = max(12, *(len(split.split) for split in plan.splits))
    lines.append(f"{'HOP':<18} {'split':<{width}} {'questions':>11} {'images':>11}")
    for hop, n_images in plan.hop_images.items():
        splits = [split for split in plan.splits if split.hop == hop]
        lines += [f"{hop:<18} {s.split:<{width}} {s.questions:>11,} {s.images:>11,}" for s in splits]
        n_questions = sum(split.questions for split in splits)
        lines.append(f"{hop:<18} {'distinct':<{width}} {n_questions:>11,} {n_images:>11,}")
    lines += plan.resolved.exhausted
    lines += _seen_lines(plan)
    lines += suite_lines(plan.resolved)
    apart = sum(plan.hop_images.values())
    shared = sum(plan.images.values())
    lines += [
        "",
        f"{plan.questions:,} questions on {about}{shared:,} scenes"
        + (
            f" ({apart:,} if pairs shared none; on average {plan.reuse:.1f} pairs use an image)"
            if apart > shared
            else ""
        ),
        *(
            f"{plan.resolved.config.effect(name)} ({plan.resolved.config.option(name)} {value})"
            for name, value in plan.resolved.config.changed_settings().items()
            if any(hop.pair for hop in plan.resolved.hops) or name not in QuestionSettings.names_of_pairs()
        ),
        f"{about}{plan.to_render:,} images to render" if request.render else "no images (--no-render)",
        *_passes_lines(plan, about),
        *_clevr_lines(plan, about),
        f"{about}{size(plan.bytes)}",
    ]
    if plan.seconds is not None:
        each = plan.rates.seconds_per_picture
        with_what = rendering_in_words(rendering_as_json(plan.resolved.config.rendering))
        rate = f" ({each:.2g} s an image with {with_what}, measured now)" if each is not None else ""
        lines.append(f"{about}{duration(plan.seconds)} here{rate}")
        if each is not None and plan.to_render < IMAGES_OF_THE_PAPER / 2:
            lines.append(
                f"at that rate, the {IMAGES_OF_THE_PAPER:,} images of all 29 pairs at the paper's size take "
                f"{duration(IMAGES_OF_THE_PAPER * each)}"
            )
    elif plan.seconds_between is not None:
        least, most = plan.seconds_between
        lines.append(f"{duration(least)} to {duration(most)} here: {plan.no_forecast_because}")
    else:
        lines.append(f"the time cannot be estimated: {plan.no_forecast_because}")
    return lines


def plan_json(plan: Plan) -> dict[str, Any]:
    """The plan as one JSON object."""
    between = plan.seconds_between
    return {
        "folder": str(plan.resolved.request.out),
        "seed": plan.resolved.seed,
        "exact": plan.exact,
        "questions": plan.questions,
        "scenes": sum(plan.images.values()),
        "pictures_to_render": plan.to_render if plan.resolved.request.render else 0,
        "pictures_to_annotate": plan.to_annotate,
        "seconds_per_passes": plan.rates.seconds_per_passes,
        "pictures_to_copy": plan.to_copy if plan.resolved.request.render else 0,
        "bytes": round(plan.bytes),
        "seconds": None if plan.seconds is None else round(plan.seconds, 1),
        "seconds_between": None if between is None else [round(each, 1) for each in between],
        "no_seconds_because": plan.no_forecast_because or None,
        "seconds_per_picture": plan.rates.seconds_per_picture,
        "rendering": plan.resolved.request.rendering,
        "questions_per_second": round(plan.rates.questions_per_second),
        **({"set_questions_per_second": round(plan.rates.sets_per_second)} if plan.set_questions else {}),
        "scenes_per_second": round(plan.rates.scenes_per_second),
        "pools": dict(plan.images),
        "from_clevr": {
            str(number): {"pictures": n, "copied": n_copied}
            for number, (n, n_copied) in plan.from_clevr.items()
        },
        "hops": dict(plan.hop_images),
        "suites": suites_json(plan.resolved),
        "pairs_a_picture": round(plan.reuse, 3),
        "palettes": {name: palette.as_json() for name, palette in _palettes(plan).items()},
        "splits": [
            {"hop": s.hop, "split": s.split, "pool": s.pool, "questions": s.questions, "pictures": s.images}
            for s in plan.splits
        ],
    }


def _passes_lines(plan: Plan, about: str) -> list[str]:
    """The line about annotations, if any are wanted."""
    kinds, each = plan.resolved.config.passes, plan.rates.seconds_per_passes
    if not kinds:
        return []
    rate = f" ({each:.2g} s each)" if each is not None else ""
    return [f"{about}{plan.to_annotate:,} images to annotate: {', '.join(kinds)}{rate}"]


def _clevr_lines(plan: Plan, about: str) -> list[str]:
    """Lines on what comes from CLEVR, by number of objects."""
    config = plan.resolved.config
    if not plan.from_clevr:
        return []
    what = "images to copy from" if plan.resolved.request.render else "scenes of"
    n_copied = sum(copied for _, copied in plan.from_clevr.values())
    n_images = sum(n for n, _ in plan.from_clevr.values())
    by_number = [f"{copied / n:.1%} with {number}" for number, (n, copied) in plan.from_clevr.items()]
    return [
        f"{about}{plan.to_copy:,} {what} {config.clevr}, whose train scenes are {n_copied / n_images:.1%} of "
        f"pool {TRAIN.pool}'s {n_images:,}",
        f"CLEVR's share by number of objects: {', '.join(by_number)}",
    ]


def _palettes(plan: Plan) -> dict[str, Palette]:
    """The palettes of the request's pools, by name."""
    names = {parse_pool_name(job.pool)[1] for job in plan.resolved.all_jobs}
    return {name: plan.resolved.engine.palettes[name] for name in sorted(names - {""}, key=name_order)}


def _seen_lines(plan: Plan) -> list[str]:
    """The combinations that each palette allows, one palette per line, after an empty line."""
    lines = [palette.in_words(name) for name, palette in _palettes(plan).items()]
    return ["", *lines] if lines else []
