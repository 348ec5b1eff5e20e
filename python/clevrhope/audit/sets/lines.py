"""The lines of the audit's report that the checks of questions over several images fill in."""

from dataclasses import dataclass, fields

from clevrhope.audit.report import Check


@dataclass(frozen=True)
class SetLines:
    """One line for each property that is proved of questions over several images."""

    files: Check
    programs: Check
    distractors: Check
    pair: Check
    texts: Check
    balance: Check

    def all(self) -> list[Check]:
        """The lines in the report's order."""
        return [getattr(self, each.name) for each in fields(self)]


def set_lines() -> SetLines:
    """Lines for which nothing has been checked yet."""
    return SetLines(
        Check(
            "several images: files",
            "files of questions over several images are those of the manifest; numbers are in their range; "
            "HDF5 and JSON agree on every question; the images of a question are different scenes of the "
            "split's pool with at most 64 objects; and two questions each have one text, one program and two "
            "answers",
            "questions",
        ),
        Check(
            "several images: programs",
            "every program over several images, executed again on its set, gives the answer; template and "
            "structure are the program's; the source shows what the question describes, if an image does",
            "questions",
        ),
        Check(
            "several images: distractors",
            "what a question over several images describes as unique is in its source once and nowhere else; "
            "`cut` says whether the program without its last leaf gives another answer, and it does where it "
            "must",
            "questions",
        ),
        Check(
            "several images: pair",
            "the held-out pair is in no question over several images but those of test_ood, where "
            "`pair_places` says where it is; unless it is held out of words alone, it is in no other image "
            "either",
            "questions",
        ),
        Check(
            "several images: texts",
            "dev and test share no text; test_paraphrased asks what test asks in words of its own; and texts "
            "of train have two answers",
            "questions",
        ),
        Check(
            "several images: balance",
            "answers are even in each template and structure, and sources over places; and neither the "
            "number of objects nor that of images gives the answer away",
            "cells",
        ),
    )
