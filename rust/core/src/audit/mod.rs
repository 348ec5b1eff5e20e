//! The audit's own reading of what the generator wrote: what each row of a finished file asks for, in program and
//! in words, and what it answers.
//!
//! It shares with the generator the vocabulary, the scenes' sets, and of the catalogue of functions their names,
//! types and effects; what effects come to and how functions are executed is written once more, and no match on
//! either leaves one out. Programs are read as trees of tokens, words as noun phrases.

mod absent;
mod balance;
mod implied;
#[cfg(test)]
mod made_up;
mod needed;
mod parse;
mod program;
mod relations;
mod scenes;
mod spoken;
mod token;
mod words;

pub use absent::AbsentReader;
pub use balance::{Asked, Balanced, balanced};
pub use parse::{Agreement, Names, ParseError, Parsed, Reading, TextParser, parse_rows};
pub use program::ProgramReader;
pub use scenes::{FinishedScenes, SceneFileError};
pub use spoken::{Spoken, SpokenError, SpokenReader};
pub use words::{Word, WordReader};

use crate::message::shown;
use rayon::prelude::*;
use thiserror::Error;

/// Most held-out values: a bit each, and a bit for each set of them in a word.
pub const MOST_VALUES: usize = 4;

#[derive(Debug, Error)]
pub enum AuditError {
    #[error("{0} values; at most {MOST_VALUES} that are held out can be looked for, and 64 that are not seen")]
    TooMany(usize),
    #[error("\"{}\" is no {} of the vocabulary", shown(value), shown(kind))]
    Value { kind: String, value: String },
    #[error("row {row} is about scene {scene}, of {scenes}")]
    Scene { row: usize, scene: i64, scenes: usize },
    #[error("{questions} rows of words, {programs} of programs and {scenes} scenes for them")]
    Shape { questions: usize, programs: usize, scenes: usize },
}

/// What a question says and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The program asks some object for all held-out values.
    pub by_program: bool,
    /// The words do.
    pub by_words: bool,
    /// The program asks for them by way of likenesses, or as above.
    pub implied: bool,
    /// The answer's number, or one of the three below.
    pub answer: i32,
}

/// A `unique` met a set that has not one member, or there is no scene.
pub const NO_ANSWER: i32 = -1;
/// The tokens are no program.
pub const NO_PROGRAM: i32 = -2;
/// What comes out is not among the answers.
pub const UNKNOWN_ANSWER: i32 = -3;

/// Rows of tokens, padded, and the scene of each.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// `question_width` to a row.
    pub questions: &'a [i32],
    pub question_width: usize,
    /// `program_width` to a row.
    pub programs: &'a [i32],
    pub program_width: usize,
    /// By row, a place in the list of scenes, or -1 for a scene that is not there: the row has no answer.
    pub scenes: &'a [i64],
}

/// Looks at every row; uses all cores.
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
    let look = |row: usize| {
        let scene = rows.scenes[row];
        let view = usize::try_from(scene).ok().and_then(|scene| scenes.view(scene));
        if view.is_none() && scene != -1 {
            return Err(AuditError::Scene { row, scene, scenes: scenes.len() });
        }
        let program = between_marks(&rows.programs[row * rows.program_width..][..rows.program_width]);
        let question = between_marks(&rows.questions[row * rows.question_width..][..rows.question_width]);
        Ok(Finding {
            by_program: programs.mentions(program),
            implied: programs.implies(program),
            by_words: words.is_some_and(|words| words.mentions(question)),
            answer: view.map_or(NO_ANSWER, |view| programs.answer(program, view)),
        })
    };
    (0..n).into_par_iter().with_min_len(256).map(look).collect()
}

/// A row with more tokens than this is no program: CLEVR's longest has some 25.
const MOST_TOKENS: usize = 512;

/// What `relations_needed` has for a row without an answer.
pub const UNTOLD: i8 = -2;

/// For each relation of a row's program 1 where its answer needs it and 0 where not, -1 behind, `width` to a
/// row; all `UNTOLD` for a program without an answer, or with more relations. Uses all cores.
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
        let program = between_marks(&programs[row * program_width..][..program_width]);
        let view = usize::try_from(scene_of_row[row]).ok().and_then(|scene| scenes.view(scene));
        let found = view.and_then(|view| reader.relations_needed(program, view));
        match found.filter(|found| found.len() <= needed.len()) {
            Some(found) => needed.iter_mut().zip(found).for_each(|(to, is_needed)| *to = i8::from(is_needed)),
            None => needed.fill(UNTOLD),
        }
    };
    all.par_chunks_exact_mut(width.max(1)).enumerate().with_min_len(256).for_each(fill);
    Ok(all)
}

/// What stands between `<START>`, the first token, and `<END>`.
fn between_marks(row: &[i32]) -> &[i32] {
    const END: i32 = 2;
    let row = row.get(1..).unwrap_or(&[]);
    &row[..row.iter().position(|&token| token == END).unwrap_or(row.len())]
}
