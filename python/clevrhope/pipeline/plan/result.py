"""What a build would make, and how long it would take: what is planned, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clevrhope.pipeline.request import Resolved

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
    pictures: int


@dataclass(frozen=True)
class Rates:
    """Measured here, just now."""

    questions_per_second: float
    scenes_per_second: float
    seconds_per_picture: float | None
    """With all workers; None where nothing is rendered, or could be."""
    seconds_per_passes: float | None
    """Of masks, depths and normals of a picture; None where none are asked for, or could be timed."""
    seconds_to_renderer: float
    """Until all workers render: Blender's start, and its first look at the materials."""
    bytes_a_question: float
    bytes_a_scene: float
    bytes_a_picture: Mapping[str, float]
    """Of each kind of file that will be there."""


@dataclass(frozen=True)
class Plan:
    """What a build would make."""

    resolved: Resolved
    splits: Sequence[SplitPlan]
    hop_pictures: Mapping[str, int]
    """Pair -> pictures that some split of it uses, each once."""
    pictures: Mapping[str, int]
    """Pool -> pictures that some split of this request uses, each once."""
    scanned: Mapping[str, int]
    """Pool -> scenes that are looked at to find them; none of the pools of one-object pictures."""
    to_render: int
    """Those of them that are not there yet, but for CLEVR's own."""
    to_copy: int
    """Those that are CLEVR's, and not there yet."""
    to_annotate: int
    """Pictures of which some mask, depth or normal that is asked for is not there yet."""
    exact: bool
    """Counted, not estimated."""
    rates: Rates
    no_pictures_because: str
    """Why pictures could not be timed; empty when they were, or were not asked for."""

    @property
    def questions(self) -> int:
        """Questions of all splits."""
        return sum(each.questions for each in self.splits)

    @property
    def reuse(self) -> float:
        """How many of the request's pairs use a picture, on average."""
        return sum(self.hop_pictures.values()) / max(1, sum(self.pictures.values()))

    @property
    def bytes(self) -> float:
        """Bytes of all files."""
        n_pictures = sum(self.pictures.values())
        pictures = (
            n_pictures * sum(self.rates.bytes_a_picture.values()) if self.resolved.request.render else 0.0
        )
        return self.questions * self.rates.bytes_a_question + n_pictures * self.rates.bytes_a_scene + pictures

    @property
    def seconds(self) -> float | None:
        """Time from nothing; None when pictures are wanted and could not be timed."""
        text = self.questions * (1 / self.rates.questions_per_second + SECONDS_OF_CHECK)
        text += sum(self.pictures.values()) / self.rates.scenes_per_second
        text += SECONDS_TO_START + SECONDS_A_SPLIT * len(self.splits)
        if not self.resolved.request.render or not (self.to_render or self.to_annotate):
            return text
        if self.rates.seconds_per_picture is None:
            return None
        text += self.to_annotate * (self.rates.seconds_per_passes or 0.0)
        return text + self.rates.seconds_to_renderer + self.to_render * self.rates.seconds_per_picture
