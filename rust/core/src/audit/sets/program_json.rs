//! Converts a program in COVR's JSON to tokens in prefix order.
//!
//! One operation of COVR can stand for any of several functions (`count`, `eq`) or for two steps (`find`). The
//! condition of a quantifier is a separate program among the arguments.

use crate::audit::parse::Names;
use crate::vocab::{RELATION_NAMES, TYPE_NAMES};
use serde::Deserialize;

/// Maximum number of tokens of a program.
const MOST_TOKENS: usize = 4_096;
/// The type whose values COVR calls names.
const NAME: &str = "shape";
/// The operations that return groups.
const GROUPED: [&str; 4] =
    ["group_by_images", "keep_if_values_count_eq", "keep_if_values_count_geq", "keep_if_values_count_leq"];

#[derive(Deserialize)]
pub struct Node {
    operation: String,
    dependencies: Vec<usize>,
    arguments: Vec<Argument>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Argument {
    Number(u64),
    Text(String),
    Program(Vec<Node>),
}

impl Argument {
    fn text(&self) -> Option<String> {
        match self {
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) => Some(text.clone()),
            Self::Program(_) => None,
        }
    }
}

/// The tokens of a list of nodes, the last of which gives the answer; tokens that are not in the vocabulary are -1.
///
/// # Errors
/// Says why the nodes are not a program.
pub fn tokens(nodes: &[Node], names: &Names) -> Result<Vec<i32>, String> {
    let mut writer = Writer { names, tokens: Vec::new() };
    let last = nodes.len().checked_sub(1).ok_or("a program without nodes")?;
    writer.node(nodes, last)?;
    Ok(writer.tokens)
}

struct Writer<'a> {
    names: &'a Names,
    tokens: Vec<i32>,
}

impl Writer<'_> {
    /// Appends the tokens of a node and its dependencies.
    fn node(&mut self, nodes: &[Node], at: usize) -> Result<(), String> {
        let node = &nodes[at];
        if self.tokens.len() > MOST_TOKENS {
            return Err("a program of too many tokens".into());
        }
        if let Some(input) = node.dependencies.iter().find(|&&input| input >= at) {
            return Err(format!("node {at} takes node {input}, which is not an earlier node"));
        }
        let arguments: Vec<String> = node.arguments.iter().filter_map(Argument::text).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let head = self.function(nodes, node, &arguments).unwrap_or_else(|| node.operation.clone());
        self.tokens.push(self.names.function(&head));
        let mut inputs = node.dependencies.clone();
        match &node.operation[..] {
            "find" => self.tokens.push(self.names.function("scene")),
            // In COVR, the set that is filtered comes second.
            "with_relation_object" => inputs.reverse(),
            _ => {}
        }
        inputs.into_iter().try_for_each(|input| self.node(nodes, input))?;
        for argument in &node.arguments {
            if let Argument::Program(condition) = argument {
                let last = condition.len().checked_sub(1).ok_or("a condition without nodes")?;
                self.node(condition, last)?;
            }
        }
        if let ("choose_attr" | "choose_name", [_, option]) = (&node.operation[..], &arguments[..]) {
            let kind = self.kind(option).unwrap_or_default();
            self.tokens.push(self.names.function(&format!("option_{kind}[{option}]")));
        }
        Ok(())
    }

    /// The function that an operation stands for, with its argument; None if there is none.
    fn function(&self, nodes: &[Node], node: &Node, arguments: &[&str]) -> Option<String> {
        let n_inputs = node.dependencies.len();
        let input = node.dependencies.first().map(|&input| &nodes[input]);
        let input_is = |names: &[&str]| input.is_some_and(|input| names.contains(&&input.operation[..]));
        let of_value = |name: &str, value: &str| Some(format!("{name}_{}[{value}]", self.kind(value)?));
        Some(match (&node.operation[..], arguments) {
            ("find", [value]) => format!("filter_{NAME}[{value}]"),
            ("filter", [value]) => return of_value("filter", value),
            ("verify_attr", [value]) => return of_value("verify", value),
            ("choose_attr" | "choose_name", [value, _]) => return of_value("choose", value),
            ("query_attr", [kind]) => format!("query_{kind}"),
            ("query_name", []) => format!("query_{NAME}"),
            ("all_same", [kind]) => format!("all_same_{kind}"),
            ("with_relation" | "with_relation_object", [relation]) => match relation.strip_prefix("same_") {
                Some(kind) => format!("with_same_{kind}"),
                None => format!("{}[{relation}]", node.operation),
            },
            // Opposite relations are neighbors in the list of names.
            ("choose_relation", [first, second]) => {
                let place = |name: &str| RELATION_NAMES.iter().position(|each| *each == name);
                return (place(first)? ^ 1 == place(second)?).then(|| format!("choose_relation[{first}]"));
            }
            ("exists", []) => "exist".into(),
            ("count", []) if input_is(&["unique_images", "keys"]) => "count_images".into(),
            ("count", []) if input_is(&GROUPED) => "count_groups".into(),
            ("eq", [number]) if n_inputs == 1 => format!("count_is[{number}]"),
            ("geq", [number]) => format!("count_at_least[{number}]"),
            ("leq", [number]) => format!("count_at_most[{number}]"),
            ("eq", []) if input_is(&["query_name"]) => format!("equal_{NAME}"),
            ("eq", []) if input_is(&["query_attr"]) => format!("equal_{}", input?.arguments.first()?.text()?),
            ("eq", []) => "equal_integer".into(),
            ("gt", []) => "greater_than".into(),
            ("lt", []) => "less_than".into(),
            ("logic_and", []) => "and".into(),
            ("logic_or", []) => "or".into(),
            ("logic_not", []) => "not".into(),
            (name, [number]) if name.starts_with("keep_if_values_count_") => format!("{name}[{number}]"),
            _ => return None,
        })
    }

    /// The type of a value.
    fn kind(&self, value: &str) -> Option<&'static str> {
        let has = |kind: &&str| {
            let values = self.names.values(kind).unwrap_or_default();
            values.iter().any(|(name, _)| name == value)
        };
        TYPE_NAMES.into_iter().find(has)
    }
}
