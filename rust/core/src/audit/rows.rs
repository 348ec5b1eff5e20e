//! Reads the rows of a finished file: what each asks for, and which relations its answer needs.

use super::error::AuditError;
use super::program::{NO_SCENE, ProgramReader};
use super::scenes::FinishedScenes;
use super::token::tokens;
use super::words::WordReader;
use rayon::prelude::*;

/// What a question asks for, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The program asks some object for all held-out values.
    pub by_program: bool,
    /// The words ask some object for all held-out values.
    pub by_words: bool,
    /// The program asks for them directly or by likenesses.
    pub implied: bool,
    /// The answer's number, `NO_SCENE`, `NO_ANSWER`, `NO_PROGRAM` or `UNKNOWN_ANSWER`.
    pub answer: i32,
}

/// Padded rows of tokens, and the scene of each.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// Rows of `question_width` tokens, end to end.
    pub questions: &'a [i32],
    pub question_width: usize,
    /// Rows of `program_width` tokens, end to end.
    pub programs: &'a [i32],
    pub program_width: usize,
    /// By row, an index into the list of scenes, or -1 for a missing scene.
    pub scenes: &'a [i64],
}

impl<'a> Rows<'a> {
    pub(super) fn question(&self, row: usize) -> &'a [i32] {
        tokens(self.questions, self.question_width, row)
    }

    pub(super) fn program(&self, row: usize) -> &'a [i32] {
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
            by_words: words.is_some_and(|words| {
                if programs.is_in_chains() { words.in_noun_phrase(question) } else { words.mentions(question) }
            }),
            answer: view.map_or(NO_SCENE, |view| programs.answer(program, view)),
        })
    };
    (0..n).into_par_iter().with_min_len(256).map(read).collect()
}

/// Replaces the entries of a row without an answer.
pub const UNANSWERED: i8 = -2;

/// By row, an entry for each relation of its program, 1 if the answer needs it and 0 if not, padded with -1 to `width`.
/// The entries are all `UNANSWERED` if the program has no answer, or too many relations. Uses all cores.
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
