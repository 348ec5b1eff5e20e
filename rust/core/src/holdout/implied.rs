//! Programs that ask for the held-out conjunction by way of likenesses.
//!
//! A question can ask for a rubber cylinder without describing one: by "the cylinder of the same material as the
//! rubber cube", by "rubber things of the same material as the cylinder", or by whether the cylinder and the rubber
//! cube are of one material. Two things that a question says to be alike in an attribute (`same_*`), or asks about
//! whether they are (`equal_*`, `equal_object`), share what it says of either's value of that attribute, through any
//! chain of likenesses. It implies the conjunction when some thing then has all of it. An object keeps what its set
//! was described as; a relation in space, a count or a comparison of counts says nothing of values. A question that
//! mentions the conjunction implies it.
//!
//! All that has to be carried along is what is said of a step's own objects, and of the things that share their
//! value of each type: what is said later of the one is said of the others, in that type.

use super::domain::Domain;
use super::pair::{Description, Holdout};
use crate::program::Program;
use crate::vocab::N_TYPES;

/// What is known of the objects that a step gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// Of themselves: alternatives of values, those included that they share with others.
    pub asked: Description,
    /// By type: the alternatives of all things that have the same value of it as they.
    alike: [Description; N_TYPES],
}

impl Known {
    /// Nothing is asked of them, and nothing else is like them.
    pub const ANYTHING: Self = Self { asked: Description::ANYTHING, alike: [Description::NOTHING; N_TYPES] };

    /// All of it as words, for a hash.
    #[inline]
    pub fn words(&self) -> [u64; 2] {
        let alike = self.alike.iter().fold(0, |word, alike| word << 16 | u64::from(alike.0));
        [u64::from(self.asked.0), alike]
    }
}

impl Holdout {
    /// Whether a program asks for the conjunction, in so many words or by way of likenesses.
    pub fn is_implied_in(&self, program: &Program) -> bool {
        Implications(self).is_asked_in(program)
    }
}

/// What is known of objects, likenesses included, and whether it implies the conjunction.
#[derive(Clone, Copy)]
pub struct Implications<'a>(pub &'a Holdout);

impl Implications<'_> {
    /// With whether some thing is known to have all of the conjunction.
    #[inline]
    fn judged(&self, asked: Description, alike: [Description; N_TYPES]) -> (Known, bool) {
        let all = alike.iter().fold(asked, |all, alike| all.or(*alike));
        (Known { asked, alike }, self.0.is_mentioned_by(all))
    }
}

impl Domain for Implications<'_> {
    type State = Known;
    /// Bits of the conjunction.
    type Values = u8;
    const ANYTHING: Known = Known::ANYTHING;

    #[inline]
    fn value(&self, kind: usize, value: u8) -> u8 {
        self.0.bits(kind, value)
    }

    #[inline]
    fn add(&self, known: Known, bits: u8) -> (Known, bool) {
        if bits == 0 {
            return self.judged(known.asked, known.alike);
        }
        let alike = std::array::from_fn(|kind| known.alike[kind].with(bits & self.0.bit(kind)));
        self.judged(known.asked.with(bits), alike)
    }

    #[inline]
    fn either(&self, a: Known, b: Known) -> Known {
        Known { asked: a.asked.or(b.asked), alike: std::array::from_fn(|kind| a.alike[kind].or(b.alike[kind])) }
    }

    /// What is like the objects on one side has the values asked for on the other.
    #[inline]
    fn join(&self, a: Known, b: Known) -> (Known, bool) {
        let alike = std::array::from_fn(|kind| {
            let bit = self.0.bit(kind);
            a.alike[kind].join(b.asked.only(bit)).or(b.alike[kind].join(a.asked.only(bit)))
        });
        self.judged(a.asked.join(b.asked), alike)
    }

    #[inline]
    fn liken(&self, kind: u8, known: Known) -> (Known, bool) {
        let kind = usize::from(kind);
        let bit = self.0.bit(kind);
        let mut alike = [Description::NOTHING; N_TYPES];
        // Of a type that is free, nothing is ever learnt.
        if bit != 0 {
            alike[kind] = known.asked.or(known.alike[kind]);
        }
        self.judged(known.asked.only(bit), alike)
    }

    #[inline]
    fn identify(&self, a: Known, b: Known) -> (Known, bool) {
        self.join(a, b)
    }
}
