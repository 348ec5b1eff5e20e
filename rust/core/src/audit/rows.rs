//! Reads the rows of a finished file: what each asks for, and which relations its answer needs.

use super::error::AuditError;
use super::program::{NO_SCENE, ProgramReader};
use super::scenes::FinishedScenes;
use super::token::tokens;
use super::words::WordReader;
use crate::scene::SceneView;
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

/// Padded rows of tokens, and the scenes of each.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// Rows of `question_width` tokens, end to end.
    pub questions: &'a [i32],
    pub question_width: usize,
    /// Rows of `program_width` tokens, end to end.
    pub programs: &'a [i32],
    pub program_width: usize,
    /// Rows of `scenes_width` indices into the list of scenes, padded with -1; one of -1 alone has no scene.
    pub scenes: &'a [i64],
    pub scenes_width: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn question(&self, row: usize) -> &'a [i32] {
        tokens(self.questions, self.question_width, row)
    }

    pub(super) fn program(&self, row: usize) -> &'a [i32] {
        tokens(self.programs, self.program_width, row)
    }

    /// What `read` says of each row, by its question, program and scenes; uses all cores. A row of which a scene is
    /// missing between others is read without scenes.
    ///
    /// # Errors
    /// An index beyond the scenes, or arrays of different lengths.
    pub(super) fn read<T: Send>(
        &self,
        scenes: &FinishedScenes,
        read: impl Fn(&[i32], &[i32], &[SceneView<'_>]) -> T + Sync,
    ) -> Result<Vec<T>, AuditError> {
        let n = self.scenes.len() / self.scenes_width.max(1);
        let (n_questions, n_programs) =
            (self.questions.len() / self.question_width.max(1), self.programs.len() / self.program_width.max(1));
        if n_questions != n || n_programs != n {
            return Err(AuditError::Shape { questions: n_questions, programs: n_programs, scenes: n });
        }
        let read_row = |row: usize| {
            let places = &self.scenes[row * self.scenes_width..][..self.scenes_width];
            let n_images = places.iter().position(|&place| place == -1).unwrap_or(places.len());
            let mut views = Vec::with_capacity(n_images);
            for &place in places.iter().filter(|&&place| place != -1) {
                let view = usize::try_from(place).ok().and_then(|place| scenes.view(place));
                views.push(view.ok_or(AuditError::Scene { row, scene: place, scenes: scenes.0.len() })?);
            }
            if views.len() > n_images {
                views.clear();
            }
            Ok(read(self.question(row), self.program(row), &views))
        };
        (0..n).into_par_iter().with_min_len(256).map(read_row).collect()
    }
}

/// What each question about one image asks for, and its answer; uses all cores.
///
/// # Errors
/// As `Rows::read`.
pub fn read_rows(
    programs: &ProgramReader,
    words: Option<&WordReader>,
    rows: Rows<'_>,
    scenes: &FinishedScenes,
) -> Result<Vec<Finding>, AuditError> {
    rows.read(scenes, |question, program, views| Finding {
        by_program: programs.mentions(program),
        implied: programs.implies(program),
        by_words: words.is_some_and(|words| {
            if programs.is_in_chains() { words.in_noun_phrase(question) } else { words.mentions(question) }
        }),
        answer: views.first().map_or(NO_SCENE, |&view| programs.answer(program, view)),
    })
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
