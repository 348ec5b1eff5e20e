"""Draws the questions for an author of replies, and what each reply says, as replies_protocol.md has it.

python tests/metrics/draw_replies.py SEED OUT.jsonl
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from clevrhope.dataset.folder import Folder
from clevrhope.programs import default_vocabulary

N_EACH_STYLE = 50
HOP = "rubber_cylinder"
SIZES = {"complex_iid": 200, "complex_ood": 150, "minimal_iid": 150, "minimal_ood": 100}
SHARES = {"right": 0.57, "other": 0.36, "none": 0.07}


def answers_like(answer: str) -> list[str]:
    """The other answers of the same kind."""
    attributes = [values for _, values in default_vocabulary().attribute_types]
    kinds = [["yes", "no"], [str(i) for i in range(11)], *attributes]
    return [value for kind in kinds if answer in kind for value in kind if value != answer]


def draw(seed: int) -> list[dict[str, str | int | None]]:
    """600 rows: style (1 to 12), question, and the answer that the reply gives (None: no single one)."""
    with tempfile.TemporaryDirectory() as folder:
        build = ["clevrhope", "build", "--hop", HOP, "--preset", "small", "--no-render"]
        subprocess.run([*build, "--seed", str(seed), "--out", folder], check=True, stdout=subprocess.DEVNULL)
        layout = Folder.open(Path(folder)).layout
        random_numbers = random.Random(seed)
        questions = []
        for split, n_rows in SIZES.items():
            rows = json.loads(layout.questions_json(HOP, split).read_text("utf-8"))["questions"]
            questions += random_numbers.sample(rows, n_rows)
    random_numbers.shuffle(questions)
    drawn: list[dict[str, str | int | None]] = []
    for i, question in enumerate(questions):
        says = random_numbers.choices(list(SHARES), list(SHARES.values()))[0]
        answer = {
            "right": question["answer"],
            "other": random_numbers.choice(answers_like(question["answer"])),
            "none": None,
        }[says]
        drawn.append({"style": i // N_EACH_STYLE + 1, "question": question["question"], "truth": answer})
    return drawn


if __name__ == "__main__":
    text = "".join(json.dumps(row) + "\n" for row in draw(int(sys.argv[1])))
    Path(sys.argv[2]).write_text(text, "utf-8")
