//! Programs that imply the held-out conjunction.
//!
//! A question can ask for a rubber cylinder without describing one: by "the cylinder of the same material as the
//! rubber cube", by "rubber things of the same material as the cylinder", or by whether the cylinder and the rubber
//! cube have the same material. If a question says that two things are alike in an attribute (`same_*`), or asks
//! whether they are (`equal_*`, `equal_object`), each has what is said of the other's value of that attribute, through
//! any chain of likenesses. The question implies the conjunction if some thing then has all of it. An object keeps
//! the description of its set; spatial relations, counts and comparisons of counts say nothing about values. A
//! question that mentions the conjunction also implies it.
//!
//! The state of a step is what is said of its own objects and, by type, of the things that share their value:
//! whatever is said later of one is said of the others, in that type.

use super::domain::Domain;
use super::mention::Description;
use super::pair::Holdout;
use crate::program::Program;
use crate::vocab::N_TYPES;

/// What is known about the objects that a step gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Knowledge {
    /// About themselves: alternatives of values, including those that they share with others.
    pub own: Description,
    /// For each type, the alternatives of all things that have the same value of it.
    alike: [Description; N_TYPES],
}

impl Knowledge {
    /// Nothing is asked of them, and nothing is like them.
    pub const ANYTHING: Self = Self { own: Description::ANYTHING, alike: [Description::NOTHING; N_TYPES] };

    /// The knowledge as words, for a hash.
    #[inline]
    pub fn words(&self) -> [u64; 2] {
        let alike = self.alike.iter().fold(0, |word, alike| word << 16 | u64::from(alike.0));
        [u64::from(self.own.0), alike]
    }
}

impl Holdout {
    /// Whether a program mentions the conjunction or implies it by likenesses.
    pub fn is_implied_in(&self, program: &Program) -> bool {
        Implications(self).is_asked_in(program)
    }
}

/// The domain of knowledge about objects, likenesses included.
#[derive(Clone, Copy)]
pub struct Implications<'a>(pub &'a Holdout);

impl Implications<'_> {
    /// The knowledge, and whether some thing has all of the conjunction.
    #[inline]
    fn judged(&self, own: Description, alike: [Description; N_TYPES]) -> (Knowledge, bool) {
        let all = alike.iter().fold(own, |all, alike| all.or(*alike));
        (Knowledge { own, alike }, self.0.is_mentioned_by(all))
    }
}

impl Domain for Implications<'_> {
    type State = Knowledge;
    /// Bits of the conjunction.
    type Values = u8;
    const ANYTHING: Knowledge = Knowledge::ANYTHING;

    #[inline]
    fn value(&self, kind: usize, value: u8) -> u8 {
        self.0.bits(kind, value)
    }

    #[inline]
    fn add(&self, known: Knowledge, bits: u8) -> (Knowledge, bool) {
        if bits == 0 {
            return self.judged(known.own, known.alike);
        }
        let alike = std::array::from_fn(|kind| known.alike[kind].with(bits & self.0.bit(kind)));
        self.judged(known.own.with(bits), alike)
    }

    #[inline]
    fn either(&self, a: Knowledge, b: Knowledge) -> Knowledge {
        Knowledge { own: a.own.or(b.own), alike: std::array::from_fn(|kind| a.alike[kind].or(b.alike[kind])) }
    }

    /// Things that are like the objects of one side get the values asked for on the other.
    #[inline]
    fn join(&self, a: Knowledge, b: Knowledge) -> (Knowledge, bool) {
        let alike = std::array::from_fn(|kind| {
            let bit = self.0.bit(kind);
            a.alike[kind].join(b.own.only(bit)).or(b.alike[kind].join(a.own.only(bit)))
        });
        self.judged(a.own.join(b.own), alike)
    }

    #[inline]
    fn liken(&self, kind: u8, known: Knowledge) -> (Knowledge, bool) {
        let kind = usize::from(kind);
        let bit = self.0.bit(kind);
        let mut alike = [Description::NOTHING; N_TYPES];
        // Nothing is learnt about a type that is not held out.
        if bit != 0 {
            alike[kind] = known.own.or(known.alike[kind]);
        }
        self.judged(known.own.only(bit), alike)
    }

    #[inline]
    fn identify(&self, a: Knowledge, b: Knowledge) -> (Knowledge, bool) {
        self.join(a, b)
    }
}
