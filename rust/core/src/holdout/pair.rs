//! The held-out conjunction of attribute values, and the objects that have it.

use super::absent_pairs::AbsentPairs;
use super::error::HoldoutError;
use crate::message::shown;
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
    /// For each set of types, the conjunction's bits of these types.
    bits_of_types: [u8; 1 << N_TYPES],
    full: u8,
    /// What else questions must not name, in pools with a palette.
    absent: Option<Arc<AbsentPairs>>,
    /// Whether a description ends where sets are united or intersected.
    in_chains: bool,
}

impl Holdout {
    /// The conjunction of at least two values, given by name.
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
        let mut holdout = Self {
            values: [None; N_TYPES],
            bits: [0; N_TYPES],
            bits_of_types,
            full: 0,
            absent: None,
            in_chains: false,
        };
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

    /// The same conjunction, mentioned only by a chain of filters: one on a union or an intersection of sets starts a
    /// new chain. This is how the original generator reads programs.
    pub fn in_chains(self) -> Self {
        Self { in_chains: true, ..self }
    }

    /// Whether only chains of filters mention it.
    #[inline]
    pub fn is_in_chains(&self) -> bool {
        self.in_chains
    }

    /// What questions must not name besides the conjunction; None without a palette.
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

    /// Whether an object with these values has every held-out value.
    #[inline]
    pub fn is_met_by(&self, attributes: &[u8; N_TYPES]) -> bool {
        self.values.iter().zip(attributes).all(|(held, &value)| held.is_none_or(|held| held == value))
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

    /// The bits of the conjunction's values of these types (one bit each).
    #[inline]
    pub fn bits_of_types(&self, types: u8) -> u8 {
        self.bits_of_types[usize::from(types) % (1 << N_TYPES)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples::vocabulary;

    #[test]
    fn one_type_twice_is_refused() {
        let error = Holdout::new(&vocabulary(), &["rubber", "metal"]).unwrap_err().to_string();
        assert_eq!(error, "\"rubber\" and \"metal\" are both values of material: no object can have both");
    }
}
