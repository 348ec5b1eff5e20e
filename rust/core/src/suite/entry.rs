//! The entries of a suite's JSON files.

use super::error::SuiteError;
use super::form::form_message;
use crate::json::read_unique;
use crate::question::template::RawParam;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Whether a test stays within the words and functions of the dataset's own templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    In,
    Beyond,
}

/// One test. docs/suites.md says what each key means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub test: String,
    pub tier: Tier,
    #[serde(default, rename = "type")]
    pub kind: String,
    pub source: Vec<String>,
    #[serde(default)]
    pub when: When,
    #[serde(default)]
    pub change: BTreeMap<String, Value>,
    #[serde(default)]
    pub family: Option<String>,
    #[serde(default)]
    pub params: Vec<RawParam>,
    #[serde(default)]
    pub then: Vec<NextNode>,
    #[serde(default)]
    pub text: Vec<String>,
    #[serde(default)]
    pub wording: WordingRule,
    pub relation: RawRelation,
    #[serde(default)]
    pub sides: Sides,
    /// Which questions mention the held-out values, such as "10" for only the original; empty allows every cell.
    #[serde(default)]
    pub cell: Vec<Cell>,
    /// The test with whose partners those of this one are compared.
    #[serde(default)]
    pub control_of: Option<String>,
}

/// Whether an original and its partner mention the held-out values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Cell {
    #[serde(rename = "00")]
    Neither,
    #[serde(rename = "01")]
    Partner,
    #[serde(rename = "10")]
    Original,
    #[serde(rename = "11")]
    Both,
}

/// The number of cells.
pub(super) const N_CELLS: usize = 4;

impl Cell {
    /// 2 if the original mentions the held-out values, plus 1 if the partner does.
    pub fn number(self) -> usize {
        self as usize
    }
}

/// The conditions that an original must meet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    /// The answer is one of these.
    #[serde(default)]
    pub answer: Vec<String>,
    /// The set of each of these nodes has exactly one object.
    #[serde(default)]
    pub single: Vec<SetOfNode>,
    /// Exactly one object of the whole image has the values of each of these nodes.
    #[serde(default)]
    pub alone: Vec<SetOfNode>,
    /// These parameters have a value.
    #[serde(default)]
    pub set: Vec<String>,
    /// Some object of the image has each value of these nodes.
    #[serde(default)]
    pub plausible: Vec<usize>,
    /// For no two of these nodes are the values of one all among the values of the other.
    #[serde(default)]
    pub apart: Vec<usize>,
    /// These parameters have different values, one of which is the answer.
    #[serde(default)]
    pub offered: Vec<String>,
    /// These parameters have one of these values each.
    #[serde(default)]
    pub among: BTreeMap<String, Vec<String>>,
    /// At least one of these parameters has a value.
    #[serde(default)]
    pub any_set: Vec<String>,
    /// These parameters have no value.
    #[serde(default)]
    pub unset: Vec<String>,
    /// The partner's answer follows from the original's. Without this, an original for which it does not is an error.
    #[serde(default)]
    pub holds: bool,
}

/// The set of a node, before it is counted or its only member is taken.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum SetOfNode {
    Node(usize),
    /// The set as it would be without the values of these parameters.
    Without {
        node: usize,
        without: Vec<String>,
    },
}

/// A node that follows those of the source; its inputs are "last", "asked", "previous" or numbers of nodes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NextNode {
    #[serde(rename = "type")]
    pub kind: String,
    pub inputs: Vec<Value>,
    #[serde(default)]
    pub side_inputs: Vec<String>,
}

/// How a partner of the original's own family is worded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WordingRule {
    /// Like the original, wherever the values are the same.
    #[default]
    Keep,
    /// In another phrasing, with the same words for values.
    Phrasing,
    /// In the same phrasing, with other words for values.
    Synonyms,
}

/// Which side of a pair is the dataset's question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sides {
    #[default]
    Fixed,
    /// A coin decides which of the two is called the original.
    Coin,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawRelation {
    Same,
    Flip,
    Positive,
    /// The value of this parameter of the partner.
    Is(String),
}

/// The entries of a file, a JSON list; `file` names it in messages.
pub(super) fn read_entries(file: &str, bytes: &[u8]) -> Result<Vec<Entry>, SuiteError> {
    let Value::Array(entries) = read_unique(bytes, file).map_err(SuiteError::Json)? else {
        return Err(SuiteError::entry(file, "expected a list of tests".to_owned()));
    };
    let read = |(number, entry)| {
        let fault = |error| SuiteError::entry(&format!("{file}[{number}]"), form_message(&error));
        serde_json::from_value(entry).map_err(fault)
    };
    entries.into_iter().enumerate().map(read).collect()
}
