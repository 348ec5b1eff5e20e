"""Times each form of running Tensor-NMN's modules: `python -m benchmarks.tensor_nmn --help`.

The forms take turns in one run, on the same questions of CLEVR's templates and the same synthetic features,
forward and backward. The table has the median of the rounds, and how far the scores differ.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import torch
from torch import Tensor

from benchmarks.models import now
from benchmarks.synthetic_batch import clevr_vocab, synthetic_batch
from clevrhope.models.tensor_nmn.config import TensorNmnConfig
from clevrhope.models.tensor_nmn.engine import FORMS
from clevrhope.models.tensor_nmn.levels import plan_levels
from clevrhope.models.tensor_nmn.model import TensorNmn


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tensor_nmn", description=__doc__)
    parser.add_argument("--batch", type=int, default=64, help="questions per step (64)")
    parser.add_argument("--channels", type=int, default=128, help="of all maps (128)")
    parser.add_argument("--features", choices=("resnet101", "pixels"), default="resnet101")
    parser.add_argument("--image", type=int, nargs=2, default=(96, 64), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--halvings", type=int, default=3, help="of images' sides, for pixels (3)")
    parser.add_argument("--forms", nargs="+", choices=tuple(FORMS), default=tuple(FORMS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    chosen = parser.parse_args(arguments)
    config = {
        "features": chosen.features,
        "channels": chosen.channels,
        "image_width": chosen.image[0],
        "image_height": chosen.image[1],
        "halvings": chosen.halvings,
    }
    times, differences, shape = measure_forms(
        config, chosen.forms, chosen.batch, chosen.rounds, chosen.device
    )
    first = chosen.forms[0]
    lines = [shape, "", f"| form | ms per step | against {first} | scores differ by |", "|---|---|---|---|"]
    for form in chosen.forms:
        speedup = f"{times[first] / times[form]:.1f} times"
        lines.append(f"| {form} | {1e3 * times[form]:.1f} | {speedup} | {differences[form]:.1e} |")
    print("\n".join(lines))  # noqa: T201


def measure_forms(
    config: dict[str, object], forms: Sequence[str], n: int, rounds: int, device: str
) -> tuple[dict[str, float], dict[str, float], str]:
    """Seconds per step by form, largest difference in scores from the first form, and a line on the work."""
    settings = TensorNmnConfig(**config)  # type: ignore[arg-type]
    size = {"height": settings.image_height, "width": settings.image_width}
    # As in a shuffled train set, questions of a batch are about different images.
    on_cpu, vocab = synthetic_batch(n, 1, kind=settings.features, **size), clevr_vocab()
    models, batches = {}, {}
    for form in forms:
        torch.manual_seed(0)
        models[form] = TensorNmn.build({**config, "stages": "engine", "form": form}, vocab).to(device)
        # As in training, the programs are planned before the step.
        batches[form] = replace(on_cpu.to(device), plan=models[form].plan(on_cpu))
    scores, seconds = {}, {form: list[float]() for form in forms}
    for number in range(rounds + 1):
        for form, model in models.items():
            began = now(torch.device(device))
            model.zero_grad()
            model.loss(batches[form]).backward()  # type: ignore[no-untyped-call]
            if number:  # the first round warms up
                seconds[form].append(now(torch.device(device)) - began)
    for form, model in models.items():
        model.eval()
        with torch.no_grad():
            scores[form] = model.predict(batches[form])
    arities = models[forms[0]].engine.arities
    levels, runs = (plan_levels(on_cpu.programs, arities, by_token=each) for each in (False, True))
    shape = (
        f"{n} questions, {levels.sets[-1][1]} nodes on {len(levels.sets)} levels or in {len(runs.sets)} "
        f"runs; {config['features']}, {config['channels']} channels; {device}, "
        f"{torch.get_num_threads()} threads; median of {rounds} rounds"
    )
    first: Tensor = scores[forms[0]]
    differences = {form: float((each - first).abs().max()) for form, each in scores.items()}
    return {form: median(each) for form, each in seconds.items()}, differences, shape


if __name__ == "__main__":
    main()
