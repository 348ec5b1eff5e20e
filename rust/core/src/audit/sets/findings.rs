//! Findings about questions over sets of images: what they ask for and describe, and their answers.

use super::form::TEMPLATES;
use super::tree::Node;
use crate::audit::error::AuditError;
use crate::audit::program::{NO_PROGRAM, NO_SCENE, ProgramReader};
use crate::audit::rows::{Finding, Rows};
use crate::audit::scenes::FinishedScenes;
use crate::audit::words::WordReader;
use crate::scene::SceneView;
use rayon::prelude::*;

/// Maximum number of images of a question.
pub const MOST_IMAGES: usize = 5;
/// Replaces a number that does not exist: of a template, of a form, or of the members of a set in an image.
pub const NO_NUMBER: i8 = -1;
/// Maximum number of sets that a question describes.
const MOST_SETS: usize = 2;

/// The findings about a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetFinding {
    /// Its mentions and answer, as for a question about one image; its words mention values if one noun phrase does.
    pub asked: Finding,
    /// 1 if the answer, or each number that it follows from, is lost or changes without the last leaf of the
    /// description, 0 if not; -1 if there is no such leaf.
    pub cut: i8,
    /// For each set that it describes, the number of members in each image; `NO_NUMBER` without such a set or image.
    pub matches: [[i8; MOST_IMAGES]; MOST_SETS],
    /// The number of its template in `TEMPLATES`.
    pub template: i8,
    pub variant: i8,
    /// The number of its form.
    pub structure: i8,
}

/// Padded rows of tokens, and the scenes of each.
#[derive(Clone, Copy)]
pub struct SetRows<'a> {
    /// Rows of tokens; their `scenes` are not used.
    pub rows: Rows<'a>,
    /// Rows of `MOST_IMAGES` indices into the list of scenes, padded with -1.
    pub scenes: &'a [i64],
}

/// Reads every row; uses all cores. A row without scenes has the answer `NO_SCENE`.
///
/// # Errors
/// An index beyond the scenes, or arrays of different lengths.
pub fn read_set_rows(
    programs: &ProgramReader,
    words: Option<&WordReader>,
    SetRows { rows, scenes: places }: SetRows<'_>,
    scenes: &FinishedScenes,
) -> Result<Vec<SetFinding>, AuditError> {
    let n = places.len() / MOST_IMAGES;
    let (n_questions, n_programs) =
        (rows.questions.len() / rows.question_width.max(1), rows.programs.len() / rows.program_width.max(1));
    if n_questions != n || n_programs != n {
        return Err(AuditError::Shape { questions: n_questions, programs: n_programs, scenes: n });
    }
    let read = |row: usize| {
        let mut views = [const { None }; MOST_IMAGES];
        for (view, &place) in views.iter_mut().zip(&places[row * MOST_IMAGES..]) {
            *view = usize::try_from(place).ok().and_then(|place| scenes.view(place));
            if view.is_none() && place != -1 {
                return Err(AuditError::Scene { row, scene: place, scenes: scenes.0.len() });
            }
        }
        let program = rows.program(row);
        let found = Finding {
            by_program: programs.mentions(program),
            implied: programs.implies(program),
            by_words: words.is_some_and(|words| words.in_noun_phrase(rows.question(row))),
            answer: NO_SCENE,
        };
        Ok(match views {
            [Some(a), Some(b), Some(c), Some(d), Some(e)] => finding(programs, program, [a, b, c, d, e], found),
            [Some(a), Some(b), Some(c), Some(d), None] => finding(programs, program, [a, b, c, d], found),
            [Some(a), Some(b), Some(c), None, None] => finding(programs, program, [a, b, c], found),
            [Some(a), Some(b), None, None, None] => finding(programs, program, [a, b], found),
            [Some(a), None, None, None, None] => finding(programs, program, [a], found),
            _ => finding(programs, program, [], found),
        })
    };
    (0..n).into_par_iter().with_min_len(256).map(read).collect()
}

fn finding<const N: usize>(
    reader: &ProgramReader,
    program: &[i32],
    scenes: [SceneView<'_>; N],
    asked: Finding,
) -> SetFinding {
    let tree = Node::read(&reader.tokens, program);
    let executed = if N > 0 { reader.answer_on_set(program, scenes) } else { NO_SCENE };
    let mut found = SetFinding {
        asked: Finding { answer: if tree.is_some() { executed } else { NO_PROGRAM }, ..asked },
        cut: NO_NUMBER,
        matches: [[NO_NUMBER; MOST_IMAGES]; MOST_SETS],
        template: NO_NUMBER,
        variant: NO_NUMBER,
        structure: NO_NUMBER,
    };
    let Some(tree) = tree else { return found };
    let number = |name| TEMPLATES.iter().position(|&each| each == name).map(|i| i as i8);
    found.template = tree.template().and_then(number).unwrap_or(NO_NUMBER);
    found.variant = tree.variant();
    found.structure = tree.structure().unwrap_or(NO_NUMBER);
    for (matches, set) in found.matches.iter_mut().zip(tree.described()) {
        if let Some(sizes) = reader.sizes_on_set(set.tokens, &scenes) {
            matches.iter_mut().zip(sizes).for_each(|(to, size)| *to = size as i8);
        }
    }
    if N > 0 {
        found.cut = changed(reader, &tree, &scenes, executed).map_or(NO_NUMBER, i8::from);
    }
    found
}

/// Whether, without the last leaf, the answer is lost or changes, or each number that it follows from does; None if
/// there is no leaf.
fn changed<const N: usize>(
    reader: &ProgramReader,
    tree: &Node<'_>,
    scenes: &[SceneView<'_>; N],
    answer: i32,
) -> Option<bool> {
    let tokens = tree.cut()?;
    let cut = Node::read(&reader.tokens, &tokens)?;
    let numbers = |tree: &Node<'_>| -> Vec<Option<u32>> {
        tree.numbers().iter().map(|number| reader.number_on_set(number.tokens, scenes)).collect()
    };
    let whole = numbers(tree);
    if whole.is_empty() {
        return Some(reader.answer_on_set(&tokens, *scenes) != answer);
    }
    Some(whole.iter().zip(numbers(&cut)).all(|(whole, cut)| *whole != cut))
}
