//! Reads and writes programs in CLEVR's JSON.
//!
//! Published files call a node's operation `function` and its arguments `value_inputs`; the original
//! generator calls them `type` and `side_inputs`, or mixes both. All of these are read; `function` and
//! `value_inputs` are written.

use super::{Argument, Fault, Function, MAX_STEPS, Program, ProgramError, Step};
use crate::message::{json_cause, listed, shown};
use crate::vocab::{RELATION_NAMES, Vocabulary};
use serde::Deserialize;
use serde_json::error::Category;
use std::borrow::Cow;
use std::io::Write;
use std::ops::Deref;

/// A string of a JSON file, borrowed from its bytes if it has no escapes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A node of a JSON file; other keys are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Node<'a> {
    #[serde(borrow, default)]
    pub function: Option<Text<'a>>,
    #[serde(borrow, default, rename = "type")]
    pub kind: Option<Text<'a>>,
    #[serde(default)]
    pub inputs: Vec<i64>,
    #[serde(borrow, default)]
    pub value_inputs: Vec<Text<'a>>,
    #[serde(borrow, default)]
    pub side_inputs: Vec<Text<'a>>,
}

/// Reads JSON; `place` names it in messages.
///
/// Tracking the path to a fault takes time, so only a second reading does it.
pub(super) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8], place: &str) -> Result<T, ProgramError> {
    let error = match serde_json::from_slice(bytes) {
        Ok(content) => return Ok(content),
        Err(error) => error,
    };
    let cause = Fault::Json(json_cause(&error));
    if error.classify() != Category::Data {
        return Err(cause.of(&format!("{place}:{}:{}", error.line(), error.column())));
    }
    match serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(bytes)) {
        Ok(content) => Ok(content),
        Err(error) => Err(cause.of(&match error.path().to_string().as_str() {
            "." => place.to_owned(),
            path if path.starts_with('[') => format!("{place}{path}"),
            path => format!("{place}.{path}"),
        })),
    }
}

impl Program {
    /// Reads a program from JSON bytes, a list of nodes; `place` names it in messages.
    ///
    /// # Errors
    /// Names the place and the node at fault: `<place>[2]: unknown function "querry_color" (did you mean
    /// "query_color"?)`.
    pub fn from_json(bytes: &[u8], vocab: &Vocabulary, place: &str) -> Result<Self, ProgramError> {
        let program = Self::any_from_json(bytes, vocab, place)?;
        program.check_ending(place)?;
        Ok(program)
    }

    /// The same for a program that may end in objects, groups or images as well, as referring expressions do.
    ///
    /// # Errors
    /// As `from_json`.
    pub fn any_from_json(bytes: &[u8], vocab: &Vocabulary, place: &str) -> Result<Self, ProgramError> {
        Self::any_from_nodes(&read::<Vec<Node<'_>>>(bytes, place)?, vocab, place)
    }

    /// Checks a list of nodes; `place` names it in messages.
    ///
    /// # Errors
    /// Names the node at fault, as `from_json` does.
    pub fn from_nodes(nodes: &[Node<'_>], vocab: &Vocabulary, place: &str) -> Result<Self, ProgramError> {
        let program = Self::any_from_nodes(nodes, vocab, place)?;
        program.check_ending(place)?;
        Ok(program)
    }

    fn any_from_nodes(nodes: &[Node<'_>], vocab: &Vocabulary, place: &str) -> Result<Self, ProgramError> {
        if nodes.len() > MAX_STEPS {
            return Err(Fault::TooLong(nodes.len()).of(place));
        }
        let steps = nodes.iter().enumerate().map(|(i, node)| node.step(i, vocab).map_err(|fault| fault.at(place, i)));
        let program = Self { steps: steps.collect::<Result<_, _>>()? };
        program.check_steps(vocab, place)?;
        Ok(program)
    }

    /// Writes the program as a list of nodes in the published dialect, on one line.
    ///
    /// The program must have passed `check`.
    pub fn write_json(&self, vocab: &Vocabulary, out: &mut Vec<u8>) {
        out.push(b'[');
        for (i, step) in self.steps.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(b"{\"inputs\": [");
            for (k, source) in step.sources().iter().enumerate() {
                let comma = if k > 0 { ", " } else { "" };
                // Writing to a vector cannot fail.
                let _ = write!(out, "{comma}{source}");
            }
            let _ = write!(out, "], \"function\": \"{}\", \"value_inputs\": [", step.function);
            if let Some(name) = step.argument_name(vocab) {
                // Nor can writing a string.
                let _ = serde_json::to_writer(&mut *out, name);
            }
            out.extend_from_slice(b"]}");
        }
        out.push(b']');
    }
}

impl Step {
    /// The name of the step's value, relation or number.
    pub fn argument_name<'v>(&self, vocab: &'v Vocabulary) -> Option<&'v str> {
        match self.function.signature().argument {
            Argument::Nothing => None,
            Argument::Value(kind) => Some(vocab.value_name(usize::from(kind), usize::from(self.argument))),
            Argument::Relation => Some(RELATION_NAMES[usize::from(self.argument)]),
            Argument::Number => Some(&vocab.numerals()[usize::from(self.argument)]),
        }
    }
}

impl Node<'_> {
    /// The node as a step; the types of its inputs are not checked yet.
    fn step(&self, number: usize, vocab: &Vocabulary) -> Result<Step, Fault> {
        let function = self.function()?;
        let expected = function.arity();
        if self.inputs.len() != expected {
            return Err(Fault::InputCount { function, expected, found: self.inputs.len() });
        }
        let mut inputs = [0; 2];
        for (slot, &input) in inputs.iter_mut().zip(&self.inputs) {
            let earlier = u8::try_from(input).ok().filter(|&source| usize::from(source) < number);
            *slot = earlier.ok_or(Fault::NotEarlier { input })?;
        }
        let argument = function.parse_argument(self.values()?, vocab)?;
        Ok(Step { function, argument, inputs })
    }

    fn function(&self) -> Result<Function, Fault> {
        let name = match (&self.function, &self.kind) {
            (Some(function), Some(kind)) if function != kind => {
                let (function, kind) = (shown(function), shown(kind));
                let text = format!("\"function\" is \"{function}\" but \"type\" is \"{kind}\"; give one of them");
                return Err(Fault::UnknownFunction(text));
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => {
                return Err(Fault::UnknownFunction("missing \"function\" (or \"type\")".to_owned()));
            }
        };
        Function::from_name(name).map_err(Fault::UnknownFunction)
    }

    fn values(&self) -> Result<&[Text<'_>], Fault> {
        match (self.value_inputs.as_slice(), self.side_inputs.as_slice()) {
            (values, []) | ([], values) => Ok(values),
            (values, others) if values == others => Ok(values),
            (values, others) => {
                let [values, others] =
                    [values, others].map(|list| listed(&list.iter().map(|text| &*text.0).collect::<Vec<_>>()));
                let text =
                    format!("\"value_inputs\" is [{values}] but \"side_inputs\" is [{others}]; give one of them");
                Err(Fault::UnknownValue(text))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use proptest::prelude::*;

    fn read_program(text: &str) -> Result<Program, String> {
        Program::from_json(text.as_bytes(), &samples::vocabulary(), "q.json.program").map_err(|e| e.to_string())
    }

    const PUBLISHED: &str = r#"[{"inputs": [], "function": "scene", "value_inputs": []},
        {"inputs": [0], "function": "filter_color", "value_inputs": ["red"]},
        {"inputs": [1], "function": "count", "value_inputs": []}]"#;

    #[test]
    fn all_dialects_are_read_alike() {
        let expected = samples::program("scene; filter_color[red] 0; count 1");
        let original = PUBLISHED.replace("function", "type").replace("value_inputs", "side_inputs");
        let mixed =
            PUBLISHED.replace("function", "type").replace("\"inputs\": [0]", "\"_output\": [3], \"inputs\": [0]");
        let bare = r#"[{"type": "scene"}, {"type": "filter_color", "inputs": [0], "side_inputs": ["r\u0065d"]},
            {"type": "count", "inputs": [1]}]"#;
        for text in [PUBLISHED, &original, &mixed, bare] {
            assert_eq!(read_program(text).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn a_fault_names_its_node() {
        let cases = [
            (
                "\"filter_color\"",
                "\"filter_colour\"",
                "[1]: unknown function \"filter_colour\" (did you mean \"filter_color\"?)",
            ),
            ("\"count\"", "\"\"", "[2]: unknown function \"\""),
            ("\"function\": \"count\",", "", "[2]: missing \"function\" (or \"type\")"),
            (
                "\"function\": \"count\"",
                "\"function\": \"count\", \"type\": \"exist\"",
                "[2]: \"function\" is \"count\" but",
            ),
            ("[1]", "[0, 1]", "[2]: \"count\" takes 1 inputs, got 2"),
            ("[1]", "[2]", "[2]: input 2 is not an earlier node"),
            ("[1]", "[-1]", "[2]: input -1 is not an earlier node"),
            ("[1]", "[\"1\"]", "[2].inputs[0]: invalid type: string \"1\", expected i64"),
            ("[\"red\"]", "[\"redd\"]", "[1]: unknown color \"redd\" (did you mean \"red\"?); known: red, blue"),
            ("[\"red\"]", "[\"cube\"]", "[1]: \"cube\" is a shape, not a color"),
            ("[\"red\"]", "[]", "[1]: \"filter_color\" takes one value, got 0"),
            (
                "[\"red\"]",
                "[\"red\"], \"side_inputs\": [\"blue\"]",
                "[1]: \"value_inputs\" is [red] but \"side_inputs\" is [blue]",
            ),
            (
                "\"count\", \"value_inputs\": []",
                "\"count\", \"value_inputs\": [\"red\"]",
                "[2]: \"count\" takes no value, got 1",
            ),
            (
                "count",
                "unique",
                "[2]: \"unique\" gives Object, which is not an answer; a program ends in Integer, Bool or a value",
            ),
            ("count", "relate", "[2]: \"relate\" takes one value, got 0"),
            ("count", "query_size", "[2]: \"query_size\" takes Object as input 0, got ObjectSet (node 1)"),
            ("}]", "}", ":3:"),
        ];
        for (good, bad, message) in cases {
            assert!(PUBLISHED.contains(good), "{good}");
            let error = read_program(&PUBLISHED.replacen(good, bad, 1)).unwrap_err();
            assert!(error.starts_with(&format!("q.json.program{message}")), "{error}");
        }
        assert_eq!(read_program("[]").unwrap_err(), "q.json.program: a program has at least one node");
        assert!(read_program("{}").unwrap_err().starts_with("q.json.program: invalid type: map"));
        let long = format!("[{}]", vec![r#"{"type": "scene"}"#; 300].join(", "));
        assert_eq!(read_program(&long).unwrap_err(), "q.json.program: 300 nodes; a program has at most 256");
    }

    #[test]
    fn a_program_is_written_in_the_published_dialect() {
        let mut out = Vec::new();
        samples::program("scene; filter_color[red] 0; count 1").write_json(&samples::vocabulary(), &mut out);
        let text = PUBLISHED.replace("\n        ", " ");
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(seed in any::<u64>()) {
            let vocab = samples::vocabulary();
            let program = samples::random_program(&vocab, seed);
            let mut out = Vec::new();
            program.write_json(&vocab, &mut out);
            prop_assert_eq!(Program::from_json(&out, &vocab, "program"), Ok(program));
        }
    }
}
