"""Reads sentences about the steps of answers, and computes what they mean on scenes.

The meanings of words and phrases are written here a second time, and share nothing with the engine that
writes the sentences.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, TypeAlias

Object: TypeAlias = tuple[int, int]
"""An image's number, and an object's number in it."""
Objects: TypeAlias = frozenset[Object]
Found: TypeAlias = Iterator[tuple[Objects, int]]
"""Ways to read a part of a sentence: the objects that it means, and the position of its end."""
Claim: TypeAlias = tuple[Objects, Any, Object | None]
"""The objects that a sentence lists, the value that it states, and the object that it is about."""

_RELATIONS: Final = {"left of": "left", "right of": "right", "behind": "behind", "in front of": "front"}
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")
_NO_OBJECTS: Final[Objects] = frozenset()
_KIND: Final = "size|color|material|shape"
_IMAGE = re.compile(rf" (?:in|of) the ({'|'.join(_ORDINALS)}) image")
_PLACE = re.compile(r" at the (?:(upper|lower) (left|middle|right)|(left|center|right))")
_RANK = re.compile(r"the (leftmost|rightmost|(\w+) from the left) of the (\d+) ")
_WORD = re.compile(r"\w+")
_SAME = re.compile(rf"the same ({_KIND}) as ")
_COUNTED = re.compile(r"there (?:is|are) (no|one|\d+) ")
_IMAGES = re.compile(
    r"(no image has|one image has|(\d+) images have) "
    r"(?:exactly (one|\d+) |at least (\d+) |from (\d+) to (\d+) )?"
)
_COMPARED = re.compile(r"(\d+) is (not )?(equal to|less than|greater than|at least|at most) (\d+)")
_PARTS: Final = {
    "both parts are true": (True, True),
    "the first part is true, but the second is false": (True, False),
    "the first part is false, but the second is true": (False, True),
    "both parts are false": (False, False),
}
_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "equal to": int.__eq__,
    "less than": int.__lt__,
    "greater than": int.__gt__,
    "at least": int.__ge__,
    "at most": int.__le__,
}


class Images:
    """The images of a question, as sentences speak of them."""

    def __init__(
        self,
        scenes: Sequence[Mapping[str, Any]],
        attributes: Mapping[str, Sequence[str]],
        size: tuple[int, int],
    ) -> None:
        """Takes scenes in CLEVR's form, the values of each attribute, and the width and height of images."""
        self.n = len(scenes)
        self.items = {
            (i, k): item for i, scene in enumerate(scenes) for k, item in enumerate(scene["objects"])
        }
        self.everything: Objects = frozenset(self.items)
        self.kinds = {value: kind for kind, values in attributes.items() for value in values}
        self.shapes = frozenset(attributes["shape"])
        self._scenes, self._size = scenes, size

    def having(self, value: str) -> Objects:
        """The objects with a value."""
        kind = self.kinds[value]
        return frozenset(one for one, item in self.items.items() if item[kind] == value)

    def related(self, words: str, to: Object) -> Objects:
        """The objects "left of" an object."""
        image, number = to
        others = self._scenes[image]["relationships"][_RELATIONS[words]][number]
        return frozenset((image, other) for other in others)

    def alike(self, kind: str, to: Object) -> Objects:
        """The other objects with an object's value of an attribute."""
        return self.having(self.items[to][kind]) - {to}

    def of(self, image: int) -> Objects:
        """The objects of an image."""
        return frozenset(one for one in self.everything if one[0] == image)

    def at(self, row: str, column: str) -> Objects:
        """The objects with their centers in a ninth of their image."""
        wanted = (("left", "middle", "right").index(column), ("upper", "middle", "lower").index(row))
        return frozenset(one for one in self.everything if self._ninth(one) == wanted)

    def from_left(self, objects: Objects) -> list[Object]:
        """Objects of one image from left to right; of two at the same distance, the upper one first."""
        return sorted(objects, key=lambda one: (*self.items[one]["pixel_coords"][:2], one))

    def _ninth(self, one: Object) -> tuple[int, int]:
        u, v = self.items[one]["pixel_coords"][:2]
        column, row = (min(max(3 * int(x) // n, 0), 2) for x, n in zip((u, v), self._size, strict=True))
        return column, row


class Reading:
    """A sentence, with everything that its parts can mean; a part that is not so has no meaning."""

    def __init__(self, text: str, images: Images, it: Object | None) -> None:
        self.text = text[:1].lower() + text[1:].removesuffix(".")
        self.images, self.it = images, it

    def _after(self, words: str, at: int) -> Iterator[int]:
        if self.text.startswith(words, at):
            yield at + len(words)

    def values(self, at: int, many: bool, among: Objects) -> Found:
        """Adjectives and a noun: "large red cubes"."""
        word = _WORD.match(self.text, at)
        if word is None:
            return
        noun = word[0].removesuffix("s") if many and word[0].endswith("s") else "" if many else word[0]
        if noun == "object":
            yield among, word.end()
        if noun in self.images.shapes:
            yield among & self.images.having(noun), word.end()
        if word[0] in self.images.kinds:
            for end in self._after(" ", word.end()):
                yield from self.values(end, many, among & self.images.having(word[0]))

    def name(self, at: int, image: int | None = None) -> Iterator[tuple[Object, int]]:
        """One object: "it", or a name that nothing else in its image has."""
        if self.it is not None:
            yield from ((self.it, end) for end in self._after("it", at))
        for begin in self._after("the ", at):
            for members, place in self.values(begin, False, self.images.everything):
                for found, end in self._placed(members, place, image):
                    yield from ((one, end) for one in found if len(found) == 1)
        if rank := _RANK.match(self.text, at):
            for members, place in self.values(rank.end(), True, self.images.everything):
                for found, end in self._placed(members, place, image):
                    if len(found) == int(rank[3]) > (place_of := _rank(rank[1], rank[2])):
                        yield self.images.from_left(found)[place_of], end

    def _placed(self, members: Objects, at: int, image: int | None = None) -> Found:
        """Members that are where it is said that they are, and in the image that is named."""
        found = [(members, at)]
        if place := _PLACE.match(self.text, at):
            row, column = place[1] or "middle", (place[2] or place[3]).replace("center", "middle")
            found.append((members & self.images.at(row, column), place.end()))
        for placed, end in found:
            if image is not None or self.images.n == 1:
                yield placed & self.images.of(image or 0), end
            elif of := _IMAGE.match(self.text, end):
                yield placed & self.images.of(_ORDINALS.index(of[1])), of.end()

    def names(self, at: int, word: str, image: int | None = None) -> Iterator[tuple[list[Object], int]]:
        """A list: "the red cube, the sphere and the gray cube"."""
        for first, end in self.name(at, image):
            yield [first], end
            for begin in (*self._after(", ", end), *self._after(f" {word} ", end)):
                yield from (([first, *rest], last) for rest, last in self.names(begin, word, image))

    def phrase(self, at: int, many: bool, clauses: int) -> Found:
        """A set's description with at most so many clauses: "other cubes that are left of a sphere"."""
        for begin in (at, *self._after("other ", at)):
            for members, end in self.values(begin, many, self.images.everything):
                yield from self._with_clauses(members, end, " ", many, clauses)

    def _with_clauses(self, members: Objects, at: int, mark: str, many: bool, clauses: int) -> Found:
        yield members, at
        for begin in self._after(mark, at) if clauses else ():
            for allowed, end in self._clause(begin, many):
                yield from self._with_clauses(members & allowed, end, " and ", many, clauses - 1)

    def _clause(self, at: int, many: bool) -> Found:
        images = self.images
        yield from self._beside(at)
        for begin in self._after("of ", at):
            if same := _SAME.match(self.text, begin):
                yield from ((images.alike(same[1], one), end) for one, end in self.name(same.end()))
        for begin in self._after("that are " if many else "that is ", at):
            yield from self._among(begin)
            for words in _RELATIONS:
                for start in self._after(f"{words} ", begin):
                    for others, end in self._any(start):
                        yield _union(images.related(words, one) for one in others), end
            for start in self._after("either ", begin):
                for first, middle in self._predicate(start, many):
                    for second_at in self._after(" or ", middle):
                        for second, end in self._predicate(second_at, many):
                            yield first | second, end
        for begin in self._after("that have " if many else "that has ", at):
            for others, middle in self._any(begin):
                for words in _RELATIONS:
                    for end in self._after(f" {words} {'them' if many else 'it'}", middle):
                        having = (one for one in images.everything if images.related(words, one) & others)
                        yield frozenset(having), end
            if same := _SAME.match(self.text, begin):
                for others, middle in self._any(same.end()):
                    for end in self._after(" in the same image" if images.n > 1 else "", middle):
                        alike = (images.alike(same[1], one) & images.of(one[0]) for one in others)
                        yield _union(alike), end

    def _beside(self, at: int) -> Found:
        """What stands in a relation to an object: "left of the red cube"."""
        for words in _RELATIONS:
            for begin in self._after(f"{words} ", at):
                yield from ((self.images.related(words, one), end) for one, end in self.name(begin))

    def _among(self, at: int) -> Found:
        yield from ((_NO_OBJECTS, end) for end in self._after("in an empty group", at))
        for begin in self._after("one of ", at):
            yield from ((frozenset(objects), end) for objects, end in self.names(begin, "or"))

    def _any(self, at: int) -> Found:
        """Some member of a set: "a red cube". Its article tells nothing."""
        for article in ("a ", "an ", "another "):
            for begin in self._after(article, at):
                yield from self.phrase(begin, False, 1)

    def _predicate(self, at: int, many: bool) -> Found:
        yield from self._beside(at)
        yield from self._among(at)
        yield from self.phrase(at, True, 1) if many else self._any(at)

    def claims(self, function: str, argument: str | None, inputs: Sequence[Any]) -> Iterator[Claim]:
        """What the whole sentence can mean as the sentence of a function of these inputs, if it is so."""
        text, verb = self.text, function.partition("_")[0]
        if counted := _COUNTED.match(text):
            for members in self._counted(counted):
                value = {"count": len(members), "exist": bool(members)}.get(function)
                yield members, value, min(members, default=None) if function == "unique" else None
        elif found := _IMAGES.match(text):
            for images in self._counted_images(found):
                yield _NO_OBJECTS, len(images) if verb == "count" else None, None
        elif compared := _COMPARED.fullmatch(text):
            value = _COMPARISONS[compared[3]](int(compared[1]), int(compared[4]))
            numbers = [*map(str, inputs), argument][:2]
            if value == (not compared[2]) and [compared[1], compared[4]] == numbers:
                yield _NO_OBJECTS, value, None
        elif minus := re.fullmatch(r"(\d+) minus (\d+) is (\d+)", text):
            if [int(minus[1]), int(minus[2])] == inputs:
                yield _NO_OBJECTS, int(minus[3]), None
        elif (parts := _PARTS.get(text.partition(", so ")[0])) or text.startswith("this is "):
            value = all(inputs) if function == "and" else any(inputs) != (function == "not")
            so = {("and", False): ", so not both are true", ("or", True): ", so at least one is true"}
            expected = f"this is {not value}, so the opposite is {value}".lower()
            if function == "not" and text == expected:
                yield _NO_OBJECTS, value, None
            if (
                function in ("and", "or")
                and parts == tuple(inputs)
                and text == text.partition(", so ")[0] + so.get((function, value), "")
            ):
                yield _NO_OBJECTS, value, None
        elif verb == "equal" and function != "equal_object":
            kind, (first, second) = function.partition("_")[2], inputs
            same, different = f"both {kind}s are {first}", f"the {kind}s {first} and {second} are different"
            if text == (same if first == second else different):
                yield _NO_OBJECTS, first == second, None
        else:
            yield from self._of_objects(function, argument, inputs)

    def _ends(self, found: Iterator[tuple[Any, int]], rest: str = "") -> Iterator[Any]:
        """The meanings of what ends where only `rest` follows."""
        return (meaning for meaning, end in found if self.text[end:] == rest)

    def _counted(self, counted: re.Match[str]) -> Iterator[Objects]:
        n = {"no": 0, "one": 1}.get(counted[1]) if counted[1].isalpha() else int(counted[1])
        for members, end in self.phrase(counted.end(), n != 1, 9):
            if len(members) != n:
                continue
            if n == 0 and end == len(self.text):
                yield members
            named = [end]
            for begin in self._after(": ", end):
                for listed in self._ends(self._listed(begin)):
                    if len(listed) == n and frozenset(listed) == members:
                        yield members
                names = (found for image in range(self.images.n) for found in self.name(begin, image))
                named += [last for one, last in names if members == {one}]
            for place in (place for at in named for place in self._after(",", at)):
                yield from (found for found in self._ends(self._placed(members, place)) if found == members)

    def _listed(self, at: int) -> Iterator[tuple[list[Object], int]]:
        """Objects by name, or those of each image after its number."""
        yield from self.names(at, "and")
        for image, ordinal in enumerate(_ORDINALS[: self.images.n]):
            for begin in self._after(f"in the {ordinal} image, ", at):
                for objects, end in self.names(begin, "and", image):
                    yield objects, end
                    for more in self._after("; ", end):
                        yield from (([*objects, *rest], last) for rest, last in self._listed(more))

    def _counted_images(self, found: re.Match[str]) -> Iterator[list[int]]:
        exact, least, low, high = (1 if each == "one" else each and int(each) for each in found.groups()[2:])
        low, high = exact or least or low or 1, exact or high or len(self.images.everything)
        for members, end in self.phrase(found.end(), exact != 1, 9):
            counts = [len(members & self.images.of(image)) for image in range(self.images.n)]
            images = [image for image, n in enumerate(counts) if n and low <= n <= high]
            said = {"no image has": 0, "one image has": 1}.get(found[1], int(found[2] or 0))
            rest = self.text[end:]
            listed = [_ORDINALS.index(each) for each in re.findall("|".join(_ORDINALS), rest)]
            if said == len(images) and listed == images and (rest.startswith(": ") if images else not rest):
                yield images

    def _of_objects(self, function: str, argument: str | None, inputs: Sequence[Any]) -> Iterator[Claim]:
        """Sentences about an object, two objects, or all members of a set."""
        quantities = {"all": True, "not all": False, "some": True, "none": False}
        for claimed, begin in quantities.items() if function in ("all", "some", "none") else ():
            for at in self._after(f"{claimed} of the ", 0):
                for scope, middle in self.phrase(at, True, 1):
                    for start in self._after(" are ", middle):
                        for fits in self._ends(self.phrase(start, True, 1)):
                            is_so = scope <= fits if "all" in claimed else bool(scope & fits)
                            if is_so == begin and [scope, fits] == [*map(frozenset, inputs)]:
                                yield _NO_OBJECTS, is_so != (function == "none"), None
        if same := re.fullmatch(
            rf"(?:all of )?the (.+) have (?:the same|different) ({_KIND})s?(: .+|, since there are none)",
            self.text,
        ):
            for members in self._ends(self.phrase(same.start(1), True, 1), self.text[same.end(1) :]):
                found = {self.images.items[one][same[2]] for one in members}
                listed = {each for each in re.findall(r"\w+", same[3]) if each in self.images.kinds}
                if listed == found and ("different" in same[0]) == (len(found) > 1):
                    yield _NO_OBJECTS, len(found) < 2, None
        for at in self._after("both are ", 0):
            yield from (
                (_NO_OBJECTS, True, None) for one in self._ends(self.name(at)) if inputs == [one, one]
            )
        for one, middle in self.name(0):
            for at in self._after(" and ", middle):
                others = self._ends(self.name(at), " are different objects")
                yield from (
                    (_NO_OBJECTS, False, None) for other in others if inputs == [one, other] and one != other
                )
            for value, words in self._about(function, one, middle, inputs):
                if not function.startswith("verify_") or words == argument:
                    yield _NO_OBJECTS, value, one
        its = re.match(rf"its ({_KIND}) is (\w+)$|the ({_KIND}) of (?=the )", self.text)
        if its and its[1] and self.it and self.images.items[self.it][its[1]] == its[2]:
            yield _NO_OBJECTS, its[2], self.it
        elif its and its[3]:
            for one, end in self.name(its.end()):
                if self.text[end:] == f" is {self.images.items[one][its[3]]}":
                    yield _NO_OBJECTS, self.images.items[one][its[3]], one

    def _about(self, function: str, one: Object, at: int, inputs: Sequence[Any]) -> Iterator[tuple[Any, str]]:
        """What is said of an object behind its name, such as that it is not red: the value, and of what."""
        said = re.match(r" is (not )?(?:(an?) )?(\w+)(?:, not (?:an? )?(\w+))?$", self.text[at:])
        kinds = self.images.kinds
        if said and said[3] in kinds and (kinds[said[3]] == "shape") == bool(said[2]):
            value = one in self.images.having(said[3])
            if said[4] and (said[3] == said[4] or kinds[said[3]] != kinds.get(said[4])):
                return
            if value == (not said[1]):
                yield from ((each, said[3]) for each in (value, said[3])[: 1 + value])
        for words, relation in _RELATIONS.items() if function.endswith("_relation") else ():
            for is_so, value in (("is", True), ("is not", False)):
                for start in self._after(f" {is_so} {words} ", at):
                    for other in self._ends(self.name(start)):
                        if (one in self.images.related(words, other)) == value and other == inputs[1]:
                            yield value, relation
            for opposite, start in product(_RELATIONS, self._after(f" is {words} ", at)):
                for other in self._ends(self.name(start), f", not {opposite} it"):
                    if one in self.images.related(words, other) and function == "choose_relation":
                        yield relation, relation


def _union(sets: Iterator[Objects]) -> Objects:
    return frozenset[Object]().union(*sets)


def _rank(word: str, ordinal: str | None) -> int:
    if ordinal is None:
        return 0 if word == "leftmost" else -1
    return _ORDINALS.index(ordinal) if ordinal in _ORDINALS else int(re.sub(r"\D", "", ordinal)) - 1
