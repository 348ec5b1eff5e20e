"""Slopes on diversity, averaged within clusters: `python -m benchmarks.slopes_by_cluster results.csv`.

Palettes with the same four combinations at K = 4 show the model the same, so they are one cluster, and the
tests are over clusters. It prints the analysis that experiments/hour.toml describes.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import click
import numpy as np

from benchmarks.shared_questions import Score, read_scores
from clevrhope.metrics.slopes import MeanSlope, mean_slope, slope_on_diversity
from clevrhope.scenes import read_world
from clevrhope.splits.hops import parse_hop
from clevrhope.splits.palettes import palette_from_json, parse_diversity

Cluster = tuple[tuple[str, ...], ...]
"""The combinations that are seen at K = 4, in alphabetical order."""


@cache
def seen_by(pair: str, seed: int, diversity: int = 4) -> Cluster:
    """The combinations that the palette of a seed shows at a diversity, without the pair."""
    world = read_world()
    held_out = parse_hop(pair, world.vocabulary.attribute_types).held_out
    assert held_out is not None
    palette = world.seen_palette(list(held_out), diversity=diversity, mode="nested", seed=seed)
    return tuple(sorted(palette_from_json(json.loads(palette)).without(held_out).combinations))


def slopes_of(scores: Iterable[Score]) -> dict[int, float]:
    """The slope of each palette, by its seed, over the runs that have the palette's own seed."""
    curves: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for each in scores:
        diversity = parse_diversity(each.palette)
        if diversity is not None and each.run == each.replicate:
            curves[each.replicate][diversity[0]] = each.percent
    most = max(map(len, curves.values()))
    return {seed: slope_on_diversity(curve) for seed, curve in curves.items() if len(curve) == most > 1}


def by_cluster(slopes: Mapping[int, float], pair: str) -> dict[Cluster, list[float]]:
    """The slopes of the palettes of each cluster."""
    found: defaultdict[Cluster, list[float]] = defaultdict(list)
    for seed, slope in sorted(slopes.items()):
        found[seen_by(pair, seed)].append(slope)
    return dict(found)


def over_clusters(clusters: Mapping[Cluster, list[float]]) -> MeanSlope:
    """The mean of the clusters' mean slopes, with its interval and exact sign-flip test."""
    return mean_slope([float(np.mean(each)) for each in clusters.values()])


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--pair", default="cyan_cylinder")
@click.option("--model", default="object_transformer")
def main(results: Path, pair: str, model: str) -> None:
    """Prints the slope of each cluster and the test over them, as Markdown."""
    clusters = by_cluster(slopes_of(read_scores(results, model=model, asked=f"{pair}-d4")), pair)
    click.echo("| seen at K = 4 | palettes | slope |\n|---|---:|---:|")
    for seen, slopes in clusters.items():
        click.echo(f"| {', '.join(' '.join(e) for e in seen)} | {len(slopes)} | {np.mean(slopes):+.1f} |")
    mean = over_clusters(clusters)
    low, high = mean.interval.low, mean.interval.high
    click.echo(
        f"\n{mean.value:+.1f} points with each doubling (95% interval {low:+.1f} to {high:+.1f}; exact sign "
        f"flips over {len(clusters)} clusters: p = {mean.p_value:.3f}; detectable: {mean.detectable:.1f})"
    )


if __name__ == "__main__":
    main()
