//! Reads the rows of a question file, and computes the tokens that the arrays must have for them.
//!
//! This is the audit's own reading of CLEVR's JSON. The tokens of a program are in prefix order: its last function,
//! then the tokens of that function's inputs.

use super::error::FileError;
use super::parse::Names;
use super::token::split_text;
use crate::message::json_cause;
use serde::Deserialize;

/// A row as numbers; tokens and answers that are not in the vocabulary are -1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionRow {
    /// `<START>`, tokens, `<END>`.
    pub question: Vec<i32>,
    pub program: Vec<i32>,
    pub answer: i32,
    pub image_index: i64,
    pub family: i64,
    pub image_filename: String,
}

#[derive(Deserialize)]
struct Row {
    question: String,
    program: Vec<Node>,
    answer: Answer,
    image_index: i64,
    image_filename: String,
    question_family_index: i64,
}

#[derive(Deserialize)]
struct Node {
    function: String,
    value_inputs: Vec<String>,
    inputs: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Text(String),
    Number(i64),
}

const START: i32 = 1;
const END: i32 = 2;
/// Maximum number of tokens of a program.
const MOST_TOKENS: usize = 4_096;

impl QuestionRow {
    /// Reads one row, a JSON object; `row` is its number in messages.
    pub fn read(json: &[u8], row: usize, names: &Names) -> Result<Self, FileError> {
        let wrong = |problem: String| FileError { place: format!("row {row}"), problem };
        let raw: Row = serde_json::from_slice(json).map_err(|error| wrong(json_cause(&error)))?;
        let words = split_text(&raw.question).map(|word| names.token(word).unwrap_or(-1));
        let question = std::iter::once(START).chain(words).chain([END]).collect();
        let mut program = vec![START];
        let last = raw.program.len().checked_sub(1).ok_or_else(|| wrong("a program without nodes".into()))?;
        let numbers: Vec<i32> = raw.program.iter().map(|node| node.number(names)).collect();
        write(&raw.program, &numbers, last, &mut program).map_err(wrong)?;
        program.push(END);
        let answer = match raw.answer {
            Answer::Text(text) => text,
            Answer::Number(number) => number.to_string(),
        };
        Ok(Self {
            question,
            program,
            answer: names.answer(&answer).unwrap_or(-1),
            image_index: raw.image_index,
            family: raw.question_family_index,
            image_filename: raw.image_filename,
        })
    }
}

impl Node {
    /// The node's token; -1 if it is not in the vocabulary.
    fn number(&self, names: &Names) -> i32 {
        match self.value_inputs.concat() {
            _ if self.value_inputs.is_empty() => names.function(&self.function),
            value => names.function(&format!("{}[{value}]", self.function)),
        }
    }
}

/// Appends the tokens of a node and its inputs.
fn write(nodes: &[Node], numbers: &[i32], at: usize, tokens: &mut Vec<i32>) -> Result<(), String> {
    if tokens.len() > MOST_TOKENS {
        return Err("a program of too many tokens".into());
    }
    tokens.push(numbers[at]);
    for &input in &nodes[at].inputs {
        if input >= at {
            return Err(format!("node {at} takes node {input}, which is not an earlier node"));
        }
        write(nodes, numbers, input, tokens)?;
    }
    Ok(())
}
