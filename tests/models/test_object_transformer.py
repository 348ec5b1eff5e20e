"""Distances between objects, as the object transformer sees them."""

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor

from clevrhope.models.object_transformer import Directions


def test_distances_are_between_objects_wherever_all_of_them_are() -> None:
    torch.manual_seed(0)
    directions = Directions(16, heads=2, coordinates=3, dropout=0.0).eval()
    words, no_word = torch.randn(5, 7, 16), torch.zeros(5, 7, dtype=torch.bool)
    places = torch.rand(5, 2, 4, 3)

    def distances(of: Tensor, words: Tensor = words) -> Tensor:
        with torch.no_grad():
            found: Tensor = directions(words, no_word, of)
        return found

    found = distances(places)
    assert found.shape == (5, 2, 4, 4, 8)
    torch.testing.assert_close(found, -found.transpose(2, 3))
    torch.testing.assert_close(distances(places + torch.tensor([0.3, -2.0, 1.0])), found)
    assert not torch.allclose(distances(places, words.flip(0)), found, atol=1e-3), (
        "other words, other directions"
    )
    assert 0.05 < found.abs().max() <= 1, "objects apart look as if they were in one place"
