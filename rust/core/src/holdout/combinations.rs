//! Numbers for all combinations of values, with one value or none of each type.

use crate::vocab::{N_TYPES, Vocabulary};

/// All combinations, numbered in mixed radix over the types, 0 for an unset type.
#[derive(Clone, Debug)]
pub struct Combinations {
    stride: [u32; N_TYPES],
    /// For each combination number, the combination.
    table: Vec<Combination>,
}

/// The values of a combination.
#[derive(Clone, Copy, Debug)]
pub struct Combination {
    /// The value of each type; None if it is unset.
    pub values: [Option<u8>; N_TYPES],
    /// The types that are set, one bit each.
    pub types: u8,
    /// The bits of the held-out conjunction that its values have.
    pub bits: u8,
}

impl Combinations {
    /// `bits_of` gives the bits of the held-out conjunction that a value has, by type and number.
    pub fn new(vocab: &Vocabulary, bits_of: impl Fn(usize, u8) -> u8) -> Self {
        let mut stride = [0; N_TYPES];
        let mut count = 1;
        let radix: [u32; N_TYPES] = std::array::from_fn(|kind| vocab.n_values(kind) as u32 + 1);
        for (kind, &radix) in radix.iter().enumerate() {
            stride[kind] = count;
            count *= radix;
        }
        let named = |combination: u32| {
            let values: [Option<u8>; N_TYPES] = std::array::from_fn(|kind| {
                (combination / stride[kind] % radix[kind]).checked_sub(1).map(|value| value as u8)
            });
            let (mut types, mut bits) = (0, 0);
            for (kind, value) in values.iter().enumerate() {
                if let Some(value) = *value {
                    types |= 1 << kind;
                    bits |= bits_of(kind, value);
                }
            }
            Combination { values, types, bits }
        };
        Self { stride, table: (0..count).map(named).collect() }
    }

    /// Number of combinations, the empty one included.
    pub fn count(&self) -> u32 {
        self.table.len() as u32
    }

    #[inline]
    pub fn get(&self, combination: u32) -> &Combination {
        &self.table[combination as usize]
    }

    /// For each set of types (one bit each), the combination of an object's values of these types.
    #[inline]
    pub(crate) fn of_object(&self, values: [u8; N_TYPES]) -> [u32; 1 << N_TYPES] {
        let mut all = [0; 1 << N_TYPES];
        for (kind, value) in values.into_iter().enumerate() {
            let part = (u32::from(value) + 1) * self.stride[kind];
            for types in 0..1 << kind {
                all[1 << kind | types] = all[types] + part;
            }
        }
        all
    }
}
