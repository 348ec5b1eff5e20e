//! Combinations that a palette has not, and which descriptions ask for one.
//!
//! Where a pair is held out in a pool with a palette, questions name nothing that no object of the pool could be:
//! no two values of the palette's types that never meet, and no value that meets none. "Naming" is meant as for
//! the held-out pair (`holdout`): by an alternative of the description of some node. An alternative that holds
//! two values of one type names what each of them gives.
//!
//! Whether one more value makes a description name something absent depends on the values that any of its
//! alternatives has, and not on which has which: a filter adds its value to each of them. An intersection joins
//! each with each. So a set of values is all that has to be carried along, as long as nothing absent was named.

use super::combinations::Combinations;
use super::domain::Domain;
use super::error::HoldoutError;
use crate::program::Program;
use crate::scene::Palette;
use crate::vocab::{N_TYPES, Vocabulary};

/// Values of a palette's types, a bit each.
pub type Named = u64;

/// What of a palette's two types does not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    kinds: [usize; 2],
    /// Number of values of the first type: those of the second have the bits after theirs.
    n_first: usize,
    /// By value, as a bit's number: the values of the other type that it never meets.
    never_with: Vec<Named>,
    /// Values that meet none.
    alone: Named,
    /// By combination of all types, as `Combinations` numbers them.
    named: Vec<Named>,
}

impl Absent {
    /// # Errors
    /// `Absent` for a palette of other than two types, or with more values than there are bits.
    pub fn new(vocab: &Vocabulary, palette: &Palette) -> Result<Self, HoldoutError> {
        let fault = |problem: String| HoldoutError::Palette { palette: palette.name().to_owned(), problem };
        let &[first, second] = palette.kinds() else {
            return Err(fault(format!("limits {} types, but a pair is of two", palette.kinds().len())));
        };
        let (n_first, n_second) = (vocab.n_values(first), vocab.n_values(second));
        let most = Named::BITS as usize;
        if n_first + n_second > most {
            return Err(fault(format!(
                "its types have {} values; at most {most} can be kept apart",
                n_first + n_second
            )));
        }
        let mut never_with: Vec<Named> = Vec::with_capacity(n_first + n_second);
        let all = |from: usize, n: usize| (0..n).fold(0, |set, i| set | 1 << (from + i));
        never_with.extend((0..n_first).map(|_| all(n_first, n_second)));
        never_with.extend((0..n_second).map(|_| all(0, n_first)));
        for values in palette.combinations() {
            let (a, b) = (usize::from(values[first]), n_first + usize::from(values[second]));
            never_with[a] &= !(1 << b);
            never_with[b] &= !(1 << a);
        }
        let meets_none = |&value: &usize| {
            never_with[value] == if value < n_first { all(n_first, n_second) } else { all(0, n_first) }
        };
        let alone = (0..n_first + n_second).filter(meets_none).fold(0, |set, value| set | 1 << value);
        let mut absent = Self { kinds: [first, second], n_first, never_with, alone, named: Vec::new() };
        let combinations = Combinations::new(vocab, |_, _| 0);
        let named = |number: u32| {
            let values = combinations.get(number).values;
            (0..N_TYPES).fold(0, |set, kind| set | values[kind].map_or(0, |value| absent.value(kind, value)))
        };
        absent.named = (0..combinations.count()).map(named).collect();
        Ok(absent)
    }

    /// The values of a combination of all types.
    #[inline]
    pub fn combination(&self, number: u32) -> Named {
        self.named[number as usize]
    }

    /// Whether a value of one set never meets one of the other set.
    #[inline]
    fn meet(&self, values: Named, others: Named) -> bool {
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

impl Domain for Absent {
    /// The values that any alternative has.
    type State = Named;
    type Values = Named;
    const ANYTHING: Named = 0;

    /// The bit of a value; none for other types.
    #[inline]
    fn value(&self, kind: usize, value: u8) -> Named {
        if kind == self.kinds[0] {
            1 << value
        } else if kind == self.kinds[1] {
            1 << (self.n_first + usize::from(value))
        } else {
            0
        }
    }

    #[inline]
    fn add(&self, named: Named, added: Named) -> (Named, bool) {
        (named | added, added & self.alone != 0 || self.meet(added, named | added))
    }

    #[inline]
    fn either(&self, a: Named, b: Named) -> Named {
        a | b
    }

    #[inline]
    fn join(&self, a: Named, b: Named) -> (Named, bool) {
        (a | b, self.meet(a, b))
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

    /// The definition as it reads: lists of alternatives, each a set of values.
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

    /// A program of sets alone: filters, unions, intersections and fresh starts in any order.
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
    fn values_carried_along_tell_what_alternatives_tell() {
        let vocab = Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "p", 10).unwrap();
        let palettes = [
            r#"{"cube": ["red", "blue"], "sphere": ["red"]}"#,
            r#"{"cube": ["red", "blue"], "sphere": ["red", "blue"], "cylinder": ["red", "cyan"]}"#,
            r#"{"small": ["red"], "large": ["red", "blue", "cyan"]}"#,
        ];
        for text in palettes {
            let palette = Palette::from_json(&vocab, "p", text.as_bytes(), "p").unwrap();
            let absent = Absent::new(&vocab, &palette).unwrap();
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
        let error = Absent::new(&vocab, &palette).unwrap_err().to_string();
        assert_eq!(error, "palette p: limits 3 types, but a pair is of two");
    }
}
