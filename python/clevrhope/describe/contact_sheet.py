"""The contact sheet: an HTML page with some images and questions of each split.

It needs neither a network nor a server: images are embedded in the page, which has no script. Every value is
escaped.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from PIL import Image

from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.pages import render_page
from clevrhope.pages.markdown import listed
from clevrhope.scenes.sketch import SIZE_PX, box_px, scene_svg
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import OOD, SPLITS

Values = Mapping[str, Any]


def contact_sheet(sheet: Values) -> str:
    """The page as HTML.

    Args:
        sheet: `seed`, `n_questions`, `n_images`, `n_rendered`, `n_published` (images of CLEVR, or of its
            scenes if nothing is rendered), `renderer` ("" if there are no images) and `hops`. Each of these
            has its `hop`; `pair_words`, for each value of the pair the words that questions use for it;
            `seen`, the combinations of values in train images ("" for all but the pair); `splits` with cards
            of images, and `covr` with cards of questions about sets. A split has its name as `split`,
            `n_questions`, `n_images` and `cards`. A card of an image has `name`, `image` (a data URL),
            `sketch` (whether it was not rendered), `pair_boxes`, `questions` (`text`, `answer`, `family`),
            `source` (the name of an image of CLEVR, else "") and `group`, which has a row of its own, or -1.
            A card of a question has `text`, `template`, `structure`, `pair_place` and `sets`, each an
            `answer` and `images` (`name`, `image`, `sketch`, `is_source`).
    """
    return render_page(
        "contact_sheet.html",
        sheet=sheet,
        title=_title([cards["hop"] for cards in sheet["hops"]]),
        kinds=SPLITS,
        covr_kinds=COVR_KINDS,
        marked=_marked,
        in_order=_in_order,
    )


def _in_order(splits: Sequence[Values]) -> list[Values]:
    """The splits of a sub-dataset; first the one that a visitor has come for, which asks about the pair."""
    return sorted(splits, key=lambda each: each["split"] != OOD)


def _title(hops: Sequence[Hop]) -> str:
    if len(hops) == 1:
        return hops[0].title
    n_pairs = sum(hop.held_out is not None for hop in hops)
    n_values = sum(hop.value is not None for hop in hops)
    if not n_pairs + n_values:
        return "Nothing held out"
    parts = [
        *["a held-out pair" if n_pairs == 1 else "held-out pairs"] * (n_pairs > 0),
        *["a single value" if n_values == 1 else "single values"] * (n_values > 0),
        *["a control with nothing held out"] * (n_pairs + n_values < len(hops)),
    ]
    return listed(parts).capitalize()


def _marked(text: str, hop: Values) -> Markup:
    """The question with the pair's words marked, if it has a word for each value of the pair."""
    words = text.split(" ")
    bare = [word.strip("?,;.").lower() for word in words]
    known: frozenset[str] = frozenset()
    if not any(of_value.isdisjoint(bare) for of_value in hop["pair_words"]):
        known = known.union(*hop["pair_words"])
    return Markup(" ").join(
        Markup("<mark>{}</mark>").format(word) if plain in known else word
        for word, plain in zip(words, bare, strict=True)
    )


def thumbnail_url(pixels: ImageArray, *, width_px: int = SIZE_PX[0]) -> str:
    """A small JPEG of an image (height, width, 3), at most `width_px` wide, as a data URL."""
    memory = io.BytesIO()
    image = Image.fromarray(pixels)
    image.thumbnail((width_px, width_px))
    image.save(memory, "JPEG", quality=85, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(memory.getvalue()).decode()}"


def sketch_url(
    scene: Mapping[str, Any], colours: Mapping[str, Sequence[float]], size_px: tuple[int, int]
) -> str:
    """A drawing of a scene's objects as a data URL; `size_px` are width and height of its raster."""
    return f"data:image/svg+xml,{quote(scene_svg(scene, colors=colours, size_px=size_px))}"


def pair_boxes(
    scene: Mapping[str, Any], held_out: Sequence[tuple[str, str]], size_px: tuple[int, int]
) -> list[dict[str, float]]:
    """The boxes of the objects that have all values of a pair, in per cent of the image's width and height.

    `size_px` is that of the scene's raster.
    """
    width, height = size_px
    boxes = []
    for item in scene["objects"]:
        if all(item[kind] == value for kind, value in held_out):
            left, top, right, bottom = box_px(item, size_px)
            begin = {"left": 100 * left / width, "top": 100 * top / height}
            size = {"width": 100 * (right - left) / width, "height": 100 * (bottom - top) / height}
            boxes.append(begin | size)
    return boxes
