"""The engine's binding; private: use the modules of `clevrhope` that wrap it.

Handles are opaque, frozen and safe to share between threads. What can take long releases the GIL, uses all
cores and stops at Ctrl-C. Errors are those of `clevrhope.errors`.
"""

from typing import final

__all__ = ["Vocabulary"]

@final
class Vocabulary:
    """Attribute types with their values, the relations and the answers of a world."""

    def __new__(cls, properties: bytes, *, file: str, largest_count: int = 10) -> Vocabulary:
        """Reads a properties file as CLEVR writes it; `file` names it in messages.

        Raises:
            VocabularyError: no JSON, or no usable vocabulary; says where.
        """

    @property
    def attribute_types(self) -> list[tuple[str, list[str]]]:
        """Each attribute type with its values, in the order of their numbers."""

    @property
    def relations(self) -> list[str]:
        """Left, right, behind, front."""

    @property
    def answers(self) -> list[str]:
        """All answers as CLEVR spells them, in the order of their numbers: yes, no, integers, values."""
