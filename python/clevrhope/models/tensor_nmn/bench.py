"""Sizes in, a table of how long each form of running modules takes out.

`python -m clevrhope.models.tensor_nmn.bench --help` says what can be asked for. The forms take turns in one
run, on the same questions of CLEVR's templates and the same made features, forward and back;
the median of the rounds counts. How far their scores lie apart is measured too.
"""

import argparse
from collections.abc import Sequence
from statistics import median
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from clevrhope import _core
from clevrhope.dataset.vocab import Vocab, make_vocab
from clevrhope.models.batch import Batch
from clevrhope.models.tensor_nmn.config import TensorNmnConfig
from clevrhope.models.tensor_nmn.engine import FORMS
from clevrhope.models.tensor_nmn.levels import plan_levels, plan_runs
from clevrhope.models.tensor_nmn.model import TensorNmn
from clevrhope.questions import instantiate_questions, read_templates
from clevrhope.scenes import read_world, sample_scenes


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m clevrhope.models.tensor_nmn.bench", description=__doc__)
    parser.add_argument("--batch", type=int, default=64, help="questions a step (64)")
    parser.add_argument("--channels", type=int, default=128, help="of all maps (128)")
    parser.add_argument("--features", choices=("resnet101", "pixels"), default="resnet101")
    parser.add_argument("--picture", type=int, nargs=2, default=(96, 64), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--halvings", type=int, default=3, help="of pictures' sides, for pixels (3)")
    parser.add_argument("--forms", nargs="+", choices=tuple(FORMS), default=tuple(FORMS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    chosen = parser.parse_args(arguments)
    config = {
        "features": chosen.features,
        "channels": chosen.channels,
        "picture_width": chosen.picture[0],
        "picture_height": chosen.picture[1],
        "halvings": chosen.halvings,
    }
    times, apart, shape = measured(config, chosen.forms, chosen.batch, chosen.rounds, chosen.device)
    slowest = times[chosen.forms[0]]
    print(shape)  # noqa: T201
    print(f"\n| form | ms a step | against {chosen.forms[0]} | scores apart by |\n|---|---|---|---|")  # noqa: T201
    for form in chosen.forms:
        print(  # noqa: T201
            f"| {form} | {1e3 * times[form]:.1f} | {slowest / times[form]:.1f} times | {apart[form]:.1e} |"
        )


def measured(
    config: dict[str, object], forms: Sequence[str], n: int, rounds: int, device: str
) -> tuple[dict[str, float], dict[str, float], str]:
    """Seconds a step by form, how far scores lie from those of the first form, and what was run, in words."""
    batch, vocab = _batch(config, n)
    batch = batch.to(device)
    models = {}
    for form in forms:
        torch.manual_seed(0)
        models[form] = TensorNmn.build({**config, "stages": "engine", "form": form}, vocab).to(device)
    scores, seconds = {}, {form: list[float]() for form in forms}
    for number in range(rounds + 1):
        for form, model in models.items():
            began = _now(device)
            model.zero_grad()
            model.loss(batch).backward()  # type: ignore[no-untyped-call]
            if number:  # the first round warms up
                seconds[form].append(_now(device) - began)
    for form, model in models.items():
        model.eval()
        with torch.no_grad():
            scores[form] = model.predict(batch)
    arities = models[forms[0]].engine.arities
    levels, runs = plan_levels(batch.programs, arities), plan_runs(batch.programs, arities)
    shape = (
        f"{n} questions, {len(levels)} nodes on {len(levels.sets)} levels or in {len(runs.sets)} runs; "
        f"{config['features']}, {config['channels']} channels; {device}, {torch.get_num_threads()} threads; "
        f"median of {rounds} rounds"
    )
    first: Tensor = scores[forms[0]]
    apart = {form: float((each - first).abs().max()) for form, each in scores.items()}
    return {form: median(each) for form, each in seconds.items()}, apart, shape


def _now(device: str) -> float:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
    return perf_counter()


def _batch(config: dict[str, object], n: int) -> tuple[Batch, Vocab]:
    """Questions of all families, one a scene, on features of noise; and their vocabulary."""
    world = read_world()
    templates, tokens = read_templates(world), _core.ProgramTokens(world.vocabulary)
    vocab = make_vocab(templates.words, tokens.names, world.answers)
    # As in a shuffled train set, questions of a batch are about different pictures.
    asked = instantiate_questions(
        sample_scenes(n, seed=1, world=world), seed=1, templates=templates, questions_per_scene=1
    )
    rows, lengths = asked.program_tokens(_core.ProgramTokens(world.vocabulary, vocab.programs()), 64)
    answers = [vocab.answer_token_to_idx[world.answers[number]] for number in asked.answers]
    n = len(asked)
    settings = TensorNmnConfig(**config)  # type: ignore[arg-type]
    size = (n, 3, settings.picture_height, settings.picture_width)
    features = (
        {"maps": torch.rand(n, 1024, 14, 14).half()}
        if settings.features == "resnet101"
        else {"pixels": torch.randint(0, 256, size, dtype=torch.uint8)}
    )
    nothing = torch.zeros(n, 1, dtype=torch.int64)
    batch = Batch(
        questions=nothing,
        question_lengths=nothing[:, 0],
        programs=torch.from_numpy(rows.astype(np.int64)),
        program_lengths=torch.from_numpy(lengths.astype(np.int64)),
        answers=torch.tensor(answers),
        families=nothing[:, 0],
        rows=torch.arange(n),
        features=features,
    )
    return batch, vocab


if __name__ == "__main__":
    main()
