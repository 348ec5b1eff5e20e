//! Mentions of the held-out conjunction, the generator's definition of what a question may not ask for.
//!
//! Each node of a program that gives a set has a description, a list of alternatives, each a set of values that its
//! members are asked to have. A question mentions the conjunction if one alternative of one node holds all of it. (The
//! description of an object is that of its set, which matters if a value is added to it.)
//!
//! If only chains of filters count, as in the original generator, a union or an intersection has no description.

use super::domain::Domain;
use super::pair::Holdout;
use crate::program::Program;

impl Holdout {
    /// Whether an alternative of the description holds the whole conjunction.
    #[inline]
    pub fn is_mentioned_by(&self, description: Description) -> bool {
        description.0 >> self.full() & 1 == 1
    }

    /// Whether any node of a program mentions the conjunction.
    pub fn is_mentioned_in(&self, program: &Program) -> bool {
        Mentions(self).is_asked_in(program)
    }

    /// The description of the output of a program's step; None if there is no such step.
    pub fn description(&self, program: &Program, step: usize) -> Option<Description> {
        let mut states: Vec<Description> = Vec::with_capacity(program.steps.len());
        for each in program.steps.get(..=step)? {
            states.push(Mentions(self).next(&states, each).0);
        }
        states.pop()
    }
}

/// The domain of descriptions and mentions.
#[derive(Clone, Copy)]
pub struct Mentions<'a>(pub &'a Holdout);

impl Mentions<'_> {
    #[inline(always)]
    fn judged(&self, description: Description) -> (Description, bool) {
        (description, self.0.is_mentioned_by(description))
    }
}

impl Domain for Mentions<'_> {
    type State = Description;
    /// Bits of the conjunction.
    type Values = u8;
    const ANYTHING: Description = Description::ANYTHING;

    #[inline]
    fn value(&self, kind: usize, value: u8) -> u8 {
        self.0.bits(kind, value)
    }

    #[inline(always)]
    fn add(&self, description: Description, bits: u8) -> (Description, bool) {
        self.judged(description.with(bits))
    }

    #[inline]
    fn either(&self, a: Description, b: Description) -> Description {
        if self.0.is_in_chains() { Description::ANYTHING } else { a.or(b) }
    }

    #[inline(never)] // Few programs join sets.
    fn join(&self, a: Description, b: Description) -> (Description, bool) {
        if self.0.is_in_chains() { (Description::ANYTHING, false) } else { self.judged(a.join(b)) }
    }
}

/// A set of alternatives, each a set of the conjunction's bits: bit `a` is set if alternative `a` is among them.
/// (Values outside the conjunction do not matter.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Description(pub u16);

impl Description {
    /// One alternative that asks for nothing: the description of `scene`, `relate` and `same_*`.
    pub const ANYTHING: Self = Self(1);
    /// No alternative: the description of no object.
    pub(super) const NOTHING: Self = Self(0);

    /// Adds `bits` to each alternative, as a filter does.
    #[inline]
    pub fn with(self, bits: u8) -> Self {
        if self == Self::ANYTHING {
            return Self(1 << (bits & 15));
        }
        // For each bit, the alternatives that have it.
        const HAVING: [u16; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];
        let with_one = |set: u16, bit: usize| {
            let adds = u16::from(bits >> bit & 1) * !0;
            let had = set & (HAVING[bit] | !adds);
            had | (set & !HAVING[bit] & adds) << (1 << bit)
        };
        Self((0..HAVING.len()).fold(self.0, with_one))
    }

    /// Joins each alternative with each of the other's, as an intersection does.
    #[inline]
    pub fn join(self, other: Self) -> Self {
        Self(self.alternatives().fold(0, |set, a| set | other.with(a as u8).0))
    }

    /// The alternatives of both lists, as of a union.
    #[inline]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Each alternative restricted to `bits`.
    #[inline]
    pub(super) fn only(self, bits: u8) -> Self {
        Self(self.alternatives().fold(0, |set, a| set | 1 << (a & u16::from(bits))))
    }

    fn alternatives(self) -> impl Iterator<Item = u16> {
        (0..16).filter(move |a| self.0 >> a & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples::{program, vocabulary};

    fn mentions(text: &str) -> bool {
        Holdout::new(&vocabulary(), &["rubber", "cylinder"]).unwrap().is_mentioned_in(&program(text))
    }

    #[test]
    fn a_union_filtered_afterwards_mentions_the_pair() {
        // How many matte things are either cylinders or red cubes?
        let either = "scene; filter_shape[cylinder] 0; scene; filter_color[red] 2; filter_shape[cube] 3; union 1 4";
        assert!(mentions(&format!("{either}; filter_material[rubber] 5; count 6")));
        assert!(!mentions(&format!("{either}; filter_material[metal] 5; count 6")));
    }

    #[test]
    fn a_chain_of_filters_ends_where_sets_are_joined() {
        let chains = Holdout::new(&vocabulary(), &["rubber", "cylinder"]).unwrap().in_chains();
        let mentions = |text: &str| chains.is_mentioned_in(&program(text));
        let two = "scene; filter_shape[cylinder] 0; scene; filter_color[red] 2";
        assert!(!mentions(&format!("{two}; union 1 3; filter_material[rubber] 4; count 5")));
        assert!(!mentions(&format!("{two}; intersect 1 3; filter_material[rubber] 4; count 5")));
        assert!(mentions(&format!("{two}; union 1 3; filter_material[rubber] 4; filter_shape[cylinder] 5; count 6")));
        assert!(mentions(&format!("{two}; filter_material[rubber] 1; union 4 3; count 5")));
        let joined = "scene; filter_shape[cylinder] 0; scene; filter_material[rubber] 2; intersect 1 3; count 4";
        assert!(!mentions(joined) && super::tests::mentions(joined));
    }

    #[test]
    fn a_relation_starts_a_new_description() {
        assert!(!mentions(
            "scene; filter_material[rubber] 0; unique 1; relate[left] 2; filter_shape[cylinder] 3; exist 4"
        ));
    }

    #[test]
    fn functions_over_images_mention_what_they_name_of_one_object() {
        let sets = "scene; filter_material[rubber] 0; scene; filter_shape[cylinder] 2";
        for (steps, expected) in [
            // All rubber things are cylinders.
            ("all 1 3", true),
            ("with_relation[left] 1 3; exist 4", false),
            ("with_relation[left] 1 3; filter_shape[cylinder] 4; exist 5", true),
            ("with_relation_object[left] 3 1; filter_material[rubber] 4; exist 5", true),
            ("with_same_shape 1 3; exist 4", false),
            ("unique_images 1; unique_images 3; count_images 4; count_images 5; less_than 6 7", false),
            ("assert_unique 1; unique 4; option_shape[cylinder]; choose_shape[cube] 5 6", true),
            ("assert_unique 1; unique 4; option_shape[cube]; choose_shape[cylinder] 5 6", true),
            ("assert_unique 1; unique 4; option_shape[cube]; choose_shape[sphere] 5 6", false),
            ("assert_unique 1; unique 4; choose_relation[left] 5 3; count 3", false),
        ] {
            assert_eq!(mentions(&format!("{sets}; {steps}")), expected, "{steps}");
        }
    }

    #[test]
    fn a_likeness_to_cylinders_implies_what_it_does_not_mention() {
        let holdout = Holdout::new(&vocabulary(), &["rubber", "cylinder"]).unwrap();
        let sets = "scene; filter_material[rubber] 0; scene; filter_shape[cylinder] 2";
        for (steps, expected) in [
            ("with_same_shape 1 3; exist 4", true),
            ("with_same_size 1 3; exist 4", false),
            // Whether all rubber things and cylinders have one shape.
            ("union 1 3; all_same_shape 4", true),
            ("union 1 3; all_same_size 4", false),
            ("all_same_shape 1", false),
        ] {
            let program = program(&format!("{sets}; {steps}"));
            assert_eq!(
                (holdout.is_mentioned_in(&program), holdout.is_implied_in(&program)),
                (false, expected),
                "{steps}"
            );
        }
    }

    #[test]
    fn intersections_join_alternatives() {
        let a = Description::ANYTHING.with(1);
        let b = Description::ANYTHING.with(2).or(Description::ANYTHING);
        assert_eq!(a.join(b), Description(1 << 3 | 1 << 1));
    }
}
