//! The held-out conjunction of attribute values: the objects that have it, and the descriptions that mention it.
//!
//! This is the generator's definition of "mentioning": each node of a program that gives a set has a description,
//! a list of alternatives, each a set of values that its members are asked to have. A question mentions the
//! conjunction if one alternative of one node holds all of it. (The description of an object is that of its set,
//! which matters if a value is added to it.)

use super::absent_pairs::AbsentPairs;
use super::domain::Domain;
use super::error::HoldoutError;
use crate::message::shown;
use crate::program::Program;
use crate::scene::{Palette, SceneView};
use crate::vocab::{N_TYPES, Vocabulary};
use std::sync::Arc;

/// A held-out conjunction of values of different attribute types, such as "rubber" and "cylinder".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdout {
    /// The held-out value of each type; None for other types.
    values: [Option<u8>; N_TYPES],
    /// The conjunction's bit for each type.
    bits: [u8; N_TYPES],
    /// By set of types, their bits of the conjunction.
    bits_of_types: [u8; 1 << N_TYPES],
    full: u8,
    /// What questions may not name either, in pools with a palette.
    absent: Option<Arc<AbsentPairs>>,
}

impl Holdout {
    /// The conjunction of values given by name, of which there are at least two.
    pub fn new(vocab: &Vocabulary, names: &[&str]) -> Result<Self, HoldoutError> {
        if names.len() < 2 {
            return Err(HoldoutError::TooFew(names.len()));
        }
        Self::of(vocab, names)
    }

    /// A single value, which a preliminary set asks for.
    pub fn of_one(vocab: &Vocabulary, name: &str) -> Result<Self, HoldoutError> {
        Self::of(vocab, &[name])
    }

    fn of(vocab: &Vocabulary, names: &[&str]) -> Result<Self, HoldoutError> {
        let bits_of_types = [0; 1 << N_TYPES];
        let mut holdout = Self { values: [None; N_TYPES], bits: [0; N_TYPES], bits_of_types, full: 0, absent: None };
        for (place, name) in names.iter().enumerate() {
            let (kind, value) = vocab.find_value(name)?;
            if let Some(other) = holdout.values[kind] {
                return Err(HoldoutError::SameType {
                    a: vocab.value_name(kind, usize::from(other)).to_owned(),
                    b: shown(name).into_owned(),
                    kind: vocab.types()[kind].name,
                });
            }
            holdout.values[kind] = Some(value as u8);
            holdout.bits[kind] = 1 << place;
            holdout.full |= 1 << place;
            let with_it = holdout.bits_of_types.iter_mut().enumerate().filter(|(types, _)| types >> kind & 1 == 1);
            with_it.for_each(|(_, bits)| *bits |= 1 << place);
        }
        Ok(holdout)
    }

    /// The same conjunction in a pool with a palette, where questions name nothing that is absent from it.
    ///
    /// # Errors
    /// `Palette` for a palette of other than two types.
    pub fn within(self, vocab: &Vocabulary, palette: &Palette) -> Result<Self, HoldoutError> {
        Ok(Self { absent: Some(Arc::new(AbsentPairs::new(vocab, palette)?)), ..self })
    }

    /// What questions may not name besides the conjunction; None without a palette.
    #[inline]
    pub fn absent(&self) -> Option<&AbsentPairs> {
        self.absent.as_deref()
    }

    /// The held-out value of each type; None for other types.
    pub fn values(&self) -> &[Option<u8>; N_TYPES] {
        &self.values
    }

    /// The held-out values, in type order: "rubber cylinder".
    pub fn describe(&self, vocab: &Vocabulary) -> String {
        let names =
            self.values.iter().enumerate().filter_map(|(kind, v)| Some(vocab.value_name(kind, usize::from((*v)?))));
        names.collect::<Vec<_>>().join(" ")
    }

    /// All of the conjunction's bits.
    #[inline]
    pub fn full(&self) -> u8 {
        self.full
    }

    /// The objects of a scene that have every held-out value.
    #[inline]
    pub fn members(&self, vocab: &Vocabulary, scene: SceneView<'_>) -> u32 {
        let mut set = scene.everything();
        for (kind, value) in self.values.iter().enumerate() {
            if let Some(value) = value {
                set &= scene.members[vocab.value_row(kind, usize::from(*value))];
            }
        }
        set
    }

    /// The bit of the conjunction that a value has, or 0.
    #[inline]
    pub fn bits(&self, kind: usize, value: u8) -> u8 {
        if self.values[kind] == Some(value) { self.bits[kind] } else { 0 }
    }

    /// The conjunction's bit of a type; 0 for a type without a held-out value.
    #[inline]
    pub(super) fn bit(&self, kind: usize) -> u8 {
        self.bits[kind]
    }

    /// The bits of the conjunction's values of these types (a bit each).
    #[inline]
    pub fn bits_of_types(&self, types: u8) -> u8 {
        self.bits_of_types[usize::from(types) % (1 << N_TYPES)]
    }

    /// Whether an alternative of the description holds the whole conjunction.
    #[inline]
    pub fn is_mentioned_by(&self, description: Description) -> bool {
        description.0 >> self.full & 1 == 1
    }

    /// Whether any node of a program mentions the conjunction.
    pub fn is_mentioned_in(&self, program: &Program) -> bool {
        Mentions(self).is_asked_in(program)
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
        a.or(b)
    }

    #[inline(never)] // Few programs join sets.
    fn join(&self, a: Description, b: Description) -> (Description, bool) {
        self.judged(a.join(b))
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
        // By bit, the alternatives that have it.
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

    /// Both lists of alternatives, as of a union.
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
    fn a_relation_starts_a_new_description() {
        assert!(!mentions(
            "scene; filter_material[rubber] 0; unique 1; relate[left] 2; filter_shape[cylinder] 3; exist 4"
        ));
    }

    #[test]
    fn intersections_join_alternatives() {
        let a = Description::ANYTHING.with(1);
        let b = Description::ANYTHING.with(2).or(Description::ANYTHING);
        assert_eq!(a.join(b), Description(1 << 3 | 1 << 1));
    }

    #[test]
    fn one_type_twice_is_refused() {
        let error = Holdout::new(&vocabulary(), &["rubber", "metal"]).unwrap_err().to_string();
        assert_eq!(error, "\"rubber\" and \"metal\" are both values of material: no object can have both");
    }
}
