//! What a program says of objects, their likenesses included, in; whether it asks for the held-out conjunction out.
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

use super::pair::{Description, Holdout};
use crate::program::{Function, Program};
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

    /// With values named, the conjunction's `bits` of them: a filter.
    #[inline]
    pub fn with(self, bits: u8, holdout: &Holdout) -> Self {
        if bits == 0 {
            return self;
        }
        let alike = std::array::from_fn(|kind| self.alike[kind].with(bits & holdout.bit(kind)));
        Self { asked: self.asked.with(bits), alike }
    }

    /// Whether some thing is known to have all of the conjunction.
    #[inline]
    pub fn implies(&self, holdout: &Holdout) -> bool {
        holdout.is_mentioned_by(self.alike.iter().fold(self.asked, |all, alike| all.or(*alike)))
    }

    /// What is known of what a function gives that names no value; of a comparison's output, of an object that is
    /// like both.
    #[inline]
    pub fn of(function: Function, inputs: [Self; 2], holdout: &Holdout) -> Self {
        let [first, second] = inputs;
        match function {
            Function::Unique | Function::Query(_) => first,
            Function::Union => first.or(second),
            Function::Intersect | Function::EqualObject => first.join(second, holdout),
            Function::Same(kind) => first.same(kind, holdout),
            Function::Equal(kind) => first.same(kind, holdout).join(second.same(kind, holdout), holdout),
            _ => Self::ANYTHING,
        }
    }

    /// All of it as words, for a hash.
    #[inline]
    pub fn words(&self) -> [u64; 2] {
        let alike = self.alike.iter().fold(0, |word, alike| word << 16 | u64::from(alike.0));
        [u64::from(self.asked.0), alike]
    }

    /// Objects that are in one set or the other.
    fn or(self, other: Self) -> Self {
        let alike = std::array::from_fn(|kind| self.alike[kind].or(other.alike[kind]));
        Self { asked: self.asked.or(other.asked), alike }
    }

    /// Objects that are in both sets: what is like them on one side has the values asked for on the other.
    fn join(self, other: Self, holdout: &Holdout) -> Self {
        let alike = std::array::from_fn(|kind| {
            let bit = holdout.bit(kind);
            let mine = self.alike[kind].join(other.asked.only(bit));
            mine.or(other.alike[kind].join(self.asked.only(bit)))
        });
        Self { asked: self.asked.join(other.asked), alike }
    }

    /// Objects that have the same value of a type.
    fn same(self, kind: u8, holdout: &Holdout) -> Self {
        let kind = usize::from(kind);
        let bit = holdout.bit(kind);
        let mut alike = [Description::NOTHING; N_TYPES];
        // Of a type that is free, nothing is ever learnt.
        if bit != 0 {
            alike[kind] = self.asked.or(self.alike[kind]);
        }
        Self { asked: self.asked.only(bit), alike }
    }
}

impl Holdout {
    /// Whether a program asks for the conjunction, in so many words or by way of likenesses.
    pub fn is_implied_in(&self, program: &Program) -> bool {
        let mut known: Vec<Known> = Vec::with_capacity(program.steps.len());
        program.steps.iter().any(|step| {
            let input = |i: usize| known.get(usize::from(step.inputs[i])).copied().unwrap_or(Known::ANYTHING);
            let this = match step.function {
                Function::Filter(kind) => input(0).with(self.bits(usize::from(kind), step.argument), self),
                function => Known::of(function, [input(0), input(1)], self),
            };
            known.push(this);
            this.implies(self)
        })
    }
}
