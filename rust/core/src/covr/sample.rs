//! Draws subgraphs from scenes.

use super::matching::{Part, members};
use super::subgraph::{Object, Relation, Structure, Subgraph};
use crate::holdout::Holdout;
use crate::rng::StreamRng;
use crate::scene::SceneView;
use crate::scene::world::SHAPE;
use crate::vocab::{CONVERSE, N_TYPES, RELATION_NAMES, Vocabulary};

/// Share of relations that are likenesses, if the two objects have some value in common.
const SHARE_OF_LIKENESSES: f64 = 0.2;
/// Share of objects that are described by a value other than the shape.
const SHARE_OF_ATTRIBUTES: f64 = 0.65;
/// This share for the object that is asked about: the more values it names, the less a relation is needed.
const SHARE_OF_ATTRIBUTES_OF_ASKED: f64 = 0.25;

/// The requirements on a subgraph that is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub structure: Structure,
    /// The type that is asked for: neither a value nor a likeness of this type describes the root.
    pub asked: Option<u8>,
    /// The held-out values, all of which one object must name (the root without the value that is asked for).
    pub named: Option<&'a Holdout>,
}

/// A uniformly drawn member of a set; None if it is empty.
#[inline]
pub(super) fn pick(rng: &mut StreamRng, set: u32) -> Option<usize> {
    let n = set.count_ones();
    if n == 0 {
        return None;
    }
    members(set).nth(rng.below(n) as usize)
}

/// Draws a subgraph that occurs in a scene, with its root among `roots`; None if the draw failed.
pub(super) fn subgraph(
    rng: &mut StreamRng,
    vocab: &Vocabulary,
    scene: SceneView<'_>,
    roots: u32,
    wanted: Wanted<'_>,
) -> Option<Subgraph> {
    let n = wanted.structure.n_relations() + 1;
    let named = wanted.named.map(|holdout| {
        let slot = rng.below(n as u32) as usize;
        (slot, naming(holdout, wanted.asked.filter(|_| slot == 0)))
    });
    let mut places = [0; 3];
    let mut left = scene.everything();
    for (slot, place) in places[..n].iter_mut().enumerate() {
        let mut set = if slot == 0 { left & roots } else { left };
        match named {
            Some((_, None)) => return None,
            Some((of, Some(object))) if of == slot => set &= having(vocab, scene, object),
            _ => {}
        }
        *place = pick(rng, set)?;
        left &= !(1 << *place);
    }
    let first = relation(rng, vocab, scene, [places[0], places[1]], n > 1, wanted.asked)?;
    let from = if wanted.structure == Structure::Chain { 1 } else { 0 };
    let of_root = wanted.asked.filter(|_| from == 0);
    let second = relation(rng, vocab, scene, [places[from], places[2]], n > 2, of_root)?;
    let mut g = Subgraph { structure: wanted.structure, objects: Default::default(), relations: [first, second] };
    for (slot, &place) in places[..n].iter().enumerate() {
        let likenesses = likenesses(&g, slot);
        g.objects[slot] = match named {
            Some((of, Some(object))) if of == slot => object,
            _ => {
                let asked = wanted.asked.filter(|_| slot == 0);
                object(rng, vocab, &scene.attributes[place], likenesses, asked)?
            }
        };
    }
    g.is_well_said().then_some(g)
}

/// The description that names the held-out values, except of the asked type; None if one object cannot name them all.
fn naming(holdout: &Holdout, asked: Option<u8>) -> Option<Object> {
    let values = holdout.values();
    let mut attributes = (0..N_TYPES as u8).filter(|&kind| usize::from(kind) != SHAPE && Some(kind) != asked);
    let mut attributes = attributes.by_ref().filter_map(|kind| Some((kind, values[usize::from(kind)]?)));
    let object = Object { shape: values[SHAPE], attribute: attributes.next() };
    attributes.next().is_none().then_some(object)
}

/// The objects of a scene that match a description.
fn having(vocab: &Vocabulary, scene: SceneView<'_>, object: Object) -> u32 {
    let shape = object.shape.map(|shape| (SHAPE, shape));
    let attribute = object.attribute.map(|(kind, value)| (usize::from(kind), value));
    let rows = [shape, attribute].into_iter().flatten().map(|(kind, value)| vocab.value_row(kind, usize::from(value)));
    rows.fold(scene.everything(), |set, row| set & scene.members[row])
}

/// The types, a bit each, of the `Same` relations of an object in a subgraph.
fn likenesses(g: &Subgraph, slot: usize) -> u8 {
    let ends = |i: usize| if g.structure == Structure::Chain && i == 1 { [1, 2] } else { [0, i + 1] };
    (0..g.structure.n_relations()).fold(0, |types, i| match g.relations[i] {
        Relation::Same(kind) if ends(i).contains(&slot) => types | 1 << kind,
        Relation::Same(_) | Relation::Spatial(_) => types,
    })
}

/// Draws a relation that the first object has to the second; a default if none `is_there` to draw.
fn relation(
    rng: &mut StreamRng,
    vocab: &Vocabulary,
    scene: SceneView<'_>,
    [from, to]: [usize; 2],
    is_there: bool,
    asked: Option<u8>,
) -> Option<Relation> {
    if !is_there {
        return Some(Relation::Spatial(0));
    }
    if rng.unit() < SHARE_OF_LIKENESSES {
        let [a, b] = [from, to].map(|object| scene.attributes[object]);
        let alike = (0..N_TYPES).filter(|&kind| a[kind] == b[kind] && asked != Some(kind as u8));
        // All objects are alike in an attribute of one value, so to say so is to say nothing.
        let alike = alike.filter(|&kind| vocab.n_values(kind) > 1);
        let alike = alike.fold(0, |types, kind| types | 1 << kind);
        if let Some(kind) = pick(rng, alike) {
            return Some(Relation::Same(kind as u8));
        }
    }
    let spatial = (0..RELATION_NAMES.len()).filter(|&relation| scene.related(relation, to) >> from & 1 == 1);
    let spatial = spatial.fold(0, |relations, relation| relations | 1 << relation);
    pick(rng, spatial).map(|relation| Relation::Spatial(relation as u8))
}

/// Draws a description of an object, which names no value of the asked type or of the types of its likenesses. If it
/// does not name the shape, it names another value, unless the object is the one asked about.
pub(super) fn object(
    rng: &mut StreamRng,
    vocab: &Vocabulary,
    values: &[u8; N_TYPES],
    likenesses: u8,
    asked: Option<u8>,
) -> Option<Object> {
    let is_free = |kind: usize| likenesses >> kind & 1 == 0 && asked != Some(kind as u8);
    let shape = is_free(SHAPE).then_some(values[SHAPE]);
    let share = if asked.is_some() { SHARE_OF_ATTRIBUTES_OF_ASKED } else { SHARE_OF_ATTRIBUTES };
    if rng.unit() >= share && (shape.is_some() || asked.is_some()) {
        return Some(Object { shape, attribute: None });
    }
    let kinds = (0..N_TYPES).filter(|&kind| kind != SHAPE && vocab.n_values(kind) > 1 && is_free(kind));
    let kind = pick(rng, kinds.fold(0, |types, kind| types | 1 << kind));
    let attribute = kind.map(|kind| (kind as u8, values[kind]));
    (shape.is_some() || attribute.is_some()).then_some(Object { shape, attribute })
}

/// Draws a relation that an object of a scene has to exactly one object, which has this shape.
pub(super) fn reached(
    rng: &mut StreamRng,
    vocab: &Vocabulary,
    scene: SceneView<'_>,
    from: usize,
    shape: u8,
) -> Option<Relation> {
    let only = |set: u32| set.count_ones() == 1 && scene.attributes[set.trailing_zeros() as usize][SHAPE] == shape;
    // An object is left of another exactly if the other is right of it.
    let spatial = (0..RELATION_NAMES.len()).filter(|&r| only(scene.related(usize::from(CONVERSE[r]), from)));
    let spatial = spatial.fold(0, |relations, relation| relations | 1 << relation);
    let alike = |kind: usize| {
        let own = scene.attributes[from][kind];
        let others =
            scene.attributes.iter().enumerate().filter(|(other, values)| *other != from && values[kind] == own);
        only(others.fold(0, |set, (other, _)| set | 1 << other))
    };
    let likenesses = (0..N_TYPES).filter(|&kind| kind != SHAPE && vocab.n_values(kind) > 1 && alike(kind));
    let likenesses = likenesses.fold(0, |types, kind| types | 1 << kind);
    let by_likeness = likenesses != 0 && (spatial == 0 || rng.unit() < SHARE_OF_LIKENESSES);
    if by_likeness {
        return pick(rng, likenesses).map(|kind| Relation::Same(kind as u8));
    }
    pick(rng, spatial).map(|relation| Relation::Spatial(relation as u8))
}

/// The subgraph with another value or relation in a part; None if there is no other, or the result is not well said.
pub(super) fn edited(rng: &mut StreamRng, vocab: &Vocabulary, g: &Subgraph, part: Part) -> Option<Subgraph> {
    // In 32 bits, since two numbers of values may add up to more than 255.
    let mut other = |n: usize, value: u8| {
        let n = n as u32;
        (n > 1).then(|| ((u32::from(value) + 1 + rng.below(n - 1)) % n) as u8)
    };
    let mut edited = *g;
    match part {
        Part::Shape(i) => edited.objects[i].shape = Some(other(vocab.n_values(SHAPE), g.objects[i].shape?)?),
        Part::Attribute(i) => {
            let (kind, value) = g.objects[i].attribute?;
            edited.objects[i].attribute = Some((kind, other(vocab.n_values(usize::from(kind)), value)?));
        }
        Part::Relation(i) => {
            edited.relations[i] = match g.relations[i] {
                Relation::Spatial(relation) => Relation::Spatial(other(RELATION_NAMES.len(), relation)?),
                Relation::Same(_) => Relation::Spatial(other(RELATION_NAMES.len(), 0)?),
            }
        }
    }
    (edited != *g && edited.is_well_said()).then_some(edited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamKey;
    use std::collections::BTreeSet;

    #[test]
    fn an_edited_value_is_any_other_of_its_type() {
        let colors: Vec<String> = (0..150).map(|i| format!("\"c{i}\": [1, 2, 3]")).collect();
        let properties = format!(
            "{{\"sizes\": {{\"small\": 0.35}}, \"colors\": {{{}}}, \"materials\": {{\"rubber\": \"r\"}}, \
             \"shapes\": {{\"cube\": \"c\"}}}}",
            colors.join(",")
        );
        let vocab = Vocabulary::from_properties_json(properties.as_bytes(), "p.json", 10).unwrap();
        let g = Subgraph::single(Object { shape: None, attribute: Some((1, 149)) });
        let mut rng = StreamKey::new(&[b"edits"]).at(0);
        let mut color = || edited(&mut rng, &vocab, &g, Part::Attribute(0)).unwrap().objects[0].attribute.unwrap().1;
        let found: BTreeSet<u8> = (0..5_000).map(|_| color()).collect();
        assert_eq!(found, (0..149).collect::<BTreeSet<u8>>());
    }
}
