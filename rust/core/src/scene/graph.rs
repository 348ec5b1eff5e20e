//! Everything that programs and questions see of a scene: its objects and relations as bit sets.

use crate::vocab::{MAX_OBJECTS, N_TYPES, Vocabulary};

/// Attribute values, value sets and relations of a scene, owned.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SceneGraph {
    attributes: Vec<[u8; N_TYPES]>,
    members: Vec<u32>,
    related: Vec<u32>,
}

/// The same, borrowed: what execution and search work on.
#[derive(Clone, Copy, Debug)]
pub struct SceneView<'a> {
    /// Value number of each object by attribute type.
    pub attributes: &'a [[u8; N_TYPES]],
    /// By value row (`Vocabulary::value_row`): the objects that have the value.
    pub members: &'a [u32],
    /// By `relation * n_objects + object`: the objects that stand in the relation to the object.
    pub related: &'a [u32],
}

impl SceneGraph {
    /// Builds the sets. `related[relation][object]` lists objects, as CLEVR's `relationships` do.
    ///
    /// Callers have checked the file: at most `MAX_OBJECTS` objects and indices in range.
    pub fn new(vocab: &Vocabulary, attributes: Vec<[u8; N_TYPES]>, related: &[Vec<Vec<u8>>]) -> Self {
        let related = related
            .iter()
            .flat_map(|objects| objects.iter().map(|list| list.iter().fold(0, |set, &o| set | 1u32 << o)))
            .collect();
        Self::from_masks(vocab, attributes, related)
    }

    /// The same from bit sets: `related[relation * n_objects + object]`.
    pub fn from_masks(vocab: &Vocabulary, attributes: Vec<[u8; N_TYPES]>, related: Vec<u32>) -> Self {
        debug_assert!(attributes.len() <= MAX_OBJECTS);
        let mut members = vec![0u32; vocab.n_values_in_all()];
        for (object, values) in attributes.iter().enumerate() {
            for (kind, &value) in values.iter().enumerate() {
                members[vocab.value_row(kind, usize::from(value))] |= 1 << object;
            }
        }
        Self { attributes, members, related }
    }

    #[inline]
    pub fn view(&self) -> SceneView<'_> {
        SceneView { attributes: &self.attributes, members: &self.members, related: &self.related }
    }

    pub fn n_objects(&self) -> usize {
        self.attributes.len()
    }
}

impl SceneView<'_> {
    #[inline]
    pub fn n_objects(&self) -> usize {
        self.attributes.len()
    }

    /// All objects.
    #[inline]
    pub fn everything(&self) -> u32 {
        ((1u64 << self.attributes.len()) - 1) as u32
    }

    /// The objects that stand in `relation` to `object`.
    #[inline]
    pub fn related(&self, relation: usize, object: usize) -> u32 {
        self.related[relation * self.attributes.len() + object]
    }
}
