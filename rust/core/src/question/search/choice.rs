//! The choice at a node of a template, and the values that it gives to the node's parameters.

use crate::holdout::{Combinations, Description};
use crate::question::template::NodeKind;
use crate::vocab::N_TYPES;

/// What was chosen at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Choice {
    pub relation: u8,
    /// The combination of values, or a function's single argument.
    pub combination: u32,
}

/// One option of a choice, and what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub choice: Choice,
    /// Objects of the whole scene that have the combination.
    pub key_objects: u32,
    /// The node's output.
    pub output: u32,
    pub description: Description,
    pub mentions: bool,
}

/// The values that a choice gives a node's parameters, in their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChosenValues {
    values: [Option<u8>; 1 + N_TYPES],
    from: usize,
    to: usize,
}

impl std::ops::Deref for ChosenValues {
    type Target = [Option<u8>];

    #[inline]
    fn deref(&self) -> &[Option<u8>] {
        &self.values[self.from..self.to]
    }
}

#[inline]
pub fn chosen_values(kind: NodeKind, choice: Choice, combinations: &Combinations) -> ChosenValues {
    let mut values = [None; 1 + N_TYPES];
    values[0] = Some(choice.relation);
    let (from, to) = match kind {
        NodeKind::Plain(_) => (0, 0),
        NodeKind::Relate => (0, 1),
        NodeKind::Apply(_) => {
            values[0] = Some(choice.combination as u8);
            (0, 1)
        }
        NodeKind::Filter(_) | NodeKind::RelateFilter(_) => {
            values[1..].copy_from_slice(&combinations.get(choice.combination).values);
            (usize::from(matches!(kind, NodeKind::Filter(_))), 1 + N_TYPES)
        }
    };
    ChosenValues { values, from, to }
}
