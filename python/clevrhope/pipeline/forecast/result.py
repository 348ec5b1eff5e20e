"""A plan as data: what a build would make, and how long it would take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clevrhope.pipeline.resolution import Resolved
from clevrhope.splits.covr.kinds import is_covr

SECONDS_OF_CHECK = 3.5e-5
"""Seconds per question of the check for leaks, measured on two cores, on 708,440 questions."""

SECONDS_TO_START, SECONDS_A_SPLIT = 1.0, 0.08
"""Fixed costs: to start a build and close its folder; and to try, write, sync, check and describe a split of
any size. Processor time on two cores, for builds of 1 to 145 splits; it dominates the time of small
builds."""


@dataclass(frozen=True)
class SplitPlan:
    """The planned content of a split."""

    hop: str
    split: str
    pool: str
    questions: int
    images: int


@dataclass(frozen=True)
class Rates:
    """The speed of this machine, as just measured."""

    questions_per_second: float
    sets_per_second: float
    """Questions over several images; 1 if none are to be made."""
    scenes_per_second: float
    seconds_per_picture: float | None
    """With all workers busy; None if nothing is to be rendered, or rendering failed."""
    least_seconds_per_picture: float | None
    """Seconds per image if rendering had all cores; None unless the machine looks busy."""
    seconds_per_passes: float | None
    """Seconds per image for annotations; None if none are wanted, or timing failed."""
    seconds_to_renderer: float
    """Seconds until all workers render: Blender starts and loads the materials."""
    bytes_a_question: float
    bytes_a_set_question: float
    bytes_a_scene: float
    bytes_an_image: Mapping[str, float]
    """Bytes per image by kind of file."""


@dataclass(frozen=True)
class Plan:
    """The planned result of a build."""

    resolved: Resolved
    splits: Sequence[SplitPlan]
    hop_images: Mapping[str, int]
    """Sub-dataset -> number of images that its splits use."""
    images: Mapping[str, int]
    """Pool -> number of images that the request's splits use."""
    from_clevr: Mapping[int, tuple[int, int]]
    """Number of objects -> images of pool `train` that have so many, and how many of these are CLEVR's; empty
    without CLEVR's scenes."""
    to_render: int
    """Missing images that are not CLEVR's."""
    to_copy: int
    """Missing images that are CLEVR's."""
    to_annotate: int
    """Images that lack some wanted annotation."""
    exact: bool
    """Whether images were counted, not estimated."""
    rates: Rates
    no_forecast_because: str
    """Why the time per image is unknown: none could be made, or the machine looks busy; "" if known."""

    @property
    def questions(self) -> int:
        """Number of questions in all splits."""
        return sum(each.questions for each in self.splits)

    @property
    def set_questions(self) -> int:
        """Number of these questions that are over several images."""
        return sum(each.questions for each in self.splits if is_covr(each.split))

    @property
    def reuse(self) -> float:
        """How many of the request's sub-datasets use an image, on average."""
        return sum(self.hop_images.values()) / max(1, sum(self.images.values()))

    @property
    def bytes(self) -> float:
        """Estimated bytes of all files."""
        n_images = sum(self.images.values())
        images = n_images * sum(self.rates.bytes_an_image.values()) if self.resolved.request.render else 0.0
        text = (self.questions - self.set_questions) * self.rates.bytes_a_question
        text += self.set_questions * self.rates.bytes_a_set_question
        return text + n_images * self.rates.bytes_a_scene + images

    @property
    def seconds(self) -> float | None:
        """Estimated seconds for the build; None if images are needed and their time is unknown."""
        each = self.rates.seconds_per_picture
        is_known = each is not None and not self.no_forecast_because
        return self._seconds(each or 0.0) if is_known or not self._makes_images else None

    @property
    def seconds_between(self) -> tuple[float, float] | None:
        """On a busy machine, seconds for the build with all cores, and as busy as now; otherwise None."""
        least, now = self.rates.least_seconds_per_picture, self.rates.seconds_per_picture
        if least is None or now is None or not self._makes_images:
            return None
        return self._seconds(least), self._seconds(now)

    @property
    def _makes_images(self) -> bool:
        return self.resolved.request.render and bool(self.to_render or self.to_annotate)

    def _seconds(self, per_picture: float) -> float:
        text = (self.questions - self.set_questions) / self.rates.questions_per_second
        text += self.set_questions / self.rates.sets_per_second
        text += self.questions * SECONDS_OF_CHECK
        text += sum(self.images.values()) / self.rates.scenes_per_second
        text += SECONDS_TO_START + SECONDS_A_SPLIT * len(self.splits)
        if not self._makes_images:
            return text
        text += self.to_annotate * (self.rates.seconds_per_passes or 0.0)
        return text + self.rates.seconds_to_renderer + self.to_render * per_picture
