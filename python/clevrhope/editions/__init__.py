"""Editions: named datasets whose content is fixed, with digests that tell whether a folder has it.

An edition is a TOML file here, which says all that decides content, and a JSON file beside it with what was
frozen: the engine that made it, and the digests of what it made. `definition` reads the first, `frozen` the
second, `content` computes digests from a folder's files, and `verification` compares them.
"""

from clevrhope.editions.definition import Edition, edition_names, read_edition
from clevrhope.editions.verification import Verification, verify

__all__ = ["Edition", "Verification", "edition_names", "read_edition", "verify"]
