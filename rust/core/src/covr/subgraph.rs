//! Subgraphs: some related objects of an image, as the noun phrase of a question describes them.

/// An object as a question names it: a shape, or "thing", and at most one value of another type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Object {
    /// The number of the shape; None for a "thing".
    pub shape: Option<u8>,
    /// An attribute type other than shape, and the number of its value.
    pub attribute: Option<(u8, u8)>,
}

/// How two objects of an image are related.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// The first object stands in this relation (`RELATION_NAMES`) to the second.
    Spatial(u8),
    /// Both have the same value of this type.
    Same(u8),
}

/// Which objects of a subgraph are related.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Structure {
    /// One object.
    Single,
    /// The root has a relation to a second object: a cube left of a sphere.
    Edge,
    /// The second object has a relation to a third: a cube left of a sphere that is behind a cylinder.
    Chain,
    /// The root has relations to two objects: a cube both left of a sphere and behind a cylinder.
    V,
}

impl Structure {
    pub const ALL: [Self; 4] = [Self::Single, Self::Edge, Self::Chain, Self::V];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Edge => "edge",
            Self::Chain => "chain",
            Self::V => "v",
        }
    }

    pub const fn n_relations(self) -> usize {
        match self {
            Self::Single => 0,
            Self::Edge => 1,
            Self::Chain | Self::V => 2,
        }
    }
}

/// A root object and up to two relations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Subgraph {
    pub structure: Structure,
    /// The root first; places that the structure does not use hold defaults.
    pub objects: [Object; 3],
    /// The first is from the root to the second object, the second from the second object (chain) or the root (V) to
    /// the third.
    pub relations: [Relation; 2],
}

impl Subgraph {
    /// The subgraph of a single object.
    pub fn single(object: Object) -> Self {
        let objects = [object, Object::default(), Object::default()];
        Self { structure: Structure::Single, objects, relations: [Relation::Spatial(0); 2] }
    }

    pub fn root(&self) -> Object {
        self.objects[0]
    }
}
