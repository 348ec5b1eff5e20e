"""Parameter types for names of pairs, splits and editions: the shell completes them, errors list them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType


class Name(StringParamType):
    """A name, which the shell completes with those that are known.

    Attributes:
        known: the names for a command line.
        missing: what an error says where the option is missing; None for nothing.
    """

    def __init__(
        self, known: Callable[[click.Context], Sequence[str]], missing: Callable[[click.Context], str | None]
    ) -> None:
        self.known, self.missing = known, missing

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        """What there is in the folder; None if no folder is known."""
        return None if ctx is None else self.missing(ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The known names that begin with the typed text."""
        return [CompletionItem(name) for name in self.known(ctx) if name.startswith(incomplete)]


def _known_hops(ctx: click.Context) -> Sequence[str]:
    """The HOPs of the folder, or the paper's pairs."""
    from clevrhope.splits.hops import HOP_GROUPS, NONE

    return _hops_in(_folder(ctx)) or [*HOP_GROUPS["all"], NONE]


def _hops_there(ctx: click.Context) -> str | None:
    from clevrhope.dataset.contents import hop_names

    folder = _folder(ctx)
    return None if folder is None else f"{folder} has {hop_names(folder, _hops_in(folder))}"


def _known_splits(ctx: click.Context) -> Sequence[str]:
    """The splits of the folder, or of all kinds of splits."""
    from clevrhope.splits.kinds import SPLITS

    return _splits_in(ctx) or list(SPLITS)


def _splits_there(ctx: click.Context) -> str | None:
    splits = _splits_in(ctx)
    return f"There are {', '.join(splits)}" if splits else None


def _editions(ctx: click.Context) -> Sequence[str]:
    from clevrhope.editions import edition_names

    return edition_names()


def _folder(ctx: click.Context) -> Path | None:
    """The dataset's folder on the command line; None if it names no dataset."""
    # While the shell completes an option's value, click leaves the arguments before it unparsed in `args`.
    given = [ctx.params.get("folder"), *ctx.args]
    return next((Path(each) for each in given if each and _hops_in(Path(each))), None)


def _hops_in(folder: Path | None) -> list[str]:
    """The names of a folder's HOPs; empty if it is not a dataset."""
    from clevrhope.dataset.contents import hops_in
    from clevrhope.dataset.layout import Layout
    from clevrhope.errors import ClevrhopeError

    try:
        return [] if folder is None else list(hops_in(Layout(folder)))
    except ClevrhopeError:
        return []


def _splits_in(ctx: click.Context) -> list[str]:
    """The splits of the HOP that the command line names, or of all HOPs of the folder."""
    from clevrhope.dataset.contents import all_splits_in, same_hop
    from clevrhope.dataset.layout import Layout

    folder = _folder(ctx)
    hops = _hops_in(folder)
    if folder is None:
        return []
    layout, wanted = Layout(folder), str(ctx.params.get("hop"))
    chosen = [hop for hop in hops if same_hop(wanted, hop)] or hops
    return list(dict.fromkeys(split for hop in chosen for split in all_splits_in(layout, hop)))


HOP = Name(_known_hops, _hops_there)
SPLIT = Name(_known_splits, _splits_there)
EDITION = Name(_editions, lambda ctx: None)
