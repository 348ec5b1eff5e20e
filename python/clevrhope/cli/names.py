"""Parameter types for names of pairs, splits and editions: the shell completes them, errors list them."""

from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType


class HopName(StringParamType):
    """The name of a HOP."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        """The names of the folder's HOPs; None if no folder is known."""
        from clevrhope.dataset.contents import hop_names

        folder = _folder(ctx)
        return None if folder is None else f"{folder} has {hop_names(folder, _hops_in(folder))}"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names of the folder's HOPs, or of the paper's pairs, that begin with the typed text."""
        from clevrhope.splits.hops import HOP_GROUPS, NONE

        return _beginning(_hops_in(_folder(ctx)) or [*HOP_GROUPS["all"], NONE], incomplete)


class SplitName(StringParamType):
    """The name of a split."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        """The names of the splits in the folder; None if no folder is known."""
        there = _splits_in(ctx)
        return f"There are {', '.join(there)}" if there else None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names of the folder's splits, or of all kinds of splits, that begin with the typed text."""
        from clevrhope.splits.kinds import SPLITS

        return _beginning(_splits_in(ctx) or list(SPLITS), incomplete)


class EditionName(StringParamType):
    """The name of an edition."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names of the editions that begin with the typed text."""
        from clevrhope.editions import edition_names

        return _beginning(edition_names(), incomplete)


def _beginning(names: Sequence[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)]


def _folder(ctx: click.Context | None) -> Path | None:
    """The dataset's folder on the command line; None if it names no dataset."""
    if ctx is None:
        return None
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


def _splits_in(ctx: click.Context | None) -> list[str]:
    """The splits of the HOP that the command line names, or of all HOPs of the folder."""
    from clevrhope.dataset.contents import all_splits_in, same_hop
    from clevrhope.dataset.layout import Layout

    folder = _folder(ctx)
    hops = _hops_in(folder)
    if ctx is None or folder is None:
        return []
    layout, wanted = Layout(folder), str(ctx.params.get("hop"))
    chosen = [hop for hop in hops if same_hop(wanted, hop)] or hops
    there = [split for hop in chosen for split in all_splits_in(layout, hop)]
    return list(dict.fromkeys(there))


HOP = HopName()
SPLIT = SplitName()
EDITION = EditionName()
