//! Finds a subgraph in a scene, or the subgraph with some of its parts contradicted.

use super::subgraph::{Object, Relation, Structure, Subgraph};
use crate::scene::SceneView;
use crate::scene::world::SHAPE;
use crate::vocab::{CONVERSE, Vocabulary};

/// A part of a subgraph that a distractor contradicts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The shape of an object.
    Shape(usize),
    /// The named value, other than the shape, of an object.
    Attribute(usize),
    Relation(usize),
}

/// A subgraph to search scenes for, perhaps with some of its parts contradicted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    structure: Structure,
    objects: [ObjectTest; 3],
    relations: [RelationTest; 2],
}

/// Tests of an object's values: a row of `SceneView::members`, and a mask of all bits if it must not have the value.
#[derive(Clone, Copy, Debug, Default)]
struct ObjectTest {
    values: [Option<(usize, u32)>; 2],
}

#[derive(Clone, Copy, Debug)]
enum RelationTest {
    Spatial(usize),
    Same(usize),
    Different(usize),
}

impl ObjectTest {
    fn new(vocab: &Vocabulary, object: Object) -> Self {
        let row = |kind: usize, value: u8| (vocab.value_row(kind, usize::from(value)), 0);
        let shape = object.shape.map(|shape| row(SHAPE, shape));
        let attribute = object.attribute.map(|(kind, value)| row(usize::from(kind), value));
        Self { values: [shape, attribute] }
    }

    #[inline]
    fn members(&self, scene: SceneView<'_>) -> u32 {
        self.values.iter().flatten().fold(scene.everything(), |set, &(row, flip)| set & (scene.members[row] ^ flip))
    }
}

impl RelationTest {
    fn new(relation: Relation) -> Self {
        match relation {
            Relation::Spatial(relation) => Self::Spatial(usize::from(relation)),
            Relation::Same(kind) => Self::Same(usize::from(kind)),
        }
    }

    fn contradicted(self) -> Self {
        match self {
            Self::Spatial(relation) => Self::Spatial(usize::from(CONVERSE[relation])),
            Self::Same(kind) => Self::Different(kind),
            Self::Different(kind) => Self::Same(kind),
        }
    }

    /// The objects that have this relation to an object.
    #[inline]
    fn related(self, scene: SceneView<'_>, vocab_rows: &Rows, object: usize) -> u32 {
        let alike = |kind: usize| {
            let row = vocab_rows.start(kind) + usize::from(scene.attributes[object][kind]);
            scene.members[row] & !(1 << object)
        };
        match self {
            Self::Spatial(relation) => scene.related(relation, object),
            Self::Same(kind) => alike(kind),
            Self::Different(kind) => scene.everything() & !alike(kind) & !(1 << object),
        }
    }

    /// The members of `set` that have this relation to some member of `others`.
    #[inline]
    fn with(self, scene: SceneView<'_>, rows: &Rows, set: u32, others: u32) -> u32 {
        if set == 0 {
            return 0;
        }
        members(others).fold(0, |all, other| all | self.related(scene, rows, other)) & set
    }
}

/// The first row of each attribute type among `SceneView::members`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows([usize; crate::vocab::N_TYPES]);

impl Rows {
    pub fn new(vocab: &Vocabulary) -> Self {
        Self(std::array::from_fn(|kind| vocab.value_row(kind, 0)))
    }

    #[inline]
    pub fn start(&self, kind: usize) -> usize {
        self.0[kind]
    }

    /// The objects of a scene that have a value.
    #[inline]
    pub fn having(&self, scene: SceneView<'_>, kind: u8, value: u8) -> u32 {
        scene.members[self.0[usize::from(kind)] + usize::from(value)]
    }

    /// The objects to which an object has a relation.
    #[inline]
    pub fn reached(&self, scene: SceneView<'_>, relation: Relation, object: usize) -> u32 {
        let test = match relation {
            Relation::Spatial(relation) => RelationTest::Spatial(usize::from(CONVERSE[usize::from(relation)])),
            Relation::Same(kind) => RelationTest::Same(usize::from(kind)),
        };
        test.related(scene, self, object)
    }
}

/// The members of a set, ascending.
#[inline]
pub(super) fn members(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

impl Pattern {
    pub fn new(vocab: &Vocabulary, g: &Subgraph) -> Self {
        let objects = g.objects.map(|object| ObjectTest::new(vocab, object));
        Self { structure: g.structure, objects, relations: g.relations.map(RelationTest::new) }
    }

    /// The pattern with a part contradicted: any other shape or value, or the opposite relation.
    pub fn contradicted(&self, part: Part) -> Self {
        let mut pattern = *self;
        let flip = |test: &mut Option<(usize, u32)>| {
            if let Some((_, flip)) = test {
                *flip = !*flip;
            }
        };
        match part {
            Part::Shape(i) => flip(&mut pattern.objects[i].values[0]),
            Part::Attribute(i) => flip(&mut pattern.objects[i].values[1]),
            Part::Relation(i) => pattern.relations[i] = pattern.relations[i].contradicted(),
        }
        pattern
    }

    /// The objects of a scene that the subgraph's root describes.
    #[inline]
    pub fn members(&self, scene: SceneView<'_>, rows: &Rows) -> u32 {
        let [root, second, third] = &self.objects;
        let set = root.members(scene);
        if set == 0 || self.structure == Structure::Single {
            return set;
        }
        let [first, last] = self.relations;
        let second = second.members(scene);
        match self.structure {
            Structure::Single => set,
            Structure::Edge => first.with(scene, rows, set, second),
            Structure::Chain => {
                let second = last.with(scene, rows, second, third.members(scene));
                first.with(scene, rows, set, second)
            }
            Structure::V => {
                let set = first.with(scene, rows, set, second);
                last.with(scene, rows, set, third.members(scene))
            }
        }
    }
}

impl Subgraph {
    pub(super) fn n_objects(&self) -> usize {
        self.structure.n_relations() + 1
    }

    /// The parts that a distractor can contradict.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part> {
        let objects = self.objects;
        let of_object = move |i: usize| {
            let shape = objects[i].shape.map(|_| Part::Shape(i));
            [shape, objects[i].attribute.map(|_| Part::Attribute(i))].into_iter().flatten()
        };
        (0..self.n_objects()).flat_map(of_object).chain((0..self.structure.n_relations()).map(Part::Relation))
    }

    /// The subgraph without its last relation and object; None for a single object.
    pub(super) fn cut(&self) -> Option<Self> {
        let structure = match self.structure {
            Structure::Single => return None,
            Structure::Edge => Structure::Single,
            Structure::Chain | Structure::V => Structure::Edge,
        };
        let mut cut = Self { structure, ..*self };
        let last = cut.n_objects();
        cut.objects[last] = Object::default();
        cut.relations[last - 1] = Relation::Spatial(0);
        Some(cut)
    }

    /// Whether no two objects have the same description, no object names the value that a `Same` relation leaves
    /// unnamed, and no relation is redundant.
    pub(super) fn is_well_said(&self) -> bool {
        let objects = &self.objects[..self.n_objects()];
        let distinct = objects.iter().enumerate().all(|(i, object)| !objects[..i].contains(object));
        let ends = |i: usize| match (self.structure, i) {
            (Structure::Chain, 1) => [1, 2],
            (_, i) => [0, i + 1],
        };
        let unnamed = (0..self.structure.n_relations()).all(|i| match self.relations[i] {
            Relation::Spatial(_) => true,
            Relation::Same(kind) => ends(i).iter().all(|&end| !self.objects[end].names(kind)),
        });
        distinct && unnamed && !self.says_one_thing_twice()
    }

    /// Whether the root has the same relation to two objects, one of which is described by a part of the other's
    /// description: whatever is left of a metal cube is also left of a cube.
    fn says_one_thing_twice(&self) -> bool {
        let [_, second, third] = self.objects;
        let is_part = |of: Object, whole: Object| {
            (of.shape.is_none() || of.shape == whole.shape)
                && (of.attribute.is_none() || of.attribute == whole.attribute)
        };
        self.structure == Structure::V
            && self.relations[0] == self.relations[1]
            && (is_part(second, third) || is_part(third, second))
    }
}

impl Object {
    /// Whether the description names a value of a type.
    pub(super) fn names(&self, kind: u8) -> bool {
        if usize::from(kind) == SHAPE {
            self.shape.is_some()
        } else {
            self.attribute.is_some_and(|(named, _)| named == kind)
        }
    }
}
