//! The equivalent of a program in CLEVR's own functions, if it has one.
//!
//! If there is exactly one cube, "is the cube red?" asks whether there is a red cube; a choice question asks for the
//! attribute whose values it offers. Programs that join truth values by `and` or `not`, or compare with a number, have
//! no equivalent.

use super::catalogue::{Function, Origin};
use super::{Program, Step};

impl Program {
    /// A program of CLEVR's functions that gives the same answer on all scenes on which this one has an answer, or this
    /// one if it has only CLEVR's functions; None if there is no such program.
    pub fn in_clevr(&self) -> Option<Self> {
        if self.steps.iter().all(|step| is_of_clevr(step.function)) {
            return Some(self.clone());
        }
        let mut builder = Builder { from: &self.steps, known: vec![None; self.steps.len()], steps: Vec::new() };
        let last = self.steps.last()?;
        let set = match last.function {
            Function::Verify(kind) => {
                let set = builder.members(last.inputs[0])?;
                builder.filtered(set, kind, last.argument)?
            }
            Function::Or => {
                let [a, b] = [builder.tested(last.inputs[0])?, builder.tested(last.inputs[1])?];
                builder.push(Function::Union, 0, [a, b])
            }
            Function::VerifyRelation => {
                let object = builder.copy(last.inputs[1])?;
                let related = builder.push(Function::Relate, last.argument, [object, 0]);
                let set = builder.members(last.inputs[0])?;
                let set = builder.copy(set)?;
                builder.push(Function::Intersect, 0, [related, set])
            }
            _ => {
                builder.copy(self.steps.len() as u8 - 1)?;
                return Some(Self { steps: builder.steps });
            }
        };
        builder.push(Function::Exist, 0, [set, 0]);
        Some(Self { steps: builder.steps })
    }
}

fn is_of_clevr(function: Function) -> bool {
    matches!(function.origin(), Origin::ClevrQuestions | Origin::ClevrEngine)
}

/// Copies steps, leaving out those that CLEVR does not have.
struct Builder<'a> {
    from: &'a [Step],
    /// For each step, its copy.
    known: Vec<Option<u8>>,
    steps: Vec<Step>,
}

impl Builder<'_> {
    fn push(&mut self, function: Function, argument: u8, inputs: [u8; 2]) -> u8 {
        self.steps.push(Step { function, argument, inputs });
        (self.steps.len() - 1) as u8
    }

    /// The copy of a step, which is made on first use; None if CLEVR has no equivalent.
    fn copy(&mut self, at: u8) -> Option<u8> {
        if let Some(known) = self.known[usize::from(at)] {
            return Some(known);
        }
        let step = self.from[usize::from(at)];
        let copy = match step.function {
            // An offer does not change the object.
            Function::Offer(_) => self.copy(step.inputs[0])?,
            function if !is_of_clevr(function) => return None,
            function => {
                let mut inputs = [0; 2];
                for (input, &source) in inputs.iter_mut().zip(step.sources()) {
                    *input = self.copy(source)?;
                }
                self.push(function, step.argument, inputs)
            }
        };
        self.known[usize::from(at)] = Some(copy);
        Some(copy)
    }

    /// The step of the set whose only member this object is.
    fn members(&self, object: u8) -> Option<u8> {
        let step = self.from[usize::from(object)];
        match step.function {
            Function::Unique => Some(step.inputs[0]),
            Function::Offer(_) => self.members(step.inputs[0]),
            _ => None,
        }
    }

    /// A copy of the set that an `exist` tests; None for other truth values.
    fn tested(&mut self, truth: u8) -> Option<u8> {
        let step = self.from[usize::from(truth)];
        if step.function == Function::Exist { self.copy(step.inputs[0]) } else { None }
    }

    /// A copy of a set with one more filter, in CLEVR's order of filters: by attribute type.
    fn filtered(&mut self, set: u8, kind: u8, value: u8) -> Option<u8> {
        let step = self.from[usize::from(set)];
        if let Function::Filter(other) = step.function
            && other > kind
        {
            let before = self.filtered(step.inputs[0], kind, value)?;
            return Some(self.push(step.function, step.argument, [before, 0]));
        }
        let before = self.copy(set)?;
        Some(self.push(Function::Filter(kind), value, [before, 0]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::program;

    fn equivalent(text: &str) -> Option<super::Program> {
        program(text).in_clevr()
    }

    #[test]
    fn a_value_is_verified_by_a_filter_in_its_place() {
        assert_eq!(
            equivalent("scene; filter_size[large] 0; filter_shape[cube] 1; unique 2; verify_color[red] 3"),
            Some(program("scene; filter_size[large] 0; filter_color[red] 1; filter_shape[cube] 2; exist 3"))
        );
        let related = "scene; filter_shape[cube] 0; unique 1; relate[left] 2; unique 3";
        assert_eq!(
            equivalent(&format!("{related}; verify_material[metal] 4")),
            Some(program("scene; filter_shape[cube] 0; unique 1; relate[left] 2; filter_material[metal] 3; exist 4"))
        );
    }

    #[test]
    fn a_choice_asks_for_the_value() {
        assert_eq!(
            equivalent("scene; filter_shape[cube] 0; unique 1; offer_color[red] 2; offer_color[blue] 3; query_color 4"),
            Some(program("scene; filter_shape[cube] 0; unique 1; query_color 2"))
        );
    }

    #[test]
    fn either_of_two_is_a_member_of_their_union() {
        let two = "scene; filter_shape[cube] 0; exist 1; scene; filter_color[red] 3; exist 4";
        assert_eq!(
            equivalent(&format!("{two}; or 2 5")),
            Some(program("scene; filter_shape[cube] 0; scene; filter_color[red] 2; union 1 3; exist 4"))
        );
        assert_eq!(equivalent(&format!("{two}; and 2 5")), None);
        assert_eq!(equivalent("scene; exist 0; not 1"), None);
        assert_eq!(equivalent("scene; count 0; count_is[3] 1"), None);
    }

    #[test]
    fn an_object_beside_another_is_one_of_those_beside_it() {
        let two = "scene; filter_shape[cube] 0; unique 1; scene; filter_color[red] 3; unique 4";
        assert_eq!(
            equivalent(&format!("{two}; verify_relation[left] 2 5")),
            Some(program(
                "scene; filter_color[red] 0; unique 1; relate[left] 2; scene; filter_shape[cube] 4; intersect 3 5; exist 6"
            ))
        );
    }

    #[test]
    fn a_program_of_clevr_is_its_own() {
        let own = program("scene; filter_color[red] 0; count 1");
        assert_eq!(own.in_clevr(), Some(own));
    }
}
