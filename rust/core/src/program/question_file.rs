//! Reads CLEVR question files.

use super::json::{Node, Text, read};
use super::{Program, ProgramError};
use crate::vocab::Vocabulary;
use serde::Deserialize;

/// A question of a file, with the published keys (Johnson et al. 2017); None for missing keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionRecord {
    pub text: String,
    pub image_index: u64,
    pub image_filename: Option<String>,
    pub answer: Option<String>,
    /// None in files without programs, such as CLEVR's test set.
    pub program: Option<Program>,
    pub family: Option<u32>,
    pub question_index: Option<u64>,
    pub split: Option<String>,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    questions: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    question: Text<'a>,
    image_index: u64,
    #[serde(borrow, default)]
    image_filename: Option<Text<'a>>,
    #[serde(borrow, default)]
    answer: Option<Text<'a>>,
    #[serde(borrow, default)]
    program: Option<Vec<Node<'a>>>,
    #[serde(default)]
    question_family_index: Option<u32>,
    #[serde(default)]
    question_index: Option<u64>,
    #[serde(borrow, default)]
    split: Option<Text<'a>>,
}

/// Reads the bytes of a question file, `{"info": ..., "questions": [...]}`; `file` names it in messages.
///
/// # Errors
/// Names the question and the node at fault: `val.json.questions[7].program[2]: ...`.
pub fn read_questions(bytes: &[u8], vocab: &Vocabulary, file: &str) -> Result<Vec<QuestionRecord>, ProgramError> {
    let content: File<'_> = read(bytes, file)?;
    let owned = |text: Option<Text<'_>>| text.map(|text| text.0.into_owned());
    let records = content.questions.into_iter().enumerate().map(|(i, entry)| {
        let place = || format!("{file}.questions[{i}].program");
        let program = match &entry.program {
            // The place is only formatted for a program with a fault.
            Some(nodes) => Some(Program::from_nodes(nodes, vocab, "").map_err(|error| error.under(&place()))?),
            None => None,
        };
        Ok(QuestionRecord {
            text: entry.question.0.into_owned(),
            image_index: entry.image_index,
            image_filename: owned(entry.image_filename),
            answer: owned(entry.answer),
            program,
            family: entry.question_family_index,
            question_index: entry.question_index,
            split: owned(entry.split),
        })
    });
    records.collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    const FILE: &str = r#"{"info": {"split": "val"}, "questions": [
        {"question": "How many \"red\" things are there?", "image_index": 4, "answer": "3", "question_family_index": 88,
         "image_filename": "a.png", "question_index": 9, "split": "val", "relation_needed": [],
         "program": [{"function": "scene", "inputs": []}, {"function": "count", "inputs": [0]}]},
        {"question": "Any?", "image_index": 5}]}"#;

    #[test]
    fn keys_that_a_file_lacks_are_none() {
        let questions = read_questions(FILE.as_bytes(), &samples::vocabulary(), "val.json").unwrap();
        let [first, second] = questions.as_slice() else { unreachable!() };
        assert_eq!(first.text, "How many \"red\" things are there?");
        assert_eq!((first.image_index, first.family, first.question_index), (4, Some(88), Some(9)));
        assert_eq!(first.program, Some(samples::program("scene; count 0")));
        assert_eq!(first.answer.as_deref(), Some("3"));
        assert_eq!((second.image_index, &second.program, second.family), (5, &None, None));
    }

    #[test]
    fn a_fault_names_file_question_and_node() {
        let cases = [
            ("\"count\"", "\"cuont\"", "val.json.questions[0].program[1]: unknown function \"cuont\" (did you mean"),
            ("4", "\"4\"", "val.json.questions[0].image_index: invalid type: string \"4\", expected u64"),
            ("\"questions\"", "\"question\"", "val.json: missing field `questions`"),
            ("[0]", "[0", "val.json:4:"),
        ];
        for (good, bad, message) in cases {
            let text = FILE.replacen(good, bad, 1);
            let error = read_questions(text.as_bytes(), &samples::vocabulary(), "val.json").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
