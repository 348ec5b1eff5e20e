"""Tensor-NMN: numbers of parameters, two forms with equal scores, ill-formed programs, stages, memory."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from small_batches import PIXELS, clevr_vocab, learn_by_heart, share_right, short_questions, small_batch

from clevrhope import _core
from clevrhope.models.batch import Batch
from clevrhope.models.maps import MapsConfig
from clevrhope.models.stems import make_stem, shifted
from clevrhope.models.tensor_nmn.config import TensorNmnConfig
from clevrhope.models.tensor_nmn.engine import FORMS, Engine
from clevrhope.models.tensor_nmn.generator import END, START, ProgramGenerator
from clevrhope.models.tensor_nmn.levels import Plan, PlanIndices
from clevrhope.models.tensor_nmn.model import GENERATORS, TensorNmn
from clevrhope.models.tensor_nmn.modules import Bank, ModuleBank, _block, _convolve, _one_by_one

SMALL = {
    **{**PIXELS, "classifier_channels": 16, "classifier_hidden": 32},
    **{"generator_words": 24, "generator_hidden": 64},
}


def small(seed: int = 0, **changes: object) -> TensorNmn:
    torch.manual_seed(seed)
    return TensorNmn.build({**SMALL, **changes}, clevr_vocab())


def n_parameters(module: torch.nn.Module) -> int:
    return sum(each.numel() for each in module.parameters())


def test_a_stem_may_begin_with_fewer_channels() -> None:
    def widths(stem_channels: int) -> list[int]:
        layers = make_stem(MapsConfig("pixels", channels=32, stem_channels=stem_channels)).layers
        return [each.out_channels for each in layers if isinstance(each, torch.nn.Conv2d)]

    assert widths(0) == [32, 32, 32, 32]
    assert widths(8) == [8, 16, 32, 32]
    assert widths(24) == [24, 32, 32, 32]


def test_images_are_shifted_in_training_alone() -> None:
    pixels = torch.arange(2 * 3 * 8 * 12).view(2, 3, 8, 12).remainder(251).to(torch.uint8)
    torch.manual_seed(0)
    found = set()
    for _ in range(60):
        for before, after in zip(pixels, shifted(pixels, 2), strict=True):
            edges = torch.nn.functional.pad(before[None].float(), (2, 2, 2, 2), mode="replicate")[0]
            fits = [
                (down, across)
                for down in range(5)
                for across in range(5)
                if torch.equal(edges[:, down : down + 8, across : across + 12], after.float())
            ]
            assert len(fits) == 1
            found.update(fits)
    assert len(found) == 25
    stem = make_stem(MapsConfig("pixels", 24, 16, halvings=2, channels=8, shift=3))
    features = {"pixels": torch.randint(0, 256, (4, 3, 16, 24), dtype=torch.uint8)}
    assert not torch.equal(stem(features), stem(features))
    stem.eval()
    assert torch.equal(stem(features), stem(features))


def test_modules_may_begin_as_he_et_al_draw_them() -> None:
    arities = _core.program_arities(clevr_vocab().programs())
    bank = ModuleBank(arities, 32, "he").weights()
    expected = [
        (bank.first, math.sqrt(2 / 288)),
        (bank.second, 0.5 / math.sqrt(288)),
        (bank.joins, math.sqrt(2 / 64)),
    ]
    for kernels, deviation in expected:
        weights, biases = kernels.weights.detach(), kernels.biases.detach()
        assert float(weights.std()) == pytest.approx(deviation, rel=0.03)
        assert abs(float(weights.mean())) < 0.02 * deviation
        assert not biases.any()
    drawn = ModuleBank(arities, 32).weights().first
    assert float(drawn.weights.detach().abs().max()) <= 1 / math.sqrt(288)
    assert drawn.biases.detach().any()


def test_the_engine_has_the_published_number_of_parameters() -> None:
    vocab = clevr_vocab()
    engine = Engine(TensorNmnConfig(), vocab.programs(), len(vocab.answers()))
    assert (len(vocab.programs()), len(vocab.answers())) == (44, 32)
    assert n_parameters(engine) == 39_737_184


@pytest.mark.parametrize(
    ("kind", "published"),
    [("attention", 4_613_816), ("attention_one_layer", 2_510_520), ("plain", 2_510_008)],
)
def test_the_generators_have_the_published_numbers(kind: str, published: int) -> None:
    assert n_parameters(ProgramGenerator(93, 44, **GENERATORS[kind])) == published


def run_modules(bank: Bank, maps: torch.Tensor, plan: Plan, indices: PlanIndices) -> torch.Tensor:
    """Runs one node at a time, as the forms of the package do for many."""
    outputs: list[torch.Tensor] = []
    firsts, seconds, joins = (_one_by_one(kernels) for kernels in bank[:3])
    join_places = bank.join_places.tolist()
    tokens, rows, lefts, rights, roots, _ = (each.tolist() for each in plan.on("cpu"))
    for token, row, left, right in zip(tokens, rows, lefts, rights, strict=True):
        inputs = [outputs[operand] for operand in (left, right) if operand >= 0]
        if not inputs:
            x = maps[row : row + 1]
        elif len(inputs) == 1:
            x = inputs[0]
        else:
            x = torch.relu(_convolve(torch.cat(inputs, dim=1), joins[join_places[token]]))
        outputs.append(_block(x, firsts[token], seconds[token]))
    return torch.cat([outputs[root] for root in roots]) if roots else maps[:0]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["bucketed", "gathered"])
def test_forms_give_the_scores_and_gradients_of_module_by_module(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = small_batch()
    arities = torch.from_numpy(_core.program_arities(clevr_vocab().programs()))
    assert (arities[batch.programs] == 2).any(), "no question joins two branches"
    results = {}
    for name in (form, "module"):
        model = small(form=form).double()  # or machines would differ by how they round sums
        if name == "module":
            monkeypatch.setitem(FORMS, form, run_modules)
        model.loss(batch).backward()
        gradients = {key: each.grad for key, each in model.named_parameters() if each.grad is not None}
        model.eval()
        results[name] = (model.predict_true_programs(batch), gradients)
    (expected, slopes), (scores, other) = results["module"], results[form]
    torch.testing.assert_close(scores, expected, atol=1e-12, rtol=1e-10)
    assert slopes.keys() == other.keys()
    for name, gradient in slopes.items():
        torch.testing.assert_close(other[name], gradient, atol=1e-12, rtol=1e-10, msg=name)


@pytest.mark.parametrize("form", ["bucketed", "gathered"])
def test_an_ill_formed_program_has_no_answer_and_no_part_in_the_loss(form: str) -> None:
    model, batch = small(form=form), small_batch(2, 4)
    programs = batch.programs.clone()
    programs[1, 1] = END  # nothing in it, and tokens behind its end
    programs[3, programs[3] == END] = 0  # no end
    spoiled = replace(batch, programs=programs)
    model.eval()
    scores, expected = model.predict_true_programs(spoiled), model.predict_true_programs(batch)
    kept = [row for row in range(len(batch)) if row not in (1, 3)]
    assert scores[[1, 3]].isnan().all()
    torch.testing.assert_close(scores[kept], expected[kept])
    loss = torch.nn.functional.cross_entropy(expected[kept], batch.answers[kept])
    torch.testing.assert_close(model.engine_loss(spoiled), loss)
    nothing = replace(batch, programs=torch.zeros_like(programs))
    assert model.predict_true_programs(nothing).isnan().all()
    assert model.engine_loss(nothing).item() == 0.0


@pytest.mark.parametrize("kind", list(GENERATORS))
def test_the_generator_is_the_public_one_step_by_step(kind: str) -> None:
    """One program at a time, one token at a time, with plain matrices."""
    batch = small_batch(4, 4)
    torch.manual_seed(1)
    generator = ProgramGenerator(
        len(clevr_vocab().questions()), 44, **GENERATORS[kind], word_size=6, hidden=5
    ).double()
    losses = [
        slow_loss(generator, question[:length], program)
        for question, length, program in zip(
            batch.questions, batch.question_lengths, batch.programs, strict=True
        )
    ]
    made = generator.loss(batch.questions, batch.question_lengths, batch.programs)
    torch.testing.assert_close(made, torch.stack(losses).mean(), rtol=0, atol=1e-6)


def slow_loss(generator: ProgramGenerator, question: torch.Tensor, program: torch.Tensor) -> torch.Tensor:
    """The cross-entropy of a program's tokens, summed up to its end."""
    outputs, _ = generator.encoder(generator.words(question).unsqueeze(0))  # (1, Q, D)
    words = outputs[0]
    n_layers, hidden = generator.decoder.num_layers, generator.hidden
    states = [(words.new_zeros(hidden), words.new_zeros(hidden)) for _ in range(n_layers)]
    context = words.new_zeros(2 * hidden) if generator.attention else words[-1]
    total = words.new_zeros(())
    for token, following in pairwise(program.tolist()):
        x = torch.cat([generator.tokens.weight[token], context])
        for k in range(n_layers):
            x, cell = lstm_step(generator.decoder, k, x, *states[k])
            states[k] = x, cell
        if generator.attention:
            joined = [torch.tanh(generator.attend(torch.cat([x, word]))) for word in words]
            weights = torch.stack([generator.score(each)[0] for each in joined]).softmax(0)
            context = sum(weight * word for weight, word in zip(weights, words, strict=True))
            x = torch.cat([x, context])
        total = total - generator.classifier(x).log_softmax(0)[following]
        if following == END:
            return total
    raise AssertionError("a program without an end")


def lstm_step(
    lstm: torch.nn.LSTM, layer: int, x: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    weights = [getattr(lstm, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    gates = weights[0] @ x + weights[1] @ hidden + weights[2] + weights[3]
    i, f, g, o = gates.chunk(4)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def test_what_was_drawn_has_the_probability_that_teaching_gives_it() -> None:
    model, batch = small(), small_batch(4, 4)
    generator = model.generator
    assert generator is not None
    written = generator.write(batch.questions, batch.question_lengths, 30, sample=True)
    for row in written.programs:
        ends = (row == END).nonzero()
        n = int(ends[0]) if len(ends) else len(row) - 1  # tokens that it chose
        assert (row[n + 1 :] == 0).all()
    # `loss` leaves out <NULL>, which a draw may choose before its end; such rows cannot be compared.
    whole = [
        row for row in range(len(batch)) if 0 not in written.programs[row, : _n_chosen(written.programs[row])]
    ]
    assert len(whole) > 4
    some = [each[whole] for each in (batch.questions, batch.question_lengths, written.programs)]
    torch.testing.assert_close(generator.loss(*some), -written.log_probabilities[whole].mean())
    likeliest = generator.write(batch.questions, batch.question_lengths, 30, sample=False)
    again = generator.write(batch.questions, batch.question_lengths, 30, sample=False)
    assert torch.equal(likeliest.programs, again.programs)


@pytest.mark.parametrize("sample", [True, False])
def test_up_to_29_tokens_are_chosen_behind_the_start(sample: bool) -> None:
    model, batch = small(), small_batch(2, 2)
    generator, longest = model.generator, TensorNmnConfig().longest_program
    assert (generator is not None, longest) == (True, 30)
    ask = (batch.questions, batch.question_lengths, longest)
    with torch.no_grad():
        generator.classifier.bias[END] = -1e4  # never
        endless = generator.write(*ask, sample=sample).programs
        assert (endless.shape[1], bool((endless == END).any())) == (1 + 29, False)
        generator.classifier.bias[END] = 1e4  # at once
        assert generator.write(*ask, sample=sample).programs.tolist() == [[START, END]] * len(batch)


def _n_chosen(row: torch.Tensor) -> int:
    ends = (row == END).nonzero()
    return int(ends[0]) + 1 if len(ends) else len(row)


def test_reinforce_counts_ill_formed_draws_and_moves_its_baseline() -> None:
    model, batch = small(), small_batch(4, 4)
    for k in range(1, 4):
        model.reinforce_loss(batch).backward()
        # An untrained generator writes no tree in a few draws: the average goes from 0 towards 1.
        assert float(model.log_values()["ill_formed"]) == pytest.approx(1 - 0.9**k)

    # Where each program drawn is the true one, the reward is the share of right answers.
    generator = model.generator
    assert generator is not None
    model.baseline.fill_(0.3)
    before = 0.3
    model.eval()
    scores = model.predict_true_programs(batch)
    best, worst = scores.argmax(1), scores.argmin(1)
    right = (torch.arange(len(batch)) % 3 == 0).float()  # some right, some wrong
    batch = replace(batch, answers=torch.where(right.bool(), best, worst))
    log_p = torch.linspace(-2.0, -1.0, len(batch), requires_grad=True)
    model.train()
    generator.write = lambda *_, **__: type(  # type: ignore[method-assign]
        "Written", (), {"programs": batch.programs, "log_probabilities": log_p}
    )
    batch_norms = [each for each in model.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    for each in batch_norms:
        each.eval()
    loss = model.reinforce_loss(batch)
    expected = torch.nn.functional.cross_entropy(scores, batch.answers) - ((right - before) * log_p).mean()
    torch.testing.assert_close(loss, expected)
    assert float(model.baseline) == pytest.approx(0.9 * before + 0.1 * float(right.mean()))


@pytest.mark.slow
def test_64_questions_are_learned_by_heart_on_true_and_on_predicted_programs() -> None:
    model, batch = small(channels=16, halvings=3), short_questions()
    assert learn_programs(model, batch)
    assert share_right(model, batch) < 0.9
    assert learn_by_heart(model, batch, rate=3e-3, most=300) == 1.0
    # The written and the given programs may differ in their padding, and so in the order of sums.
    torch.testing.assert_close(model.predict(batch), model.predict_true_programs(batch))


def learn_programs(model: TensorNmn, batch: Batch) -> bool:
    optimiser = torch.optim.Adam(model.generator.parameters(), lr=1e-2)
    for update in range(400):
        optimiser.zero_grad()
        model.generator_loss(batch).backward()
        optimiser.step()
        if update % 10 == 0:
            written = model.predict_programs(batch)
            width = batch.programs.shape[1]
            if torch.equal(torch.nn.functional.pad(written, (0, width - written.shape[1])), batch.programs):
                return True
    return False


def test_an_engine_alone_has_one_stage_and_answers_on_true_programs() -> None:
    model = small(stages="engine")
    assert [stage.name for stage in model.recipe.stages] == ["engine"]
    assert (dict(model.ways), dict(model.program_ways)) == ({"true_programs": "predict_true_programs"}, {})
    batch = small_batch(2, 2)
    model.eval()
    assert torch.equal(model.predict(batch), model.predict_true_programs(batch))


def test_stages_name_losses_and_parts_that_there_are() -> None:
    model = small()
    for stage in model.recipe.stages:
        loss = getattr(model, stage.loss)(small_batch(2, 2))
        loss.backward()
        for name, part in model.named_children():
            moved = any(each.grad is not None for each in part.parameters())
            assert moved == (name in stage.trains), (stage.name, name)
        model.zero_grad(set_to_none=True)
