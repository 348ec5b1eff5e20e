//! Reads and writes programs in COVR's JSON (Bogin et al. 2021), with COVR's names of operations.
//!
//! A program is a list of nodes, each with an operation, the numbers of the nodes that it depends on, and arguments. A
//! quantifier has a program of its own among its arguments, the condition; here the condition's steps simply come
//! before the quantifier's. COVR has one name for several functions (`count`), and one node for two steps (`find`).

use super::Argument;
use super::json::{Text, read};
use super::{Fault, Function, MAX_STEPS, Program, ProgramError, Step, Type};
use crate::message::{json_cause, shown, suggestion};
use crate::scene::world::SHAPE;
use crate::vocab::{CONVERSE, RELATION_NAMES, TYPE_NAMES, Vocabulary};
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write;

/// The type whose values COVR calls names; it calls the values of other types attributes.
const NAME: u8 = SHAPE as u8;
/// Begins the name of the relation between two objects with the same value of a type; the type's name follows.
const SAME: &str = "same_";

const ONE_ONE: &str = "one dependency and one argument";
const TWO: &str = "two dependencies and no argument";
const ONE: &str = "one dependency and no argument";
/// Each operation of COVR and what it takes.
const OPERATIONS: [(&str, &str); 33] = [
    ("scene", "no dependency and no argument"),
    ("find", "no dependency and one argument"),
    ("filter", ONE_ONE),
    ("with_relation", "two dependencies and one argument"),
    ("with_relation_object", "two dependencies and one argument"),
    ("unique", ONE),
    ("assert_unique", ONE),
    ("exists", ONE),
    ("count", ONE),
    ("unique_images", ONE),
    ("group_by_images", ONE),
    ("keep_if_values_count_eq", ONE_ONE),
    ("keep_if_values_count_geq", ONE_ONE),
    ("keep_if_values_count_leq", ONE_ONE),
    ("keys", ONE),
    ("eq", "two dependencies, or one dependency and one argument"),
    ("gt", TWO),
    ("lt", TWO),
    ("geq", ONE_ONE),
    ("leq", ONE_ONE),
    ("logic_and", TWO),
    ("logic_or", TWO),
    ("logic_not", ONE),
    ("all", ONE_ONE),
    ("some", ONE_ONE),
    ("none", ONE_ONE),
    ("all_same", ONE_ONE),
    ("query_attr", ONE_ONE),
    ("query_name", ONE),
    ("verify_attr", ONE_ONE),
    ("choose_attr", "one dependency and two arguments"),
    ("choose_name", "one dependency and two arguments"),
    ("choose_relation", "two dependencies and two arguments"),
];

/// A node of a file; other keys are ignored.
#[derive(Deserialize)]
struct Node<'a> {
    #[serde(borrow)]
    operation: Text<'a>,
    #[serde(default)]
    dependencies: Vec<i64>,
    #[serde(default)]
    arguments: Vec<Value>,
}

impl Program {
    /// Reads a program from the bytes of COVR's JSON, a list of nodes; `place` names it in messages.
    ///
    /// # Errors
    /// Names the place and the node at fault: `<place>[2]: unknown operation "fliter" (did you mean "filter"?)`, or
    /// `<place>[4].arguments[0][1]` for a node of a condition.
    pub fn from_covr_json(bytes: &[u8], vocab: &Vocabulary, place: &str) -> Result<Self, ProgramError> {
        let (program, n_nodes) = Self::read_covr(bytes, vocab, place)?;
        // A node may be several steps, and the place is that of the node.
        program.check_ending("").map_err(|error| error.fault.at(place, n_nodes - 1))?;
        Ok(program)
    }

    /// The same for a program that may end in objects, groups or images as well.
    ///
    /// # Errors
    /// As `from_covr_json`.
    pub fn any_from_covr_json(bytes: &[u8], vocab: &Vocabulary, place: &str) -> Result<Self, ProgramError> {
        Ok(Self::read_covr(bytes, vocab, place)?.0)
    }

    /// A program, and the number of its nodes.
    fn read_covr(bytes: &[u8], vocab: &Vocabulary, place: &str) -> Result<(Self, usize), ProgramError> {
        let mut reader = Reader { vocab, steps: Vec::new() };
        let nodes = read::<Vec<Node<'_>>>(bytes, place)?;
        reader.nodes(&nodes, place)?;
        Ok((Self { steps: reader.steps }, nodes.len()))
    }

    /// Writes the program as COVR's list of nodes, on one line. The steps that only a quantifier's condition needs form
    /// a program in its arguments; steps that the condition shares with others are written twice.
    ///
    /// The program must have passed `check`.
    ///
    /// # Errors
    /// `UnknownFunction` names a function that COVR has no operation for.
    pub fn write_covr_json(&self, vocab: &Vocabulary, out: &mut Vec<u8>) -> Result<(), Fault> {
        let writer = Writer { vocab, steps: &self.steps };
        out.extend_from_slice(writer.list(&vec![true; self.steps.len()])?.as_bytes());
        Ok(())
    }
}

/// Turns nodes into steps.
struct Reader<'a> {
    vocab: &'a Vocabulary,
    steps: Vec<Step>,
}

impl Reader<'_> {
    /// Appends the steps of a list of nodes; returns the number of the last one.
    fn nodes(&mut self, nodes: &[Node<'_>], place: &str) -> Result<u8, ProgramError> {
        // For each node, the step that gives its output.
        let mut places: Vec<u8> = Vec::with_capacity(nodes.len());
        for (number, node) in nodes.iter().enumerate() {
            let earlier = |&input: &i64| {
                let source = usize::try_from(input).ok().and_then(|input| places.get(input));
                source.copied().ok_or_else(|| Fault::NotEarlier { input }.at(place, number))
            };
            let inputs = node.dependencies.iter().map(earlier).collect::<Result<Vec<u8>, _>>()?;
            let before = self.steps.len();
            let condition = match &node.arguments[..] {
                [Value::Array(_)] => {
                    Some(self.condition(&node.arguments[0], &format!("{place}[{number}].arguments[0]"))?)
                }
                _ => None,
            };
            let added = self.add(node, &inputs, condition).map_err(|fault| fault.at(place, number))?;
            for step in &self.steps[before..] {
                self.check(step, node, &places).map_err(|fault| fault.at(place, number))?;
            }
            places.push(added);
        }
        places.last().copied().ok_or_else(|| Fault::Empty.of(place))
    }

    /// Appends the steps of a quantifier's condition; returns the number of the last one.
    fn condition(&mut self, nodes: &Value, place: &str) -> Result<u8, ProgramError> {
        let nodes = Vec::<Node<'_>>::deserialize(nodes);
        let nodes = nodes.map_err(|error| Fault::Json(json_cause(&error)).of(place))?;
        self.nodes(&nodes, place)
    }

    /// Checks the types of the inputs that a node's step takes from other nodes.
    fn check(&self, step: &Step, node: &Node<'_>, places: &[u8]) -> Result<(), Fault> {
        for (&source, expected) in step.sources().iter().zip(step.function.signature().inputs.into_iter().flatten()) {
            let found = self.kind(source);
            if let Some(number) = places.iter().position(|&place| place == source).filter(|_| found != expected) {
                let operation = shown(&node.operation);
                return Err(Fault::Operation(format!("\"{operation}\" takes {expected}, got {found} (node {number})")));
            }
        }
        Ok(())
    }

    /// The type of a step's output.
    fn kind(&self, step: u8) -> Type {
        self.steps[usize::from(step)].function.signature().output
    }

    /// Appends the steps of a node, given those of its dependencies and its condition; returns the number of the last
    /// one.
    fn add(&mut self, node: &Node<'_>, inputs: &[u8], condition: Option<u8>) -> Result<u8, Fault> {
        use Function as F;
        let names: Vec<String> = node.arguments.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let number = |name: &str| Argument::Number.parse(name, self.vocab);
        match (&*node.operation, inputs, &names[..]) {
            ("scene", [], []) => self.push(F::Scene, 0, &[]),
            ("find", [], [value]) => {
                let value = Argument::Value(NAME).parse(value, self.vocab)?;
                let scene = self.push(F::Scene, 0, &[])?;
                self.push(F::Filter(NAME), value, &[scene])
            }
            ("filter", [_], [value]) => {
                let (kind, value) = self.value(value)?;
                self.push(F::Filter(kind), value, inputs)
            }
            ("with_relation", [set, others], [relation]) => match relation.strip_prefix(SAME) {
                Some(kind) => self.push(F::WithSame(self.attribute(kind)?), 0, &[*set, *others]),
                None => self.push(F::WithRelation, self.relation(relation)?, &[*set, *others]),
            },
            // The second dependency is the set whose members are kept, which is the first input here.
            ("with_relation_object", [others, set], [relation]) => match relation.strip_prefix(SAME) {
                Some(kind) => self.push(F::WithSame(self.attribute(kind)?), 0, &[*set, *others]),
                None => self.push(F::WithRelationObject, self.relation(relation)?, &[*set, *others]),
            },
            ("unique", [_], []) => self.push(F::Unique, 0, inputs),
            ("assert_unique", [_], []) => self.push(F::AssertUnique, 0, inputs),
            ("exists", [_], []) => self.push(F::Exist, 0, inputs),
            ("count", [counted], []) => {
                let function = match self.kind(*counted) {
                    Type::Images => F::CountImages,
                    Type::Groups => F::CountGroups,
                    _ => F::Count,
                };
                self.push(function, 0, inputs)
            }
            ("unique_images", [_], []) => self.push(F::UniqueImages, 0, inputs),
            ("group_by_images", [_], []) => self.push(F::GroupByImages, 0, inputs),
            ("keep_if_values_count_eq", [_], [n]) => self.push(F::KeepIfValuesCountEq, number(n)?, inputs),
            ("keep_if_values_count_geq", [_], [n]) => self.push(F::KeepIfValuesCountGeq, number(n)?, inputs),
            ("keep_if_values_count_leq", [_], [n]) => self.push(F::KeepIfValuesCountLeq, number(n)?, inputs),
            ("keys", [_], []) => self.push(F::Keys, 0, inputs),
            ("eq", [first, _], []) => {
                let function = if let Type::Value(kind) = self.kind(*first) { F::Equal(kind) } else { F::EqualInteger };
                self.push(function, 0, inputs)
            }
            ("eq", [_], [n]) => self.push(F::CountIs, number(n)?, inputs),
            ("gt", [_, _], []) => self.push(F::GreaterThan, 0, inputs),
            ("lt", [_, _], []) => self.push(F::LessThan, 0, inputs),
            ("geq", [_], [n]) => self.push(F::CountAtLeast, number(n)?, inputs),
            ("leq", [_], [n]) => self.push(F::CountAtMost, number(n)?, inputs),
            ("logic_and", [_, _], []) => self.push(F::And, 0, inputs),
            ("logic_or", [_, _], []) => self.push(F::Or, 0, inputs),
            ("logic_not", [_], []) => self.push(F::Not, 0, inputs),
            (name @ ("all" | "some" | "none"), [scope], [_]) => {
                let missing = || Fault::Operation(format!("\"{name}\" takes a program as its argument"));
                let condition = condition.ok_or_else(missing)?;
                let output = self.kind(condition);
                if output != Type::Set {
                    let text = format!("the program in \"{name}\" gives {output}, but a condition is ObjectSet");
                    return Err(Fault::Operation(text));
                }
                let function = match name {
                    "all" => F::All,
                    "some" => F::Some,
                    _ => F::None,
                };
                self.push(function, 0, &[*scope, condition])
            }
            ("all_same", [_], [kind]) => self.push(F::AllSame(self.attribute(kind)?), 0, inputs),
            ("query_attr", [_], [kind]) => self.push(F::Query(self.attribute(kind)?), 0, inputs),
            ("query_name", [_], []) => self.push(F::Query(NAME), 0, inputs),
            ("verify_attr", [_], [value]) => {
                let (kind, value) = self.value(value)?;
                self.push(F::Verify(kind), value, inputs)
            }
            ("choose_attr" | "choose_name", [object], [value, option]) => {
                let (kind, value) = self.value(value)?;
                let option = Argument::Value(kind).parse(option, self.vocab)?;
                let option = self.push(F::Option(kind), option, &[])?;
                self.push(F::Choose(kind), value, &[*object, option])
            }
            ("choose_relation", [_, _], [first, second]) => {
                let (relation, converse) = (self.relation(first)?, self.relation(second)?);
                if CONVERSE[usize::from(relation)] != converse {
                    let text = format!(
                        "\"{first}\" and \"{second}\" are not opposites; choose left or right, behind or front"
                    );
                    return Err(Fault::UnknownValue(text));
                }
                self.push(F::ChooseRelation, relation, inputs)
            }
            (name, _, _) => Err(Fault::Operation(match OPERATIONS.iter().find(|(known, _)| *known == name) {
                Some((_, takes)) => {
                    format!("\"{name}\" takes {takes}, got {} and {}", inputs.len(), names.len())
                }
                None => {
                    let hint = suggestion(name, OPERATIONS.iter().map(|(known, _)| *known));
                    format!("unknown operation \"{}\"{hint}", shown(name))
                }
            })),
        }
    }

    fn push(&mut self, function: Function, argument: u8, sources: &[u8]) -> Result<u8, Fault> {
        let mut inputs = [0; 2];
        inputs[..sources.len()].copy_from_slice(sources);
        self.steps.push(Step { function, argument, inputs });
        let n = self.steps.len();
        if n <= MAX_STEPS { Ok((n - 1) as u8) } else { Err(Fault::TooLong(n)) }
    }

    /// A value by its name, with its type.
    fn value(&self, name: &str) -> Result<(u8, u8), Fault> {
        let (kind, value) = self.vocab.find_value(name).map_err(|error| Fault::UnknownValue(error.to_string()))?;
        Ok((kind as u8, value as u8))
    }

    fn attribute(&self, name: &str) -> Result<u8, Fault> {
        let kind = self.vocab.type_index(name).map_err(|error| Fault::UnknownValue(error.to_string()))?;
        Ok(kind as u8)
    }

    fn relation(&self, name: &str) -> Result<u8, Fault> {
        Argument::Relation.parse(name, self.vocab)
    }
}

/// An argument as a name: the text of a string, or the JSON of anything else.
fn name(argument: &Value) -> String {
    argument.as_str().map_or_else(|| argument.to_string(), str::to_owned)
}

struct Writer<'a> {
    vocab: &'a Vocabulary,
    steps: &'a [Step],
}

/// An operation, the steps that it depends on, and its arguments as JSON.
type Written = (&'static str, Vec<u8>, Vec<String>);

impl Writer<'_> {
    /// The nodes of those steps that are `members`.
    fn list(&self, members: &[bool]) -> Result<String, Fault> {
        // A step has a node if no step uses it, or if a step with a node uses it other than within that node.
        let (mut is_used, mut has_node) = (vec![false; members.len()], vec![false; members.len()]);
        for at in (0..members.len()).rev().filter(|&at| members[at]) {
            has_node[at] |= !is_used[at];
            for (input, &source) in self.steps[at].sources().iter().enumerate() {
                is_used[usize::from(source)] = true;
                has_node[usize::from(source)] |= has_node[at] && !self.is_within(at, input);
            }
        }
        let mut numbers = vec![0; members.len()];
        let mut out = String::from("[");
        for (number, at) in (0..members.len()).filter(|&at| has_node[at]).enumerate() {
            numbers[at] = number;
            let (operation, inputs, arguments) = self.node(at)?;
            let dependencies: Vec<usize> = inputs.iter().map(|&input| numbers[usize::from(input)]).collect();
            let comma = if number > 0 { ", " } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "{comma}{{\"operation\": \"{operation}\", \"dependencies\": {dependencies:?}, \"arguments\": [{}]}}",
                arguments.join(", ")
            );
        }
        out.push(']');
        Ok(out)
    }

    /// Whether a step's input is part of the step's node instead of having a node of its own.
    fn is_within(&self, at: usize, input: usize) -> bool {
        let source = self.steps[usize::from(self.steps[at].inputs[input])].function;
        match self.steps[at].function {
            Function::All | Function::Some | Function::None => input == 1,
            Function::Choose(kind) => input == 1 && source == Function::Option(kind),
            Function::Filter(NAME) => source == Function::Scene,
            _ => false,
        }
    }

    /// The nodes of a step and of everything that it depends on.
    fn program(&self, at: u8) -> Result<String, Fault> {
        let mut members = vec![false; usize::from(at) + 1];
        members[usize::from(at)] = true;
        for at in (0..members.len()).rev() {
            if members[at] {
                self.steps[at].sources().iter().for_each(|&source| members[usize::from(source)] = true);
            }
        }
        self.list(&members)
    }

    fn node(&self, at: usize) -> Result<Written, Fault> {
        let step = self.steps[at];
        let [a, b] = step.inputs;
        let argument = || step.argument_name(self.vocab).map(quoted).into_iter().collect::<Vec<_>>();
        let number = || vec![step.argument.to_string()];
        let kind = |kind: u8| TYPE_NAMES[usize::from(kind)];
        let quantifier = |name| Ok((name, vec![a], vec![self.program(b)?]));
        Ok(match step.function {
            Function::Scene => ("scene", vec![], vec![]),
            Function::Filter(_) if self.is_within(at, 0) => ("find", vec![], argument()),
            Function::Filter(_) => ("filter", vec![a], argument()),
            Function::WithRelation => ("with_relation", vec![a, b], argument()),
            Function::WithRelationObject => ("with_relation_object", vec![b, a], argument()),
            Function::WithSame(of) => ("with_relation", vec![a, b], vec![quoted(&format!("{SAME}{}", kind(of)))]),
            Function::Unique => ("unique", vec![a], vec![]),
            Function::AssertUnique => ("assert_unique", vec![a], vec![]),
            Function::Exist => ("exists", vec![a], vec![]),
            Function::Count | Function::CountImages | Function::CountGroups => ("count", vec![a], vec![]),
            Function::UniqueImages => ("unique_images", vec![a], vec![]),
            Function::GroupByImages => ("group_by_images", vec![a], vec![]),
            Function::KeepIfValuesCountEq => ("keep_if_values_count_eq", vec![a], number()),
            Function::KeepIfValuesCountGeq => ("keep_if_values_count_geq", vec![a], number()),
            Function::KeepIfValuesCountLeq => ("keep_if_values_count_leq", vec![a], number()),
            Function::Keys => ("keys", vec![a], vec![]),
            Function::Equal(_) | Function::EqualInteger => ("eq", vec![a, b], vec![]),
            Function::CountIs => ("eq", vec![a], number()),
            Function::GreaterThan => ("gt", vec![a, b], vec![]),
            Function::LessThan => ("lt", vec![a, b], vec![]),
            Function::CountAtLeast => ("geq", vec![a], number()),
            Function::CountAtMost => ("leq", vec![a], number()),
            Function::And => ("logic_and", vec![a, b], vec![]),
            Function::Or => ("logic_or", vec![a, b], vec![]),
            Function::Not => ("logic_not", vec![a], vec![]),
            Function::All => return quantifier("all"),
            Function::Some => return quantifier("some"),
            Function::None => return quantifier("none"),
            Function::AllSame(of) => ("all_same", vec![a], vec![quoted(kind(of))]),
            Function::Query(NAME) => ("query_name", vec![a], vec![]),
            Function::Query(of) => ("query_attr", vec![a], vec![quoted(kind(of))]),
            Function::Verify(_) => ("verify_attr", vec![a], argument()),
            Function::Choose(of) if self.is_within(at, 1) => {
                let name = if of == NAME { "choose_name" } else { "choose_attr" };
                let options = [step, self.steps[usize::from(b)]];
                (name, vec![a], options.iter().filter_map(|step| step.argument_name(self.vocab)).map(quoted).collect())
            }
            Function::ChooseRelation => {
                let relations = [step.argument, CONVERSE[usize::from(step.argument)]];
                let names = relations.map(|relation| quoted(RELATION_NAMES[usize::from(relation)]));
                ("choose_relation", vec![a, b], names.into())
            }
            function => {
                return Err(Fault::UnknownFunction(format!("COVR has no operation for \"{function}\" in its place")));
            }
        })
    }
}

/// A name as JSON.
fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, program};
    use super::super::{execute, execute_on_set};
    use super::*;
    use crate::scene::{SceneGraph, SceneSet};
    use proptest::prelude::*;

    fn read_program(text: &str) -> Result<Program, String> {
        Program::from_covr_json(text.as_bytes(), &samples::vocabulary(), "covr.json[3]").map_err(|e| e.to_string())
    }

    fn written(program: &Program) -> Result<String, String> {
        let mut out = Vec::new();
        let fault = program.write_covr_json(&samples::vocabulary(), &mut out);
        fault.map(|()| String::from_utf8(out).unwrap()).map_err(|fault| fault.to_string())
    }

    /// Nodes as `find[cube]; filter[red] 0; count 1`: operations with their arguments as JSON, then dependencies.
    fn nodes(text: &str) -> String {
        let node = |node: &str| {
            let (head, dependencies) = node.trim().split_once(' ').unwrap_or((node.trim(), ""));
            let (operation, arguments) = head.trim_end_matches(']').split_once('[').unwrap_or((head, ""));
            let dependencies = dependencies.replace(' ', ", ");
            let arguments: Vec<String> = arguments
                .split(',')
                .filter(|argument| !argument.is_empty())
                .map(|argument| if argument.parse::<u8>().is_ok() { argument.to_owned() } else { quoted(argument) })
                .collect();
            let arguments = arguments.join(", ");
            format!(r#"{{"operation": "{operation}", "dependencies": [{dependencies}], "arguments": [{arguments}]}}"#)
        };
        format!("[{}]", text.split(';').map(node).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn operations_are_functions() {
        let cases = [
            ("find[cube]; count 0", "scene; filter_shape[cube] 0; count 1"),
            ("scene; filter[red] 0; exists 1", "scene; filter_color[red] 0; exist 1"),
            (
                "find[cube]; scene; with_relation[left] 0 1; with_relation_object[front] 1 2; exists 3",
                "scene; filter_shape[cube] 0; scene; with_relation[left] 1 2; with_relation_object[front] 3 2; exist 4",
            ),
            (
                "scene; find[cube]; with_relation[same_color] 0 1; unique_images 2; count 3; geq[2] 4",
                "scene; scene; filter_shape[cube] 1; with_same_color 0 2; unique_images 3; count_images 4; \
                 count_at_least[2] 5",
            ),
            (
                "scene; group_by_images 0; keep_if_values_count_leq[3] 1; count 2; keys 1; count 4; lt 3 5",
                "scene; group_by_images 0; keep_if_values_count_leq[3] 1; count_groups 2; keys 1; count_images 4; \
                 less_than 3 5",
            ),
            (
                "scene; assert_unique 0; unique 1; query_name 2; query_name 2; eq 3 4; count 0; eq[4] 6; logic_or 5 7",
                "scene; assert_unique 0; unique 1; query_shape 2; query_shape 2; equal_shape 3 4; count 0; \
                 count_is[4] 6; or 5 7",
            ),
            ("scene; unique 0; choose_attr[red,blue] 1", "scene; unique 0; option_color[blue]; choose_color[red] 1 2"),
            (
                "scene; unique 0; choose_name[cube,sphere] 1",
                "scene; unique 0; option_shape[sphere]; choose_shape[cube] 1 2",
            ),
            ("scene; unique 0; choose_relation[right,left] 1 0", "scene; unique 0; choose_relation[right] 1 0"),
            ("scene; all_same[size] 0; logic_not 1", "scene; all_same_size 0; not 1"),
            ("scene; unique 0; verify_attr[metal] 1", "scene; unique 0; verify_material[metal] 1"),
            ("scene; unique 0; query_attr[size] 1", "scene; unique 0; query_size 1"),
        ];
        for (covr, own) in cases {
            assert_eq!(read_program(&nodes(covr)), Ok(program(own)), "{covr}");
            assert_eq!(written(&program(own)), Ok(nodes(covr)), "{own}");
        }
    }

    #[test]
    fn the_condition_of_a_quantifier_is_a_program_in_its_arguments() {
        for name in ["all", "some", "none"] {
            let condition = nodes("scene; find[sphere]; with_relation[left] 0 1");
            let outer = nodes(&format!("find[cube]; filter[red] 0; {name}[0] 1; logic_not 2"));
            let json = outer.replace("\"arguments\": [0]", &format!("\"arguments\": [{condition}]"));
            let own = program(&format!(
                "scene; filter_shape[cube] 0; filter_color[red] 1; scene; scene; filter_shape[sphere] 4; \
                 with_relation[left] 3 5; {name} 2 6; not 7"
            ));
            assert_eq!(read_program(&json), Ok(own.clone()));
            assert_eq!(written(&own), Ok(json));
        }
        // Steps that the condition shares with the scope are written twice; so is a scene that is used by more than a
        // name.
        // name.
        let shared = program("scene; filter_shape[cube] 0; filter_color[red] 1; all 1 2");
        let json = written(&shared).unwrap();
        assert_eq!(json.matches("find").count(), 2);
        let shared = program("scene; filter_shape[cube] 0; some 0 1");
        assert_eq!(written(&shared).unwrap().matches("\"scene\"").count(), 1);
    }

    #[test]
    fn a_fault_names_its_node() {
        let cases = [
            ("find[cube]; fliter[red] 0; count 1", "[1]: unknown operation \"fliter\" (did you mean \"filter\"?)"),
            (
                "find[cube]; filter[redd] 0; count 1",
                "[1]: unknown attribute value \"redd\" (did you mean \"red\"?); known",
            ),
            ("find[red]; count 0", "[0]: \"red\" is a color, not a shape"),
            ("scene; filter[red] 0 0; count 1", "[1]: \"filter\" takes one dependency and one argument, got 2 and 1"),
            ("scene; count[2] 0", "[1]: \"count\" takes one dependency and no argument, got 1 and 1"),
            ("scene; count 0; filter[red] 1; count 2", "[2]: \"filter\" takes ObjectSet, got Integer (node 1)"),
            ("scene; exists 0; count 0; eq 1 2", "[3]: \"eq\" takes Integer, got Bool (node 1)"),
            ("scene; count 1", "[1]: input 1 is not an earlier node"),
            ("scene; count 0; geq[11] 1", "[2]: \"11\" is not a number from 0 to 10"),
            ("scene; all[red] 0", "[1]: \"all\" takes a program as its argument"),
            ("scene; all_same[colour] 0", "[1]: unknown attribute type \"colour\" (did you mean \"color\"?)"),
            ("scene; unique 0; choose_attr[red,large] 1", "[2]: \"large\" is a size, not a color"),
            ("scene; unique 0; choose_relation[left,front] 1 0", "[2]: \"left\" and \"front\" are not opposites"),
            ("scene; with_relation[over] 0 0; count 1", "[1]: unknown relation \"over\""),
            ("find[cube]; unique_images 0", "[1]: \"unique_images\" gives Images, which is not an answer"),
        ];
        for (text, message) in cases {
            let error = read_program(&nodes(text)).unwrap_err();
            assert!(error.starts_with(&format!("covr.json[3]{message}")), "{error}");
        }
        let nested =
            nodes("scene; all[0] 0").replace("[0]}]", "[[{\"operation\": \"scene\"}, {\"operation\": \"fnd\"}]]}]");
        let error = read_program(&nested).unwrap_err();
        assert!(
            error.starts_with("covr.json[3][1].arguments[0][1]: unknown operation \"fnd\" (did you mean"),
            "{error}"
        );
        let counted = nested.replace("fnd\"", "count\", \"dependencies\": [0]");
        let error = read_program(&counted).unwrap_err();
        assert_eq!(error, "covr.json[3][1]: the program in \"all\" gives Integer, but a condition is ObjectSet");
        let untyped = nested.replace("\"operation\": \"fnd\"", "\"operation\": 3");
        assert!(read_program(&untyped).unwrap_err().starts_with("covr.json[3][1].arguments[0]: invalid type"));
        assert_eq!(read_program("[]").unwrap_err(), "covr.json[3]: a program has at least one node");
        let long = nodes(&["scene"; 257].join("; "));
        assert_eq!(read_program(&long).unwrap_err(), "covr.json[3][256]: 257 nodes; a program has at most 256");
        let error = written(&program("scene; unique 0; same_color 1; count 2")).unwrap_err();
        assert_eq!(error, "COVR has no operation for \"same_color\" in its place");
    }

    proptest! {
        #[test]
        fn what_is_written_gives_the_same_answers(seed in any::<u64>()) {
            let vocab = samples::vocabulary();
            let is_written = |function: &Function| {
                // Random programs have few choices between two options.
                let is_choice = matches!(function, Function::Option(_) | Function::Choose(_));
                let mut steps = vec![Step { function: Function::Scene, argument: 0, inputs: [0; 2] }; 2];
                steps.push(Step { function: *function, argument: 0, inputs: [0, 1] });
                !is_choice && Writer { vocab: &vocab, steps: &steps }.node(2).is_ok()
            };
            let functions: Vec<Function> = Function::all().iter().filter(|function| is_written(function)).copied().collect();
            let program = samples::random_program_of(&functions, &vocab, seed);
            let json = written(&program).unwrap();
            let read = Program::from_covr_json(json.as_bytes(), &vocab, "program").unwrap();
            let scenes: Vec<SceneGraph> = (0..3).map(|i| samples::random_scene(&vocab, 3, seed ^ i)).collect();
            let set = SceneSet::new(scenes.iter().map(SceneGraph::view)).unwrap();
            prop_assert_eq!(read.check(&vocab, "program"), Ok(()));
            prop_assert_eq!(execute_on_set(&read, &set, &vocab), execute_on_set(&program, &set, &vocab));
            prop_assert_eq!(execute(&read, scenes[0].view(), &vocab), execute(&program, scenes[0].view(), &vocab));
            prop_assert_eq!(written(&read).unwrap(), json);
        }
    }
}
