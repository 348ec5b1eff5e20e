//! Tokens of questions, and their rows in the HDF5 files of the public CLEVR models.
//!
//! A row is `<START>`, the tokens of the text, `<END>`, then `<NULL>` up to its width.

use crate::message::shown;
use crate::program::encode::{END, NULL, START, check_special_names};
use rustc_hash::FxHashMap;
use thiserror::Error;

/// The tokens that a row can hold, and their numbers.
#[derive(Clone, Debug)]
pub struct QuestionVocabulary {
    // Only looked up, never iterated, so the order does not matter.
    numbers: FxHashMap<String, i32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuestionTokenError {
    #[error("{0}")]
    Special(String),
    #[error("\"{}\": the word \"{}\" is not among the question tokens", shown(text), shown(word))]
    UnknownWord { text: String, word: String },
    #[error("\"{}\" needs {needed} tokens with <START> and <END>, the row has room for {width}", shown(text))]
    TooWide { text: String, needed: usize, width: usize },
}

impl QuestionVocabulary {
    /// The tokens of a `vocab.json` by number, the four special ones first.
    ///
    /// # Errors
    /// `Special` if the first four are not the special tokens.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, QuestionTokenError> {
        let names: Vec<&str> = names.into_iter().collect();
        check_special_names(&names, "question").map_err(QuestionTokenError::Special)?;
        Ok(Self { numbers: names.iter().enumerate().map(|(i, name)| ((*name).to_owned(), i as i32)).collect() })
    }

    /// Writes a question's tokens into a row and returns their number, `<START>` and `<END>` included.
    ///
    /// # Errors
    /// `UnknownWord`, or `TooWide` if the row is too narrow.
    pub fn encode_into(&self, text: &str, row: &mut [i32]) -> Result<usize, QuestionTokenError> {
        let words = tokenize(text);
        let needed = words.len() + 2;
        if needed > row.len() {
            return Err(QuestionTokenError::TooWide { text: text.to_owned(), needed, width: row.len() });
        }
        row.fill(NULL);
        row[0] = START;
        row[needed - 1] = END;
        for (slot, word) in row[1..].iter_mut().zip(words) {
            let unknown = || QuestionTokenError::UnknownWord { text: text.to_owned(), word: word.to_owned() };
            *slot = *self.numbers.get(word).ok_or_else(unknown)?;
        }
        Ok(needed)
    }
}

/// The tokens of a question as the public CLEVR models read them: split at white space, with `;` and `,` as tokens of
/// their own, `?` and `.` left out, and case kept.
pub fn tokenize(text: &str) -> Vec<&str> {
    let mut tokens = Vec::with_capacity(24);
    for word in text.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find([';', ',', '?', '.']) {
            if at > 0 {
                tokens.push(&rest[..at]);
            }
            if matches!(rest.as_bytes()[at], b';' | b',') {
                tokens.push(&rest[at..=at]);
            }
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() {
            tokens.push(rest);
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::encode::SPECIAL_NAMES;

    fn vocabulary() -> QuestionVocabulary {
        QuestionVocabulary::new(SPECIAL_NAMES.into_iter().chain([";", "Is", "it", "red"])).unwrap()
    }

    #[test]
    fn a_row_is_framed_and_padded() {
        let mut row = [7; 8];
        assert_eq!(vocabulary().encode_into("Is it; red?", &mut row), Ok(6));
        assert_eq!(row, [1, 5, 6, 4, 7, 2, 0, 0]);
    }

    #[test]
    fn faults_name_question_and_word() {
        let fault = |text: &str, width| vocabulary().encode_into(text, &mut vec![0; width]).unwrap_err().to_string();
        assert_eq!(fault("Is it blue?", 9), "\"Is it blue?\": the word \"blue\" is not among the question tokens");
        assert_eq!(
            fault("Is it red?", 4),
            "\"Is it red?\" needs 5 tokens with <START> and <END>, the row has room for 4"
        );
        let error = QuestionVocabulary::new(["<NULL>", "red"]).unwrap_err().to_string();
        assert_eq!(error, "question token 1 is \"red\"; expected \"<START>\"");
    }

    #[test]
    fn tokens_are_those_of_the_public_models() {
        assert_eq!(
            tokenize("There is a cube; is it red, or not?"),
            ["There", "is", "a", "cube", ";", "is", "it", "red", ",", "or", "not"]
        );
    }
}
