"""What a build would make, and how long it would take: what is planned, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clevrhope.pipeline.resolved import Resolved

SECONDS_OF_CHECK = 3.5e-5
"""Of the check for leaks, a question; measured on two cores, on a sub-dataset of 708,440."""

SECONDS_TO_START, SECONDS_A_SPLIT = 1.0, 0.08
"""Of any build: until it runs and its folder is closed; and to try, write, sync, check and describe a split,
whatever its size. Processor time on two cores, of builds from one split to 145; it is most of a small build's
time and nothing of a large one's."""


@dataclass(frozen=True)
class SplitPlan:
    """What a split will hold."""

    hop: str
    split: str
    pool: str
    questions: int
    images: int


@dataclass(frozen=True)
class Rates:
    """Measured here, just now."""

    questions_per_second: float
    scenes_per_second: float
    seconds_per_picture: float | None
    """With all workers; None where nothing is rendered, or could be."""
    seconds_per_passes: float | None
    """Of masks, depths and normals of an image; None where none are asked for, or could be timed."""
    seconds_to_renderer: float
    """Until all workers render: Blender's start, and its first look at the materials."""
    bytes_a_question: float
    bytes_a_scene: float
    bytes_an_image: Mapping[str, float]
    """Of each kind of file that will be there."""


@dataclass(frozen=True)
class Plan:
    """What a build would make."""

    resolved: Resolved
    splits: Sequence[SplitPlan]
    hop_images: Mapping[str, int]
    """Pair -> images that some split of it uses, each once."""
    images: Mapping[str, int]
    """Pool -> images that some split of this request uses, each once."""
    scanned: Mapping[str, int]
    """Pool -> scenes that are looked at to find them; none of the pools of one-object images."""
    to_render: int
    """Those of them that are not there yet, but for CLEVR's own."""
    to_copy: int
    """Those that are CLEVR's, and not there yet."""
    to_annotate: int
    """Images of which some mask, depth or normal that is asked for is not there yet."""
    exact: bool
    """Counted, not estimated."""
    rates: Rates
    no_images_because: str
    """Why images could not be timed; empty when they were, or were not asked for."""

    @property
    def questions(self) -> int:
        """Questions of all splits."""
        return sum(each.questions for each in self.splits)

    @property
    def reuse(self) -> float:
        """How many of the request's pairs use an image, on average."""
        return sum(self.hop_images.values()) / max(1, sum(self.images.values()))

    @property
    def bytes(self) -> float:
        """Bytes of all files."""
        n_images = sum(self.images.values())
        images = n_images * sum(self.rates.bytes_an_image.values()) if self.resolved.request.render else 0.0
        return self.questions * self.rates.bytes_a_question + n_images * self.rates.bytes_a_scene + images

    @property
    def seconds(self) -> float | None:
        """Time from nothing; None when images are wanted and could not be timed."""
        text = self.questions * (1 / self.rates.questions_per_second + SECONDS_OF_CHECK)
        text += sum(self.images.values()) / self.rates.scenes_per_second
        text += SECONDS_TO_START + SECONDS_A_SPLIT * len(self.splits)
        if not self.resolved.request.render or not (self.to_render or self.to_annotate):
            return text
        if self.rates.seconds_per_picture is None:
            return None
        text += self.to_annotate * (self.rates.seconds_per_passes or 0.0)
        return text + self.rates.seconds_to_renderer + self.to_render * self.rates.seconds_per_picture
