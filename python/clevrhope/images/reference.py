"""Reference scenes in, their 512-sample pictures out: `python -m clevrhope.images.reference`.

Takes about 20 minutes on two cores. Pictures that are there are kept, so it may be stopped and run again; to
make them anew, remove them first.
"""

from __future__ import annotations

import sys

from clevrhope.errors import ClevrhopeError
from clevrhope.images.quality import reference_folder, reference_picture, reference_scenes
from clevrhope.images.settings import SAMPLES_OF_THE_ORIGINAL, RenderSettings
from clevrhope.images.stage import render_png_files

#: On the CPU, whose pictures do not depend on what GPU there is.
REFERENCE_SETTINGS = RenderSettings(device="cpu").with_samples(SAMPLES_OF_THE_ORIGINAL)


def main() -> int:
    """Renders what is missing."""
    try:
        pictures = render_png_files(
            reference_scenes(),
            lambda scene: reference_picture(scene["image_index"]),
            settings=REFERENCE_SETTINGS,
        )
        for path in pictures:
            sys.stdout.write(f"{path.relative_to(reference_folder())}\n")
    except ClevrhopeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
