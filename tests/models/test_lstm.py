"""LSTMs and GRUs under autocast on the CPU."""

from copy import deepcopy

import pytest

torch = pytest.importorskip("torch")

from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from clevrhope.models.lstm import Gru, Lstm
from clevrhope.models.stack import stack_models


def test_an_lstm_stays_in_float32_on_a_cpu() -> None:
    torch.manual_seed(0)
    lstm, words = Lstm(6, 5, 2, batch_first=True, bidirectional=True), torch.randn(3, 4, 6)
    state = torch.randn(4, 3, 5), torch.randn(4, 3, 5)
    packed = pack_padded_sequence(words, torch.tensor([4, 1, 3]), batch_first=True, enforce_sorted=False)
    expected, expected_packed = lstm(words, state)[0], pad_packed_sequence(lstm(packed)[0])[0]
    with torch.autocast("cpu", torch.bfloat16):
        made = lstm(words.bfloat16().float(), state)[0]
        made_packed = pad_packed_sequence(lstm(packed)[0])[0]
        of_bfloat16 = lstm(words.bfloat16(), (state[0].bfloat16(), state[1].bfloat16()))[0]
    assert made.dtype == of_bfloat16.dtype == torch.float32
    assert torch.equal(made_packed, expected_packed)
    torch.testing.assert_close(made, lstm(words.bfloat16().float(), state)[0], rtol=0, atol=0)
    torch.testing.assert_close(of_bfloat16, expected, rtol=0, atol=0.02)
    of_bfloat16.sum().backward()
    assert all(each.grad is not None for each in lstm.parameters())


def test_a_gru_stays_in_float32_on_a_cpu() -> None:
    torch.manual_seed(0)
    gru, words, state = Gru(6, 5, batch_first=True), torch.randn(3, 4, 6), torch.randn(1, 3, 5)
    expected = gru(words, state)[0]
    with torch.autocast("cpu", torch.bfloat16):
        made = gru(words, state)[0]
        of_bfloat16 = gru(words.bfloat16(), state.bfloat16())[0]
    assert made.dtype == of_bfloat16.dtype == torch.float32
    assert torch.equal(made, expected)
    torch.testing.assert_close(of_bfloat16, expected, rtol=0, atol=0.02)


def test_a_stacked_gru_is_never_laid_out_for_cudnn(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU torch would do so wherever a GRU is copied, and cannot for weights of three dimensions."""
    called: list[object] = []
    monkeypatch.setattr(torch.nn.GRU, "flatten_parameters", lambda self: called.append(self))
    single = Gru(6, 5)
    called.clear()
    stack = stack_models([torch.nn.Sequential(single), torch.nn.Sequential(Gru(6, 5))])
    called.clear()
    stack[0].flatten_parameters()
    assert called == []
    single.flatten_parameters()
    assert called == [single]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA GPU")
def test_a_stacked_gru_can_be_copied_on_a_gpu() -> None:
    stack = stack_models([torch.nn.Sequential(Gru(6, 5)).cuda() for _ in range(3)])
    copied = deepcopy(stack)
    assert torch.equal(copied[0].weight_ih_l0, stack[0].weight_ih_l0)
