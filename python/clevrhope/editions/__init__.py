"""Editions: named datasets with fixed content, and digests that tell whether a folder has that content.

An edition is a TOML file in this folder, which defines everything that decides content, and a JSON file
beside it with what was frozen: the engine that made it, and the digests of the result. `definition` reads the
first file, `frozen` the second, `content` computes digests of a folder's files, and `verification` compares
them.
"""

from clevrhope.editions.definition import Edition, edition_names, read_edition
from clevrhope.editions.verification import Verification, verify

__all__ = ["Edition", "Verification", "edition_names", "read_edition", "verify"]
