"""What the object transformer sees of where objects are."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from small_batches import clevr_vocab, small_batch
from torch import Tensor

from clevrhope.models.batch import Batch
from clevrhope.models.object_transformer import Directions, ObjectTransformer, ObjectTransformerConfig


def blind_to_coordinates() -> ObjectTransformer:
    """A model that sees places by distances alone."""
    torch.manual_seed(0)
    config = ObjectTransformerConfig(features="attributes", hidden=32, heads=2, layers=2)
    model = ObjectTransformer(config, clevr_vocab()).eval()
    torch.nn.init.zeros_(model.objects.place.weight)
    return model


def scores(model: ObjectTransformer, batch: Batch) -> Tensor:
    with torch.no_grad():
        return model.predict(batch)


def with_rows(batch: Batch, rows: Tensor, *names: str) -> Batch:
    """The batch with these features of objects in another order, (B, 10)."""
    moved = {
        name: batch.features[name].gather(1, rows.unsqueeze(2).expand_as(batch.features[name]))
        for name in names
    }
    return replace(batch, features={**batch.features, **moved})


def reversed_rows(batch: Batch) -> Tensor:
    """(B, 10) the numbers of each image's objects, the last one first; padding stays where it is."""
    numbers = torch.arange(batch.features["places"].shape[1]).expand(len(batch), -1)
    n = batch.features["n_boxes"].unsqueeze(1)
    return torch.where(numbers < n, n - 1 - numbers, numbers)


def test_the_order_of_objects_does_not_count_but_their_places_do() -> None:
    model, batch = blind_to_coordinates(), small_batch(8, 8, kind="attributes")
    expected, rows = scores(model, batch), reversed_rows(batch)
    assert (batch.features["n_boxes"] > 1).all()
    torch.testing.assert_close(scores(model, with_rows(batch, rows, "attributes", "places")), expected)
    differs = (scores(model, with_rows(batch, rows, "places")) - expected).abs().amax(dim=1)
    assert (differs > 1e-5).all()


def test_attention_is_over_keys_and_values_with_their_distances() -> None:
    layer = blind_to_coordinates().object_layers[0].to_objects
    torch.manual_seed(1)
    objects, distances = torch.randn(3, 5, 32), torch.rand(3, 5, 5, 8) * 2 - 1
    no_object = torch.arange(5) >= torch.tensor([[5], [2], [4]])
    with torch.no_grad():
        found = layer(objects, no_object, distances)
        queries, keys, values = layer.project(objects).view(3, 5, 3, 2, 16).unbind(2)
        far_keys, far_values = layer.project_distances(distances).view(3, 5, 5, 2, 2, 16).unbind(3)
        products = (queries.unsqueeze(2) * (keys.unsqueeze(1) + far_keys)).sum(4) / 4
        weights = products.masked_fill(no_object[:, None, :, None], -torch.inf).softmax(2)
        read = (weights.unsqueeze(4) * (values.unsqueeze(1) + far_values)).sum(2)
        torch.testing.assert_close(found, layer.out(read.flatten(2)))


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
    assert not torch.allclose(distances(places, words.flip(0)), found, atol=1e-3), "other words"
    assert 0.05 < found.abs().max() <= 1, "objects apart look as if they were in one place"
