"""What a check of a dataset reports: one thing in one place that is not as it must be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One thing that is not as it must be."""

    file: str
    """Path below the dataset's folder."""
    index: int | None
    """The question's place in its file, or the scene's index in its pool; None for a file as a whole."""
    problem: str
    value: str

    def __str__(self) -> str:
        place = self.file if self.index is None else f"{self.file}[{self.index}]"
        return f"{place}: {self.problem}: {self.value}"
