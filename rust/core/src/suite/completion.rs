//! Values that complete the held-out combination, given the description of the object that a question asks about.

use crate::holdout::{Description, Holdout};
use crate::program::{Function, Program};
use crate::vocab::Answer;

/// The description of the object about whose value a question asks.
pub(super) struct AskedObject<'a> {
    holdout: &'a Holdout,
    /// The attribute type that is asked for.
    kind: u8,
    description: Description,
}

impl<'a> AskedObject<'a> {
    /// None if the question asks for something else, or if nothing is held out.
    pub fn of(program: &Program, holdout: Option<&'a Holdout>) -> Option<Self> {
        let holdout = holdout?;
        let last = program.steps.last()?;
        let Function::Query(kind) = last.function else { return None };
        // `unique` keeps the description of its input set.
        let unique = program.steps.get(usize::from(last.inputs[0])).filter(|step| step.function == Function::Unique)?;
        let description = holdout.description(program, usize::from(unique.inputs[0]))?;
        Some(Self { holdout, kind, description })
    }

    /// Whether a value of the type asked for completes the held-out combination; false if it is described already.
    pub fn is_completed_by(&self, value: u8) -> bool {
        let with_value = self.description.with(self.holdout.bits(usize::from(self.kind), value));
        !self.holdout.is_mentioned_by(self.description) && self.holdout.is_mentioned_by(with_value)
    }
}

/// Whether an answer, with the question's description of the object, makes up the held-out combination that the
/// description lacks.
pub(super) fn completes(program: &Program, answer: Answer, holdout: Option<&Holdout>) -> bool {
    let Answer::Value(_, value) = answer else { return false };
    AskedObject::of(program, holdout).is_some_and(|asked| asked.is_completed_by(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples::{program, vocabulary};

    /// Whether metal and rubber complete rubber cylinders.
    fn completed(text: &str) -> Option<[bool; 2]> {
        let vocab = vocabulary();
        let holdout = Holdout::new(&vocab, &["rubber", "cylinder"]).unwrap();
        let asked = ["metal", "rubber"].map(|name| vocab.find_value(name).unwrap().1 as u8);
        let program = program(text);
        AskedObject::of(&program, Some(&holdout)).map(|object| asked.map(|value| object.is_completed_by(value)))
    }

    #[test]
    fn only_the_object_that_is_asked_about_counts() {
        let cylinder = "filter_shape[cylinder] 0; unique 1; query_material 2";
        assert_eq!(completed(&format!("scene; {cylinder}")), Some([false, true]));
        let beside = "scene; filter_material[rubber] 0; filter_shape[cylinder] 1; unique 2; relate[left] 3";
        let other = "unique 5; query_material 6";
        assert_eq!(completed(&format!("{beside}; filter_shape[cylinder] 4; {other}")), Some([false, true]));
        assert_eq!(completed(&format!("{beside}; filter_shape[cube] 4; {other}")), Some([false, false]));
        let all = "scene; filter_material[rubber] 0; filter_shape[cylinder] 1; unique 2; query_material 3";
        assert_eq!(completed(all), Some([false, false]));
        assert_eq!(completed("scene; filter_shape[cylinder] 0; exist 1"), None);
    }
}
