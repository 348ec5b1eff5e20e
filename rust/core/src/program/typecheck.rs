//! Type checking of programs, with messages that name the node at fault.

use super::{Argument, Function, MAX_STEPS, Program, Type};
use crate::message::{listed, shown, suggestion};
use crate::vocab::{N_TYPES, RELATION_NAMES, TYPE_NAMES, Vocabulary};
use std::ops::Deref;
use thiserror::Error;

/// What is wrong with a program, and where: `CLEVR_val_questions.json.questions[7].program[2]`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {fault}")]
pub struct ProgramError {
    pub place: String,
    pub fault: Fault,
}

/// What can be wrong with a program or with one node of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// Not the JSON of a program; the text says what was expected.
    #[error("{0}")]
    Json(String),
    #[error("a program has at least one node")]
    Empty,
    #[error("{0} nodes; a program has at most {MAX_STEPS}")]
    TooLong(usize),
    /// The text names the function and suggests a similar one.
    #[error("{0}")]
    UnknownFunction(String),
    /// The text says what is wrong with a COVR operation.
    #[error("{0}")]
    Operation(String),
    #[error("\"{function}\" takes {expected} inputs, got {found}")]
    InputCount { function: Function, expected: usize, found: usize },
    #[error("input {input} is not an earlier node")]
    NotEarlier { input: i64 },
    #[error("\"{function}\" takes {expected} as input {input}, got {found} (node {source_node})")]
    InputType { function: Function, input: usize, expected: Type, found: Type, source_node: usize },
    #[error("\"{function}\" takes {expected}, got {found}")]
    ArgumentCount { function: Function, expected: &'static str, found: usize },
    /// The text names the value and suggests a similar one, or says of which type it is.
    #[error("{0}")]
    UnknownValue(String),
    #[error("\"{function}\" gives {output}, which is not an answer; a program ends in Integer, Bool or a value")]
    NoAnswer { function: Function, output: Type },
}

impl ProgramError {
    /// The same fault, with `outer` prepended to its place.
    pub(super) fn under(self, outer: &str) -> Self {
        Self { place: format!("{outer}{}", self.place), fault: self.fault }
    }
}

impl Fault {
    /// The error for a node of the program at `place`.
    pub(super) fn at(self, place: &str, node: usize) -> ProgramError {
        ProgramError { place: format!("{place}[{node}]"), fault: self }
    }

    /// The error for the program as a whole.
    pub(super) fn of(self, place: &str) -> ProgramError {
        ProgramError { place: place.to_owned(), fault: self }
    }
}

impl Argument {
    /// The names of the values, relations or numbers that are possible, by number; empty for `Nothing`.
    pub fn names(self, vocab: &Vocabulary) -> Vec<&str> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Value(kind) => vocab.types()[usize::from(kind)].values.iter().map(String::as_str).collect(),
            Self::Relation => RELATION_NAMES.to_vec(),
            Self::Number => vocab.numerals().iter().map(String::as_str).collect(),
        }
    }

    /// Number of possible arguments; a function that takes none has just the argument 0.
    pub fn n_choices(self, vocab: &Vocabulary) -> usize {
        match self {
            Self::Nothing => 1,
            Self::Value(kind) => vocab.n_values(usize::from(kind)),
            Self::Relation => vocab.n_relations(),
            Self::Number => vocab.numerals().len(),
        }
    }

    /// The number of the argument with this name.
    ///
    /// # Errors
    /// `UnknownValue` suggests a similar name, or says of which type the value is.
    pub(super) fn parse(self, name: &str, vocab: &Vocabulary) -> Result<u8, Fault> {
        let names = self.names(vocab);
        if let Some(number) = names.iter().position(|known| *known == name) {
            return Ok(number as u8);
        }
        let wanted = match self {
            Self::Nothing => "value",
            Self::Value(kind) => TYPE_NAMES[usize::from(kind)],
            Self::Relation => "relation",
            Self::Number => {
                let (name, largest) = (shown(name), vocab.largest_count());
                return Err(Fault::UnknownValue(format!("\"{name}\" is not a number from 0 to {largest}")));
            }
        };
        Err(Fault::UnknownValue(match vocab.find_value(name) {
            Ok((kind, _)) => format!("\"{}\" is a {}, not a {wanted}", shown(name), TYPE_NAMES[kind]),
            Err(_) => format!(
                "unknown {wanted} \"{}\"{}; known: {}",
                shown(name),
                suggestion(name, names.iter().copied()),
                listed(&names)
            ),
        }))
    }
}

impl Function {
    /// The argument of a step that has these values in a file: one name, or none.
    ///
    /// # Errors
    /// `ArgumentCount`, or as `Argument::parse`.
    pub(super) fn parse_argument<S: Deref<Target = str>>(self, values: &[S], vocab: &Vocabulary) -> Result<u8, Fault> {
        match (self.signature().argument, values) {
            (Argument::Nothing, []) => Ok(0),
            (wanted @ (Argument::Value(_) | Argument::Relation | Argument::Number), [name]) => {
                wanted.parse(name, vocab)
            }
            (wanted, values) => {
                let expected = if wanted == Argument::Nothing { "no value" } else { "one value" };
                Err(Fault::ArgumentCount { function: self, expected, found: values.len() })
            }
        }
    }
}

impl Program {
    /// Checks that the steps can be executed on any scene of the vocabulary, and that the last one gives an answer;
    /// `place` names the program.
    ///
    /// # Errors
    /// Names the first node that is wrong and why.
    pub fn check(&self, vocab: &Vocabulary, place: &str) -> Result<(), ProgramError> {
        self.check_steps(vocab, place)?;
        self.check_ending(place)
    }

    /// The first half of `check`: the last step may give objects, groups or images as well.
    pub(super) fn check_steps(&self, vocab: &Vocabulary, place: &str) -> Result<(), ProgramError> {
        let steps = &self.steps;
        if steps.is_empty() {
            return Err(Fault::Empty.of(place));
        }
        if steps.len() > MAX_STEPS {
            return Err(Fault::TooLong(steps.len()).of(place));
        }
        for (node, step) in steps.iter().enumerate() {
            let function = step.function;
            if let Some(kind) = function.attribute_type().filter(|&kind| usize::from(kind) >= N_TYPES) {
                let text = format!("a function of attribute type {kind}; types are numbered below {N_TYPES}");
                return Err(Fault::UnknownFunction(text).at(place, node));
            }
            for (input, (&source, expected)) in step.inputs.iter().zip(function.signature().inputs).enumerate() {
                let Some(expected) = expected else { continue };
                let source_node = usize::from(source);
                if source_node >= node {
                    return Err(Fault::NotEarlier { input: i64::from(source) }.at(place, node));
                }
                let found = steps[source_node].function.signature().output;
                if found != expected {
                    return Err(Fault::InputType { function, input, expected, found, source_node }.at(place, node));
                }
            }
            let known = function.signature().argument.n_choices(vocab);
            if usize::from(step.argument) >= known {
                let text =
                    format!("argument {} of \"{function}\"; arguments are numbered below {known}", step.argument);
                return Err(Fault::UnknownValue(text).at(place, node));
            }
        }
        Ok(())
    }

    /// The second half of `check`.
    ///
    /// # Errors
    /// `NoAnswer` if the last step gives no answer.
    pub fn check_ending(&self, place: &str) -> Result<(), ProgramError> {
        let function = self.steps.last().ok_or_else(|| Fault::Empty.of(place))?.function;
        match function.signature().output {
            output if output.is_answer() => Ok(()),
            output => Err(Fault::NoAnswer { function, output }.at(place, self.steps.len() - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Step, samples};
    use super::*;

    type Edit = fn(&mut Vec<Step>);

    fn fault(edit: Edit) -> String {
        let mut program = samples::program("scene; filter_color[red] 0; unique 1; relate[left] 2; count 3");
        assert_eq!(program.check(&samples::vocabulary(), "program"), Ok(()));
        edit(&mut program.steps);
        program.check(&samples::vocabulary(), "program").unwrap_err().to_string()
    }

    #[test]
    fn a_program_may_be_read_that_ends_in_objects() {
        let (vocab, json) = (samples::vocabulary(), br#"[{"function": "scene"}]"#);
        let error = Program::from_json(json, &vocab, "p").unwrap_err().to_string();
        assert!(error.starts_with("p[0]: \"scene\" gives ObjectSet, which is not an answer"), "{error}");
        assert_eq!(Program::any_from_json(json, &vocab, "p").unwrap().steps.len(), 1);
        let json = br#"[{"operation": "find", "arguments": ["cube"]}]"#;
        let error = Program::from_covr_json(json, &vocab, "p").unwrap_err().to_string();
        assert!(error.starts_with("p[0]: \"filter_shape\" gives ObjectSet, which is not an answer"), "{error}");
        assert_eq!(Program::any_from_covr_json(json, &vocab, "p").unwrap().steps.len(), 2);
        let empty = Program::any_from_json(b"[]", &vocab, "p").unwrap_err();
        assert_eq!(empty.fault, Fault::Empty);
    }

    #[test]
    fn steps_put_together_wrongly_are_named() {
        let cases: [(Edit, &str); 8] = [
            (|steps| steps.clear(), "program: a program has at least one node"),
            (|steps| steps[1].inputs[0] = 1, "program[1]: input 1 is not an earlier node"),
            (
                |steps| steps[1].argument = 2,
                "program[1]: argument 2 of \"filter_color\"; arguments are numbered below 2",
            ),
            (|steps| steps[0].argument = 1, "program[0]: argument 1 of \"scene\"; arguments are numbered below 1"),
            (|steps| steps[1].function = Function::Filter(4), "program[1]: a function of attribute type 4; types are"),
            (
                |steps| steps[2].function = Function::Relate,
                "program[2]: \"relate\" takes Object as input 0, got ObjectSet (node 1)",
            ),
            (
                |steps| steps.truncate(4),
                "program[3]: \"relate\" gives ObjectSet, which is not an answer; a program ends in",
            ),
            (|steps| steps.resize(257, steps[0]), "program: 257 nodes; a program has at most 256"),
        ];
        for (edit, message) in cases {
            let found = fault(edit);
            assert!(found.starts_with(message), "{found}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_called_so() {
        let vocab = samples::vocabulary();
        let message = |argument: Argument, name| argument.parse(name, &vocab).unwrap_err().to_string();
        assert_eq!(message(Argument::Value(1), "cube"), "\"cube\" is a shape, not a color");
        assert_eq!(
            message(Argument::Value(1), "bleu"),
            "unknown color \"bleu\" (did you mean \"blue\"?); known: red, blue"
        );
        assert_eq!(
            message(Argument::Relation, "lefft"),
            "unknown relation \"lefft\" (did you mean \"left\"?); known: left, right, behind, front"
        );
        assert_eq!(Argument::Value(3).parse("sphere", &vocab), Ok(1));
    }

    #[test]
    fn numbers_end_at_the_largest_count() {
        let vocab = samples::vocabulary();
        assert_eq!(Argument::Number.parse("10", &vocab), Ok(10));
        for name in ["11", "-1", "03", "three", ""] {
            let message = Argument::Number.parse(name, &vocab).unwrap_err().to_string();
            assert_eq!(message, format!("\"{name}\" is not a number from 0 to 10"));
        }
        for argument in [Argument::Value(3), Argument::Relation, Argument::Number] {
            assert_eq!(argument.n_choices(&vocab), argument.names(&vocab).len(), "{argument:?}");
        }
    }
}
