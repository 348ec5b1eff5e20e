"""The options that go with an edition."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from clevrhope.editions import Edition
    from clevrhope.pipeline import Request

_FREE = ("preset", "images", "passes", "question_json")
"""Settings that do not change the content fixed by an edition."""


def check_choices(request: "Request", edition: "Edition") -> None:
    """Checks that a request makes the edition or a part of it.

    Raises:
        UsageError: an option would make something else; the message names it and what is fixed.
    """
    from clevrhope.dataset.binding import difference
    from clevrhope.dataset.contents import same_hop
    from clevrhope.errors import listed
    from clevrhope.pipeline import Limits
    from clevrhope.splits.nonce.kinds import FOUND

    def refuse(what: str) -> None:
        raise click.UsageError(
            f"--edition {edition.name}: {what}; leave that out, or build a dataset without --edition, in "
            "another folder"
        )

    others = [name for name in request.hops if not any(same_hop(name, hop) for hop in edition.hops)]
    if others:
        refuse(f"{others[0]} is not one of its pairs, which are {listed(edition.hops, most=40)}")
    if request.prelim:
        refuse("it has no questions about single values (--prelim)")
    if request.covr:
        refuse("it has no questions about several images (--covr)")
    if request.nonce not in (0, edition.nonce) or request.nonce_types == FOUND:
        refuse(
            f"it has {edition.nonce} episodes with nonce words (--nonce), which say which words are for "
            "which attribute (--nonce-types told)"
            if edition.nonce
            else "it has no episodes with nonce words (--nonce)"
        )
    if request.limits != Limits():
        refuse("its combinations of values are not limited (--diversity, --palette)")
    made, fixed = (
        asdict(replace(config, **{name: getattr(edition.config, name) for name in _FREE}))
        for config in (request.config, edition.config)
    )
    for each in (made, fixed):
        each["rendering"].pop("device", None)
    if made != fixed:
        refuse(difference(fixed, made, sides=("in the edition", "asked for")))
