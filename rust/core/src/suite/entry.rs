//! The entries of a suite's files, as JSON has them.

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
    /// Who mentions what is held out, such as "10" for the original alone; empty for anybody.
    #[serde(default)]
    pub cell: Vec<Cell>,
    /// The test beside which the partners of this one stand for comparison.
    #[serde(default)]
    pub control_of: Option<String>,
}

/// Whether an original and its partner mention what is held out.
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
    /// 2 if the original mentions it, plus 1 if the partner does.
    pub fn number(self) -> usize {
        self as usize
    }
}

/// What an original has to be like.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    /// Its answer is one of these.
    #[serde(default)]
    pub answer: Vec<String>,
    /// The sets of these nodes have one object each.
    #[serde(default)]
    pub single: Vec<SetOfNode>,
    /// The values of these nodes fit one object of the whole image each.
    #[serde(default)]
    pub alone: Vec<SetOfNode>,
    /// These parameters have a value.
    #[serde(default)]
    pub set: Vec<String>,
    /// Each value of these nodes is on some object of the image.
    #[serde(default)]
    pub plausible: Vec<usize>,
    /// No two of these nodes are such that one's values are among the other's.
    #[serde(default)]
    pub apart: Vec<usize>,
    /// These parameters have different values, of which one is the answer.
    #[serde(default)]
    pub offered: Vec<String>,
    /// At least one of these has.
    #[serde(default)]
    pub any_set: Vec<String>,
    /// These have none.
    #[serde(default)]
    pub unset: Vec<String>,
}

/// The set of a node, before it is counted or its only member taken.
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

/// How a partner is worded where it has the original's family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WordingRule {
    /// As the original, as far as values are the same.
    #[default]
    Keep,
    /// In another phrasing, with the same words for values.
    Phrasing,
    /// In the same phrasing, with other words for values.
    Synonyms,
}

/// Which side of a pair is the question of the dataset.
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
