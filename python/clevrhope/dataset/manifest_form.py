"""The form of manifest.json. Every name in it that becomes part of a path is checked by it."""

from clevrhope.config.question_settings import QuestionSettings
from clevrhope.runtime.forms import (
    BOOLEAN,
    COUNT,
    FILE_NAME,
    NAME,
    NUMBER,
    OBJECT,
    PATH,
    SEED,
    SHA256,
    SHARE,
    TEXT,
    Fields,
    ListOf,
    MapOf,
    Nullable,
    one_of,
)
from clevrhope.splits.hops import NAME_ORDER
from clevrhope.splits.nonce.kinds import FOUND, TOLD

_CONSTRAINTS = ("min_objects", "max_objects", "height", "width", "min_pixels")
_ATTRIBUTE = one_of(NAME_ORDER)
_SPLITS = MapOf(
    MapOf(
        Fields({"pool": NAME, "questions": COUNT, "images": COUNT}, {"places": COUNT, "sets": COUNT}),
        keys=NAME,
    ),
    keys=NAME,
)
FILES = MapOf(Fields({"bytes": COUNT, "sha256": SHA256}), keys=PATH)
TABLE = Fields({"files": COUNT, "sha256": SHA256})
_PLACE = ListOf(NUMBER, 3)
_LOOK = Fields({}, {"camera": Fields({}, {"location": _PLACE, "target": _PLACE, "jitter": NUMBER})})
MANIFEST = Fields(
    {
        "version": TEXT,
        "seed": SEED,
        "world": Fields(
            {
                "fingerprint": TEXT,
                "constraints": Fields(dict.fromkeys(_CONSTRAINTS, COUNT)),
                "attributes": MapOf(ListOf(TEXT), keys=_ATTRIBUTE),
            },
            {"clevr": Fields({"fingerprint": TEXT, "scenes": COUNT, "share": SHARE}), "look": _LOOK},
        ),
        "templates": Fields({"fingerprint": TEXT, "files": ListOf(FILE_NAME)}),
        "questions": Fields(
            {"window": COUNT, "an_image": MapOf(COUNT)},
            {name: one_of(choices) for name, choices in QuestionSettings.choices().items()},
        ),
        "rendering": Nullable(Fields({"renderer": TEXT})),
        "config": Fields({}, {"preset": TEXT, "sizes": MapOf(COUNT), "images": TEXT, "passes": ListOf(TEXT)}),
        "requests": ListOf(Fields({}, {"config": OBJECT})),
        "splits": _SPLITS,
        "pools": MapOf(
            Fields(
                {"images": COUNT},
                {"size": COUNT, "files": ListOf(TEXT), "passes": ListOf(TEXT), "unit": COUNT},
            ),
            keys=NAME,
        ),
        "checked": MapOf(ListOf(TEXT)),
        "files": FILES,
        "complete": BOOLEAN,
    },
    {
        "palettes": MapOf(
            Fields(
                {"types": ListOf(TEXT), "rows": ListOf(ListOf(ListOf(TEXT), least=1), least=1)},
                {"held_out": Nullable(ListOf(TEXT))},
            ),
            keys=NAME,
        ),
        "suites": MapOf(
            MapOf(
                MapOf(
                    Fields(
                        {"pairs": COUNT, "originals": COUNT},
                        {"images": COUNT, "visual": COUNT, "sha256": SHA256},
                    ),
                    keys=NAME,
                ),
                keys=NAME,
            ),
            keys=NAME,
        ),
        "covr": MapOf(
            MapOf(Fields({"pool": NAME, "questions": COUNT, "images": COUNT}), keys=NAME), keys=NAME
        ),
        "nonce": MapOf(
            MapOf(
                Fields(
                    {
                        **{"pool": NAME, "questions": COUNT, "images": COUNT},
                        **{"types": one_of((TOLD, FOUND)), "forms": MapOf(COUNT, keys=NAME)},
                    },
                ),
                keys=NAME,
            ),
            keys=NAME,
        ),
        "shard": Nullable(
            Fields({"number": COUNT, "of": COUNT, "asked": Fields({}, {"splits": MapOf(COUNT)})})
        ),
        "source": Fields(
            {"form": TEXT, "sha256": SHA256, "programs": TEXT, "notes": ListOf(TEXT)},
            {
                **{"splits": MapOf(SHA256), "grouped": ListOf(NAME), "is_placed": BOOLEAN},
                **{"root": TEXT, "dataset": TEXT, "in_place": BOOLEAN},
            },
        ),
        "edition": Fields({"name": NAME, "private": BOOLEAN}),
        "files_table": TABLE,
    },
)
