//! The audit's own reading of what the generator wrote: what each row of a finished file asks for, in program and
//! in words, and its answer.
//!
//! It shares with the generator the vocabulary, the scenes' sets, and the names, types and effects of the catalogue of
//! functions. The meanings of effects and functions are implemented once more here, by exhaustive matches. Programs
//! are read as trees of tokens, words as noun phrases.

mod ablation;
mod absent_pairs;
mod balance;
#[cfg(test)]
mod extension_tests;
mod implication;
mod parse;
mod program;
mod question_file;
mod relations;
mod scenes;
mod token;
mod words;

pub use absent_pairs::AbsentReader;
pub use balance::{QuestionColumns, WindowSearch, check_balance};
pub use parse::{Agreement, Names, Parsed, Reading, TextParser, parse_rows};
pub use program::ProgramReader;
pub use question_file::QuestionRow;
pub use scenes::{FinishedScene, FinishedScenes};
pub use words::{Word, WordReader};

use crate::message::shown;
use rayon::prelude::*;
use thiserror::Error;

/// Maximum number of held-out values: a bit each, and a bit for each set of them in a word.
pub const MOST_VALUES: usize = 4;

#[derive(Debug, Error)]
pub enum AuditError {
    #[error("{0} values; the audit checks at most {MOST_VALUES} held-out values, and 64 for absent pairs")]
    TooMany(usize),
    #[error("the vocabulary has no {} \"{}\"", shown(kind), shown(value))]
    Value { kind: String, value: String },
    #[error("row {row} has scene {scene}, but there are {scenes} scenes")]
    Scene { row: usize, scene: i64, scenes: usize },
    #[error("{questions} rows of words, {programs} rows of programs and {scenes} scenes; expected as many of each")]
    Shape { questions: usize, programs: usize, scenes: usize },
}

/// What is wrong with a file that the audit reads, and where in it.
#[derive(Debug, Error)]
#[error("{place}: {problem}")]
pub struct FileError {
    pub place: String,
    pub problem: String,
}

/// What a question asks for, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The program asks some object for all held-out values.
    pub by_program: bool,
    /// The words ask some object for all held-out values.
    pub by_words: bool,
    /// The program asks for them directly or by likenesses.
    pub implied: bool,
    /// The answer's number, or one of the three below.
    pub answer: i32,
}

/// A `unique` was applied to a set without exactly one member, or there is no scene.
pub const NO_ANSWER: i32 = -1;
/// The tokens are not a program.
pub const NO_PROGRAM: i32 = -2;
/// The output is not among the answers.
pub const UNKNOWN_ANSWER: i32 = -3;

/// Padded rows of tokens, and the scene of each.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// Rows of `question_width` tokens, end to end.
    pub questions: &'a [i32],
    pub question_width: usize,
    /// Rows of `program_width` tokens, end to end.
    pub programs: &'a [i32],
    pub program_width: usize,
    /// By row, an index into the list of scenes, or -1 for a missing scene: the row then has no answer.
    pub scenes: &'a [i64],
}

impl<'a> Rows<'a> {
    fn question(&self, row: usize) -> &'a [i32] {
        tokens(self.questions, self.question_width, row)
    }

    fn program(&self, row: usize) -> &'a [i32] {
        tokens(self.programs, self.program_width, row)
    }
}

/// Reads every row; uses all cores.
pub fn read_rows(
    programs: &ProgramReader,
    words: Option<&WordReader>,
    rows: Rows<'_>,
    scenes: &FinishedScenes,
) -> Result<Vec<Finding>, AuditError> {
    let n = rows.scenes.len();
    let (n_questions, n_programs) =
        (rows.questions.len() / rows.question_width.max(1), rows.programs.len() / rows.program_width.max(1));
    if n_questions != n || n_programs != n {
        return Err(AuditError::Shape { questions: n_questions, programs: n_programs, scenes: n });
    }
    let read = |row: usize| {
        let scene = rows.scenes[row];
        let view = usize::try_from(scene).ok().and_then(|scene| scenes.view(scene));
        if view.is_none() && scene != -1 {
            return Err(AuditError::Scene { row, scene, scenes: scenes.0.len() });
        }
        let (program, question) = (rows.program(row), rows.question(row));
        Ok(Finding {
            by_program: programs.mentions(program),
            implied: programs.implies(program),
            by_words: words.is_some_and(|words| words.mentions(question)),
            answer: view.map_or(NO_ANSWER, |view| programs.answer(program, view)),
        })
    };
    (0..n).into_par_iter().with_min_len(256).map(read).collect()
}

/// A row with more tokens than this is not a program: CLEVR's longest has some 25.
const MOST_TOKENS: usize = 512;

/// In place of an entry of a row without an answer.
pub const UNANSWERED: i8 = -2;

/// By row, for each relation of its program 1 if its answer needs it and 0 if not, padded with -1 to `width`; only
/// `UNANSWERED` for a program without an answer, or with more relations. Uses all cores.
pub fn needed_rows(
    reader: &ProgramReader,
    programs: &[i32],
    program_width: usize,
    scene_of_row: &[i64],
    scenes: &FinishedScenes,
    width: usize,
) -> Result<Vec<i8>, AuditError> {
    let (n, n_programs) = (scene_of_row.len(), programs.len() / program_width.max(1));
    if n_programs != n {
        return Err(AuditError::Shape { questions: n, programs: n_programs, scenes: n });
    }
    let mut all = vec![-1; n * width];
    let fill = |(row, needed): (usize, &mut [i8])| {
        let program = tokens(programs, program_width, row);
        let view = usize::try_from(scene_of_row[row]).ok().and_then(|scene| scenes.view(scene));
        let found = view.and_then(|view| reader.relations_needed(program, view));
        match found.filter(|found| found.len() <= needed.len()) {
            Some(found) => needed.iter_mut().zip(found).for_each(|(to, is_needed)| *to = i8::from(is_needed)),
            None => needed.fill(UNANSWERED),
        }
    };
    all.par_chunks_exact_mut(width.max(1)).enumerate().with_min_len(256).for_each(fill);
    Ok(all)
}

/// The tokens of a row between `<START>` and `<END>`, for rows of a width end to end.
fn tokens(rows: &[i32], width: usize, row: usize) -> &[i32] {
    const END: i32 = 2;
    let row = rows[row * width..][..width].get(1..).unwrap_or(&[]);
    &row[..row.iter().position(|&token| token == END).unwrap_or(row.len())]
}

/// The tokens of a text: what stands between white space, `?` and `.`, with `;` and `,` as tokens of their own.
fn split_text(text: &str) -> impl Iterator<Item = &str> {
    let is_mark = |c: char| matches!(c, ';' | ',' | '?' | '.');
    let pieces = text.split_whitespace().flat_map(move |word| word.split_inclusive(is_mark));
    let tokens = pieces.flat_map(move |piece| {
        let (word, mark) = piece.split_at(piece.trim_end_matches(is_mark).len());
        [word, mark.trim_end_matches(['?', '.'])]
    });
    tokens.filter(|token| !token.is_empty())
}
