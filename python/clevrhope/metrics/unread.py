"""What unread replies may hide: accuracy if all of them were wrong (as scored), and if all were right."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Unread:
    """The unread replies (`<UNK>`) of some runs to a split; shares are in per cent, the mean over runs.

    Attributes:
        n: number of unread replies, summed over runs.
        share: of all replies; None if there are none.
        share_yes: of the replies to questions whose right answer is yes; None if there are none.
        share_no: likewise no.
        if_wrong: the accuracy if all unread replies are wrong, which is how they are scored.
        if_right: the accuracy if all unread replies are right.
    """

    n: int
    share: float | None
    share_yes: float | None
    share_no: float | None
    if_wrong: float | None
    if_right: float | None


def unread_replies(given: Flags, right: Flags, unread: Flags, yes: Flags, no: Flags) -> Unread:
    """Counts unread replies, and bounds what the accuracy would be if they had been read.

    Args:
        given: (R, N) whether each of R runs answered each of N questions; others are left out.
        right: (R, N) whether the answer is right.
        unread: (R, N) whether the reply was not read.
        yes: (N,) whether the right answer is yes.
        no: (N,) whether the right answer is no.
    """

    def percent(part: Flags, of: Flags) -> float | None:
        parts, n = (part & of).sum(axis=1), of.sum(axis=1)
        return float(100 * np.mean(parts[n > 0] / n[n > 0])) if n.any() else None

    shares = [percent(unread, given & asked) for asked in (np.ones_like(yes), yes, no)]
    bounds = [percent(right, given), percent(right | unread, given)]
    return Unread(int(np.count_nonzero(unread & given)), *shares, *bounds)
