//! Whether the questions of a family can imply the held-out conjunction without mentioning it.

use super::Plan;
use crate::holdout::{Domain, Holdout};
use crate::question::template::MAX_NODES;

/// What could be known about a node's objects, as bits of the conjunction: a superset over all questions.
#[derive(Clone, Copy)]
struct Possible {
    /// Values that could be asked of them.
    own: u8,
    /// Values of the types in which another object could be like them.
    alike: u8,
}

/// The abstract domain of what could be known.
struct Likenesses<'a>(&'a Holdout);

impl Plan {
    /// Whether some likeness could carry one of the conjunction's values to another object.
    ///
    /// If not, a question that implies the conjunction also mentions it (`holdout::implication`).
    pub fn can_imply(&self, holdout: &Holdout) -> bool {
        self.can_ask_from(0, &mut [Likenesses::ANYTHING; MAX_NODES], &Likenesses(holdout), holdout)
    }
}

impl Domain for Likenesses<'_> {
    type State = Possible;
    type Values = u8;
    const ANYTHING: Possible = Possible { own: 0, alike: 0 };

    fn value(&self, kind: usize, value: u8) -> u8 {
        self.0.bits(kind, value)
    }

    fn add(&self, a: Possible, bits: u8) -> (Possible, bool) {
        (Possible { own: a.own | bits, ..a }, bits & a.alike != 0)
    }

    fn either(&self, a: Possible, b: Possible) -> Possible {
        Possible { own: a.own | b.own, alike: a.alike | b.alike }
    }

    fn join(&self, a: Possible, b: Possible) -> (Possible, bool) {
        (self.either(a, b), (a.own & b.alike | b.own & a.alike) != 0)
    }

    fn liken(&self, kind: u8, a: Possible) -> (Possible, bool) {
        let bit = self.0.bits_of_types(1 << kind);
        (Possible { own: a.own & bit, alike: bit }, a.own & bit != 0)
    }

    fn identify(&self, a: Possible, b: Possible) -> (Possible, bool) {
        (self.either(a, b), a.own | b.own != 0)
    }
}
