//! Checks whether the words of each row agree with its program, family and answer.

use super::parser::{Reading, TextParser};
use crate::audit::program::ProgramReader;
use crate::audit::rows::Rows;
use crate::scene::SceneView;
use rayon::prelude::*;

/// The check of a row; all false if text, program and answer agree and nothing else fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// No template produces this text.
    pub is_unread: bool,
    /// The words do not mean the stored program.
    pub is_other_program: bool,
    /// They mean it, but in another family than the stored one.
    pub is_other_family: bool,
    /// The answer to what the words mean differs from the stored one.
    pub is_other_answer: bool,
    /// They mean several programs.
    pub has_several: bool,
    /// They mean programs with different answers on this image.
    pub is_ambiguous: bool,
}

/// A row's agreement, and a number that rows of the same words share.
pub type Parsed = (Agreement, u64);

/// Parses every row's words and compares the result with its program, family and answer; uses all cores.
///
/// `families` and `answers` are the stored ones, by row; `view` returns the scene for an index in `rows`. Answers are
/// not compared in a row whose scene is missing.
pub fn parse_rows<'s>(
    parser: &TextParser,
    programs: &ProgramReader,
    rows: Rows<'_>,
    families: &[i32],
    answers: &[i32],
    view: impl Fn(usize) -> Option<SceneView<'s>> + Sync,
) -> Vec<Parsed> {
    let n = [rows.scenes.len(), families.len(), answers.len()].into_iter().min().unwrap_or(0);
    let parse = |row: usize| {
        let (words, program) = (rows.question(row), rows.program(row));
        let scene = usize::try_from(rows.scenes[row]).ok().and_then(&view);
        let readings = parser.read(words);
        (agreement(&readings, programs, program, families[row], answers[row], scene), digest(words))
    };
    (0..n).into_par_iter().with_min_len(256).map(parse).collect()
}

fn agreement(
    readings: &[Reading],
    programs: &ProgramReader,
    stored: &[i32],
    family: i32,
    answer: i32,
    scene: Option<SceneView<'_>>,
) -> Agreement {
    let same = |reading: &&Reading| reading.program == stored;
    let Some(meant) = readings.iter().find(same) else {
        let is_unread = readings.is_empty();
        return Agreement { is_unread, is_other_program: !is_unread, ..Default::default() };
    };
    let answer_of = |reading: &Reading| scene.map(|scene| programs.answer(&reading.program, scene));
    let given = answer_of(meant);
    let others = || readings.iter().filter(|reading| reading.program != stored);
    Agreement {
        is_other_family: !readings.iter().filter(same).any(|reading| i32::from(reading.family) == family),
        is_other_answer: given.is_some_and(|given| given != answer),
        has_several: others().next().is_some(),
        // A reading without an answer is ruled out by the image.
        is_ambiguous: others().any(|other| answer_of(other).is_some_and(|found| found >= 0 && Some(found) != given)),
        ..Default::default()
    }
}

/// A hash of a row of tokens; different rows have the same hash with a probability of 2^-64.
fn digest(tokens: &[i32]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ tokens.len() as u64;
    for &token in tokens {
        state = (state ^ u64::from(token as u32)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        state ^= state >> 32;
    }
    state
}
