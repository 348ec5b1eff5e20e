"""A plan as text and as JSON."""

from typing import Any

from clevrhope.config.question_settings import QuestionSettings
from clevrhope.images.renderers import rendering_as_json, rendering_in_words
from clevrhope.pipeline.forecast.plan import Plan
from clevrhope.runtime.display import duration, size
from clevrhope.splits.hops import name_order
from clevrhope.splits.palettes import Palette, parse_pool_name


def plan_json(plan: Plan) -> dict[str, Any]:
    """The plan as one JSON object."""
    request, rest = plan.resolved.request, dict(vars(plan))
    del rest["resolved"]
    return {
        "folder": str(request.out),
        "seed": plan.resolved.seed,
        "pairs_an_image": round(sum(plan.hops.values()) / max(1, plan.scenes), 3),
        "rendering": request.rendering,
        **rest,
        "palettes": {name: palette.as_json() for name, palette in _palettes(plan).items()},
    }


def plan_lines(plan: Plan) -> list[str]:
    """The plan as text, a list of lines."""
    resolved = plan.resolved
    request, config = resolved.request, resolved.config
    about = "" if plan.exact else "about "
    width = max(12, *(len(each["split"]) for each in plan.splits))
    lines = [
        f"{request.out}: preset {request.config.preset}, seed {resolved.seed}; nothing is written",
        "",
        f"{'HOP':<18} {'split':<{width}} {'questions':>11} {'images':>11}",
    ]
    for hop, n_images in plan.hops.items():
        of_hop = [each for each in plan.splits if each["hop"] == hop]
        rows = [(each["split"], each["questions"], each["images"]) for each in of_hop]
        rows.append(("distinct", sum(each["questions"] for each in of_hop), n_images))
        lines += [f"{hop:<18} {name:<{width}} {n:>11,} {images:>11,}" for name, n, images in rows]
    lines += resolved.exhausted
    lines += [palette.in_words(name) for name, palette in _palettes(plan).items()]
    for suite in plan.suites:
        line = (
            f"{suite['hop']} has the suite {suite['suite']}: {suite['pairs']:,} pairs, {size(suite['bytes'])}"
        )
        if removed := ", ".join(suite["removed_splits"]):
            line += f"; make them again with clevrhope suite after the build, which enlarges {removed}"
        lines.append(line)
    apart = sum(plan.hops.values())
    reuse = f" ({apart:,} if pairs shared none)" if apart > plan.scenes else ""
    lines += ["", f"{plan.questions:,} questions on {about}{plan.scenes:,} scenes{reuse}"]
    of_pairs = () if any(hop.held_out for hop in resolved.hops) else QuestionSettings.names_of_pairs()
    for name, value in config.changed_settings().items():
        if name not in of_pairs:
            lines.append(f"{config.effect(name)} ({config.option(name)} {value})")
    images = f"{about}{plan.images_to_render:,} images to render"
    lines.append(images if request.render else "no images (--no-render)")
    if config.passes:
        lines.append(f"{about}{plan.images_to_annotate:,} images to annotate: {', '.join(config.passes)}")
    if plan.images_to_copy:
        what = "images to copy from" if request.render else "scenes of"
        lines.append(f"{about}{plan.images_to_copy:,} {what} {config.clevr}")
    if plan.clevr_by_number:
        shares = ", ".join(f"{share:.1%} with {number}" for number, share in plan.clevr_by_number.items())
        lines.append(f"CLEVR's share by number of objects: {shares}")
    lines.append(f"{about}{size(plan.bytes)}")
    if plan.seconds is None:
        return [*lines, f"the time cannot be estimated: {plan.no_seconds_because}"]
    time = f"{about}{duration(plan.seconds)} here"
    if plan.seconds_per_image is not None:
        with_what = rendering_in_words(rendering_as_json(config.rendering))
        time += f" ({plan.seconds_per_image:.2g} s an image with {with_what}, measured now)"
    if plan.load is not None:
        time += f"; less when this machine is not busy, as now (a load of {plan.load:.1f})"
    return [*lines, time]


def _palettes(plan: Plan) -> dict[str, Palette]:
    """The palettes of the request's pools, by name."""
    names = {parse_pool_name(pool)[1] for pool in plan.pools}
    return {name: plan.resolved.engine.palettes[name] for name in sorted(names - {""}, key=name_order)}
