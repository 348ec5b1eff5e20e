//! Values and pairs of values that are absent from a palette, and the programs that ask for one.
//!
//! If a pair is held out in a pool with a palette, questions must not name anything that no object of the pool can be:
//! two values of the palette's types that never occur together, or a value that never occurs. "Naming" is defined as
//! for the held-out pair (`holdout::mention`), by the alternatives of a node's description. An alternative with two
//! values of one type names everything that either of them gives.
//!
//! Whether one more value makes a description name something absent depends only on the set of values in all of its
//! alternatives: a filter adds its value to each alternative, and an intersection joins each with each. So a set of
//! values is a sufficient state, as long as nothing absent has been named.

use super::combinations::Combinations;
use super::domain::Domain;
use super::error::HoldoutError;
use crate::program::Program;
use crate::scene::Palette;
use crate::vocab::{N_TYPES, Vocabulary};

/// A set of values of a palette's two types, one bit each.
pub type ValueSet = u64;

/// The values and pairs that are absent from a palette of two types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsentPairs {
    kinds: [usize; 2],
    /// Number of values of the first type, whose bits come before those of the second.
    n_first: usize,
    /// For each value, by the number of its bit: the values of the other type that it never occurs with.
    never_with: Vec<ValueSet>,
    /// Values that never occur.
    alone: ValueSet,
    /// For each combination of all types, as `Combinations` numbers them, its values of the two types.
    named: Vec<ValueSet>,
}

impl AbsentPairs {
    /// # Errors
    /// `Palette` for a palette of other than two types, or with more values than there are bits.
    pub fn new(vocab: &Vocabulary, palette: &Palette) -> Result<Self, HoldoutError> {
        let fault = |problem: String| HoldoutError::Palette { palette: palette.name().to_owned(), problem };
        let &[first, second] = palette.kinds() else {
            return Err(fault(format!("limits {} types, but a pair is of two", palette.kinds().len())));
        };
        let (n_first, n_second) = (vocab.n_values(first), vocab.n_values(second));
        let most = ValueSet::BITS as usize;
        if n_first + n_second > most {
            return Err(fault(format!(
                "its types have {} values; at most {most} can be kept apart",
                n_first + n_second
            )));
        }
        let mut never_with: Vec<ValueSet> = Vec::with_capacity(n_first + n_second);
        let all = |from: usize, n: usize| (0..n).fold(0, |set, i| set | 1 << (from + i));
        never_with.extend((0..n_first).map(|_| all(n_first, n_second)));
        never_with.extend((0..n_second).map(|_| all(0, n_first)));
        for values in palette.combinations() {
            let (a, b) = (usize::from(values[first]), n_first + usize::from(values[second]));
            never_with[a] &= !(1 << b);
            never_with[b] &= !(1 << a);
        }
        let never_occurs = |&value: &usize| {
            never_with[value] == if value < n_first { all(n_first, n_second) } else { all(0, n_first) }
        };
        let alone = (0..n_first + n_second).filter(never_occurs).fold(0, |set, value| set | 1 << value);
        let mut absent = Self { kinds: [first, second], n_first, never_with, alone, named: Vec::new() };
        let combinations = Combinations::new(vocab, |_, _| 0);
        let named = |number: u32| {
            let values = combinations.get(number).values;
            (0..N_TYPES).fold(0, |set, kind| set | values[kind].map_or(0, |value| absent.value(kind, value)))
        };
        absent.named = (0..combinations.count()).map(named).collect();
        Ok(absent)
    }

    /// The values that a combination of all types has.
    #[inline]
    pub fn combination(&self, number: u32) -> ValueSet {
        self.named[number as usize]
    }

    /// Whether a value of one set never occurs with one of the other set.
    #[inline]
    fn clash(&self, values: ValueSet, others: ValueSet) -> bool {
        let mut left = values;
        while left != 0 {
            if self.never_with[left.trailing_zeros() as usize] & others != 0 {
                return true;
            }
            left &= left - 1;
        }
        false
    }

    /// Whether any node of a program names something absent.
    pub fn is_named_in(&self, program: &Program) -> bool {
        self.is_asked_in(program)
    }
}

impl Domain for AbsentPairs {
    /// The values of all alternatives.
    type State = ValueSet;
    type Values = ValueSet;
    const ANYTHING: ValueSet = 0;

    /// The bit of a value; 0 for values of other types.
    #[inline]
    fn value(&self, kind: usize, value: u8) -> ValueSet {
        if kind == self.kinds[0] {
            1 << value
        } else if kind == self.kinds[1] {
            1 << (self.n_first + usize::from(value))
        } else {
            0
        }
    }

    #[inline]
    fn add(&self, named: ValueSet, added: ValueSet) -> (ValueSet, bool) {
        (named | added, added & self.alone != 0 || self.clash(added, named | added))
    }

    #[inline]
    fn either(&self, a: ValueSet, b: ValueSet) -> ValueSet {
        a | b
    }

    #[inline]
    fn join(&self, a: ValueSet, b: ValueSet) -> (ValueSet, bool) {
        (a | b, self.clash(a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Function, Step};
    use crate::rng::StreamKey;
    use std::collections::BTreeSet;

    const PROPERTIES: &str = r#"{"sizes": {"small": 0.35, "large": 0.7},
        "colors": {"red": [1, 2, 3], "blue": [1, 2, 4], "cyan": [1, 2, 5]},
        "materials": {"rubber": "r"}, "shapes": {"cube": "c", "sphere": "s", "cylinder": "y"}}"#;

    /// The definition, written plainly: lists of alternatives, each a set of values.
    fn names_absent(palette: &Palette, program: &Program) -> bool {
        type Alternative = BTreeSet<(usize, u8)>;
        let mut descriptions: Vec<Vec<Alternative>> = Vec::new();
        for step in &program.steps {
            let input = |i: usize| descriptions[usize::from(step.inputs[i])].clone();
            let description: Vec<Alternative> = match step.function {
                Function::Filter(kind) => input(0)
                    .into_iter()
                    .map(|a| a.into_iter().chain([(usize::from(kind), step.argument)]).collect())
                    .collect(),
                Function::Union => [input(0), input(1)].concat(),
                Function::Intersect => {
                    input(0).iter().flat_map(|a| input(1).into_iter().map(move |b| a | &b)).collect()
                }
                _ => vec![Alternative::new()],
            };
            let allows = |wanted: &[(usize, u8)]| {
                palette.combinations().any(|values| wanted.iter().all(|&(kind, value)| values[kind] == value))
            };
            let names = |alternative: &Alternative| {
                let own: Vec<_> =
                    alternative.iter().filter(|(kind, _)| palette.kinds().contains(kind)).copied().collect();
                own.iter().any(|&a| !allows(&[a]) || own.iter().any(|&b| a.0 != b.0 && !allows(&[a, b])))
            };
            if description.iter().any(names) {
                return true;
            }
            descriptions.push(description);
        }
        false
    }

    /// A program of filters, unions, intersections and `same_*` in any order.
    fn program(vocab: &Vocabulary, n_steps: usize, index: u64) -> Program {
        let mut rng = StreamKey::new(&[b"programs of sets"]).at(index);
        let mut steps = vec![Step { function: Function::Scene, argument: 0, inputs: [0, 0] }];
        while steps.len() < n_steps {
            let inputs = [0, 1].map(|_| rng.below(steps.len() as u32) as u8);
            let kind = rng.below(4) as u8;
            let (function, argument) = match rng.below(8) {
                0..=4 => (Function::Filter(kind), rng.below(vocab.n_values(usize::from(kind)) as u32) as u8),
                5 => (Function::Union, 0),
                6 => (Function::Intersect, 0),
                _ => (Function::Same(kind), 0),
            };
            steps.push(Step { function, argument, inputs });
        }
        Program { steps }
    }

    #[test]
    fn sets_of_values_suffice_for_lists_of_alternatives() {
        let vocab = Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "p", 10).unwrap();
        let palettes = [
            r#"{"cube": ["red", "blue"], "sphere": ["red"]}"#,
            r#"{"cube": ["red", "blue"], "sphere": ["red", "blue"], "cylinder": ["red", "cyan"]}"#,
            r#"{"small": ["red"], "large": ["red", "blue", "cyan"]}"#,
        ];
        for text in palettes {
            let palette = Palette::from_json(&vocab, "p", text.as_bytes(), "p").unwrap();
            let absent = AbsentPairs::new(&vocab, &palette).unwrap();
            let mut counts = [0; 2];
            for index in 0..20_000 {
                let program = program(&vocab, 3 + index as usize % 5, index);
                let expected = names_absent(&palette, &program);
                assert_eq!(absent.is_named_in(&program), expected, "{text} {program:?}");
                counts[usize::from(expected)] += 1;
            }
            assert!(counts.iter().all(|&n| n > 500), "{counts:?}");
        }
    }

    #[test]
    fn palettes_that_questions_cannot_follow_are_refused() {
        let vocab = Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "p", 10).unwrap();
        let text = r#"{"types": ["size", "color", "shape"], "rows": [[["large", "red", "cube"]]]}"#;
        let palette = Palette::from_json(&vocab, "p", text.as_bytes(), "p").unwrap();
        let error = AbsentPairs::new(&vocab, &palette).unwrap_err().to_string();
        assert_eq!(error, "palette p: limits 3 types, but a pair is of two");
    }
}
