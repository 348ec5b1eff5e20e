"""The view of a dataset's folder in the terminal."""

from collections.abc import Callable, Iterator, Mapping

from rich.console import Console
from rich.text import Text

from clevrhope.describe.info.overview import Overview
from clevrhope.images.renderers import made_by
from clevrhope.pages.markdown import listed
from clevrhope.runtime.display import show_table, size
from clevrhope.splits.covr.kinds import covr_file
from clevrhope.splits.nonce.kinds import TOLD, nonce_file
from clevrhope.splits.palettes import palette_from_json
from clevrhope.version import DATASET_VERSION, software_version

PALETTES_SHOWN = 8
"""Maximum number of palettes whose combinations are listed."""


def show_overview(console: Console, overview: Overview) -> None:
    """Shows the dataset's content, its size on disk, and how it was made."""

    def show(line: str = "", style: str = "") -> None:
        console.print(Text(line, style=style), soft_wrap=True)

    show(_headline(overview), "bold")
    show()
    for name, value in _facts(overview):
        show(f"{name:<10} {value}")
    show()
    for splits, rows in _by_splits(overview.manifest.splits).items():
        show_table(console, "Questions (images)", ("HOP", *splits), rows)
    for splits, rows in _by_splits(overview.manifest.covr).items():
        names = map(covr_file, splits)
        show_table(console, "Questions about several images (images)", ("HOP", *names), rows)
    for splits, rows in _by_splits(overview.manifest.nonce).items():
        names = map(nonce_file, splits)
        show_table(console, "Nonce words (images)", ("HOP", *names), rows)
    _show_combinations(show, overview)
    _show_pools(console, overview)
    _show_suites(console, overview)
    rows = [(kind, size(n_bytes)) for kind, n_bytes in overview.bytes.items()]
    show_table(console, "On disk", ("kind", ""), [*rows, ("all", size(sum(overview.bytes.values())))])
    made = overview.reproduction
    if made is not None and made.commands:
        show("To reproduce", "bold")
        for command in made.commands:
            show(command)
        for name, text in made.settings.items():
            show(f"where {name}, or the file that you gave as --config, says:")
            for line in text.strip().splitlines():
                show(f"  {line}")
        for note in made.notes:
            show(note, "dim")
        show()


def _headline(overview: Overview) -> str:
    manifest = overview.manifest
    n = len({**manifest.splits, **manifest.nonce})
    images = f"{overview.n_images:,} images" if overview.n_images else "no images"
    if overview.n_waiting:
        images = f"{overview.n_images + overview.n_waiting:,} images so far"
    if overview.part is not None:
        state = f"part {overview.part} of a dataset; clevrhope merge joins the parts"
    elif manifest.complete:
        state = "complete"
    else:
        state = "not finished; run the dataset's build again to finish it"
    questions = f"{overview.n_questions:,} questions in {n} sub-dataset{'s' * (n != 1)}"
    return f"{overview.folder}: {questions}, {images}; {state}"


def _facts(overview: Overview) -> Iterator[tuple[str, str]]:
    manifest = overview.manifest
    world, constraints = manifest.world, manifest.world["constraints"]
    if manifest.edition:
        keep = "; keep its seed to yourself" if manifest.public_seed is None else ""
        yield "Edition", f"{manifest.edition_in_words}{keep}"
    if manifest.source:
        form, programs = (manifest.source[name] for name in ("form", "programs"))
        yield "Source", f"published files of the form {form}; seed and images' settings are not known"
        yield "Programs", programs
    else:
        made = f", which makes version {DATASET_VERSION} and reads others"
        made = "" if manifest.version == DATASET_VERSION else made
        yield "Seed", str(manifest.seed)
        yield "Version", f"{manifest.version} of datasets; this is clevrhope {software_version()}{made}"
    values = listed([f"{len(names)} {kind}s" for kind, names in world["attributes"].items()])
    objects = f"{constraints['min_objects']} to {constraints['max_objects']} objects"
    look = "; the look was changed" if world.get("look") else ""
    yield "World", f"{values}; {objects} in a scene{look}"
    if clevr := world.get("clevr"):
        how = "come first" if clevr["share"] == 1 else f"take {clevr['share']:.0%} of the places"
        yield "CLEVR", f"scenes of CLEVR's train split {how} in the train pool, until they run out"
    if manifest.rendering is None and not manifest.source:
        yield "Images", "none"
    elif rendering := manifest.rendering:
        revision = f", revision {rendering['revision']}" if "revision" in rendering else ""
        pixels = f"{rendering['width']} x {rendering['height']} pixels"
        yield "Images", f"{pixels}, by {made_by(rendering)}{revision}"
    for name, value in manifest.settings.changed_settings().items():
        yield "Setting", f"{manifest.settings.option(name)} {value}: {manifest.settings.effect(name)}"
    for types in {entry["types"] for of in manifest.nonce.values() for entry in of.values()}:
        yield "Episodes", f"the types of nonce words are {'told' if types == TOLD else 'to be found'}"
    for store in overview.stores:
        yield "Features", f"{store.name}: {store.kind} of {listed(list(store.pools)) or 'no pool yet'}"


def _by_splits(
    there: Mapping[str, Mapping[str, Mapping[str, int]]],
) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Groups sub-datasets with the same splits, as rows of one table."""
    tables: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for hop, splits in there.items():
        cells = (f"{entry['questions']:,} ({entry['images']:,})" for entry in splits.values())
        tables.setdefault(tuple(splits), []).append((hop, *cells))
    return tables


def _show_combinations(show: Callable[[str, str], None], overview: Overview) -> None:
    """Shows the combinations that each palette allows, one line each, for the first few palettes."""
    palettes = overview.manifest.palettes
    for name, raw in list(palettes.items())[:PALETTES_SHOWN]:
        show(palette_from_json(raw).in_words(name), "")
    if len(palettes) > PALETTES_SHOWN:
        show(f"and {len(palettes) - PALETTES_SHOWN} more palettes, which are in manifest.json", "dim")
    if palettes:
        show("", "")


def _show_pools(console: Console, overview: Overview) -> None:
    rows = [
        (pool, f"{entry['images']:,}", " ".join(entry.get("files", ())), " ".join(entry.get("passes", ())))
        for pool, entry in overview.manifest.pools.items()
    ]
    if rows:
        show_table(console, "Images", ("pool", "images", "files", "passes"), rows)


def _show_suites(console: Console, overview: Overview) -> None:
    rows = [
        (suite, hop, split, f"{entry['pairs']:,}")
        for hop, suites in overview.manifest.suites.items()
        for suite, splits in suites.items()
        for split, entry in splits.items()
    ]
    if rows:
        show_table(console, "Paired tests", ("suite", "HOP", "split", "pairs"), sorted(rows))
