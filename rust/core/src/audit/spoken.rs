//! Rows of a question file in, the tokens that its arrays must hold out.
//!
//! The audit's own reading of CLEVR's JSON: words are what stands between white space, `?` and `.`, with `;` and
//! `,` words of their own; a program is its last function, then all of its inputs, in prefix order.

use crate::message::json_cause;
use serde::Deserialize;
use std::collections::HashMap;
use thiserror::Error;

#[derive(Debug, Error)]
#[error("row {row}: {problem}")]
pub struct SpokenError {
    pub row: usize,
    pub problem: String,
}

/// The tokens' numbers; only ever asked, so the order of the maps does not matter.
#[derive(Clone, Debug)]
pub struct SpokenReader {
    words: HashMap<String, i32>,
    functions: HashMap<String, i32>,
    answers: HashMap<String, i32>,
}

/// What a row says, as numbers; -1 for what has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
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
/// A program that is written out longer than this is none.
const MOST_TOKENS: usize = 4_096;

impl SpokenReader {
    /// From the names of `vocab.json`, each list by number.
    pub fn new(words: &[String], functions: &[String], answers: &[String]) -> Self {
        let numbers = |names: &[String]| (0..).zip(names).map(|(i, name)| (name.clone(), i)).collect();
        Self { words: numbers(words), functions: numbers(functions), answers: numbers(answers) }
    }

    /// One row, a JSON object; `row` is its number in messages.
    pub fn read(&self, json: &[u8], row: usize) -> Result<Spoken, SpokenError> {
        let wrong = |problem: String| SpokenError { row, problem };
        let raw: Row = serde_json::from_slice(json).map_err(|error| wrong(json_cause(&error)))?;
        let mut question = vec![START];
        for word in raw.question.split_whitespace() {
            self.words_of(word, &mut question);
        }
        question.push(END);
        let mut program = vec![START];
        let last = raw.program.len().checked_sub(1).ok_or_else(|| wrong("a program without nodes".into()))?;
        let numbers: Vec<i32> = raw.program.iter().map(|node| self.number(node)).collect();
        self.write(&raw.program, &numbers, last, &mut program).map_err(wrong)?;
        program.push(END);
        let answer = match raw.answer {
            Answer::Text(text) => text,
            Answer::Number(number) => number.to_string(),
        };
        Ok(Spoken {
            question,
            program,
            answer: self.answers.get(&answer).copied().unwrap_or(-1),
            image_index: raw.image_index,
            family: raw.question_family_index,
            image_filename: raw.image_filename,
        })
    }

    /// The tokens of a text without white space.
    fn words_of(&self, text: &str, tokens: &mut Vec<i32>) {
        let mut add = |word: &str| {
            if !word.is_empty() {
                tokens.push(self.words.get(word).copied().unwrap_or(-1));
            }
        };
        let mut begin = 0;
        for (at, mark) in text.char_indices().filter(|(_, c)| matches!(c, ';' | ',' | '?' | '.')) {
            add(&text[begin..at]);
            begin = at + mark.len_utf8();
            if matches!(mark, ';' | ',') {
                add(&text[at..begin]);
            }
        }
        add(&text[begin..]);
    }

    /// A node and all that it takes.
    fn write(&self, nodes: &[Node], numbers: &[i32], at: usize, tokens: &mut Vec<i32>) -> Result<(), String> {
        if tokens.len() > MOST_TOKENS {
            return Err("a program without end".into());
        }
        tokens.push(numbers[at]);
        for &input in &nodes[at].inputs {
            if input >= at {
                return Err(format!("node {at} takes node {input}, which does not come before it"));
            }
            self.write(nodes, numbers, input, tokens)?;
        }
        Ok(())
    }

    /// A node's token; -1 where there is none.
    fn number(&self, node: &Node) -> i32 {
        let number = if node.value_inputs.is_empty() {
            self.functions.get(&node.function)
        } else {
            self.functions.get(&format!("{}[{}]", node.function, node.value_inputs.concat()))
        };
        number.copied().unwrap_or(-1)
    }
}
