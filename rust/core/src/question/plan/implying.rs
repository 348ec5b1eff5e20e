//! A family and a held-out conjunction in; whether a question could imply it without a mention, out.

use super::Plan;
use crate::holdout::Holdout;
use crate::program::Function;
use crate::question::template::{MAX_NODES, NodeKind};

/// What could be known of a node's objects, as bits of the conjunction: more than is known in any one question.
#[derive(Clone, Copy, Default)]
struct Could {
    /// Values that could be said of them.
    said: u8,
    /// Values of types in which something else could be like them.
    alike: u8,
}

impl Plan {
    /// Whether some likeness could carry one of the conjunction's values from where it is said to another thing.
    ///
    /// Where none does, a question that implies the conjunction mentions it (`holdout::implied`).
    pub fn can_imply(&self, holdout: &Holdout) -> bool {
        let mut could = [Could::default(); MAX_NODES];
        for (i, node) in self.nodes.iter().enumerate() {
            let [a, b] = node.inputs.map(|input| could[usize::from(input)]);
            let bit = |kind: u8| holdout.bits_of_types(1 << kind);
            let free = holdout.bits_of_types(!node.forbidden);
            // What is known, and whether anything was carried.
            let (known, carried) = match node.kind {
                NodeKind::Filter(_) => (Could { said: a.said | free, ..a }, free & a.alike),
                NodeKind::FilterOne(kind) => (Could { said: a.said | bit(kind), ..a }, bit(kind) & a.alike),
                NodeKind::RelateFilter(_) => (Could { said: free, alike: 0 }, 0),
                NodeKind::Plain(Function::Unique | Function::Query(_)) => (a, 0),
                NodeKind::Plain(Function::Union) => (a.or(b), 0),
                NodeKind::Plain(Function::Intersect) => (a.or(b), a.said & b.alike | b.said & a.alike),
                NodeKind::Plain(Function::Same(kind)) => {
                    let said = a.said & bit(kind);
                    (Could { said, alike: bit(kind) }, said)
                }
                NodeKind::Plain(Function::Equal(kind)) => (Could::default(), (a.said | b.said) & bit(kind)),
                NodeKind::Plain(Function::EqualObject) => (Could::default(), a.said | b.said),
                NodeKind::Plain(_) | NodeKind::Relate => (Could::default(), 0),
            };
            if carried != 0 {
                return true;
            }
            could[i] = known;
        }
        false
    }
}

impl Could {
    fn or(self, other: Self) -> Self {
        Self { said: self.said | other.said, alike: self.alike | other.alike }
    }
}
