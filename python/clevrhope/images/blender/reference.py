"""Renders the reference scenes with 512 samples: `python -m clevrhope.images.blender.reference [FOLDER]`.

The scenes are those of FOLDER/scenes.json (by default tests/data/look), with the values of
FOLDER/properties.json if it exists, and the images are written to the same folder. An image takes a minute or
more on two cores. Existing images are kept, so the command can be stopped and run again; to make images anew,
remove them first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from clevrhope.errors import ClevrhopeError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.quality import reference_folder, reference_image, reference_scenes
from clevrhope.images.settings import SAMPLES_OF_THE_ORIGINAL, RenderSettings
from clevrhope.images.stage import render_png_files
from clevrhope.look.definition import read_look

#: On the CPU, so that images do not depend on the machine's GPU.
REFERENCE_SETTINGS = RenderSettings(device="cpu").with_samples(SAMPLES_OF_THE_ORIGINAL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Renders the missing images."""
    folder = Path(next(iter(sys.argv[1:] if arguments is None else arguments), reference_folder()))
    try:
        scenes = reference_scenes(folder)
        properties = folder / "properties.json"
        look = read_look(properties=properties if properties.exists() else None)
        with CyclesRenderer(settings=REFERENCE_SETTINGS, look=look) as renderer:
            for path in render_png_files(
                scenes, lambda scene: reference_image(scene["image_index"], folder), renderer=renderer
            ):
                sys.stdout.write(f"{path.relative_to(folder)}\n")
                sys.stdout.flush()
    except ClevrhopeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
