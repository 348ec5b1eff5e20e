//! Findings about questions over sets of images: what they ask for and describe, and their answers.

use super::form::TEMPLATES;
use super::tree::Node;
use crate::audit::error::AuditError;
use crate::audit::program::{MOST_IMAGES, NO_PROGRAM, NO_SCENE, ProgramReader};
use crate::audit::rows::{Finding, Rows};
use crate::audit::scenes::FinishedScenes;
use crate::audit::words::WordReader;
use crate::scene::SceneView;

/// Replaces a number that does not exist: of a template, of a form, or of the members of a set in an image.
pub const NO_NUMBER: i8 = -1;
/// Maximum number of sets that a question describes.
const MOST_SETS: usize = 2;

/// The findings about a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetFinding {
    /// Its mentions and answer, as for a question about one image; its words mention values if one noun phrase does.
    pub asked: Finding,
    /// 1 if the answer is lost or changes without the last leaf of the description; 2 if the answer stays, but each
    /// number that it follows from is lost or changes; 0 if neither; -1 if there is no such leaf.
    pub cut: i8,
    /// For each set that it describes, the number of members in each image; `NO_NUMBER` without such a set or image.
    pub matches: [[i8; MOST_IMAGES]; MOST_SETS],
    /// The number of its template in `TEMPLATES`.
    pub template: i8,
    pub variant: i8,
    /// The number of its form.
    pub structure: i8,
}

/// What each question about several images asks for and describes, and its answer; uses all cores. A row without scenes
/// has the answer `NO_SCENE`.
///
/// # Errors
/// An index beyond the scenes, or arrays of different lengths.
pub fn read_set_rows(
    programs: &ProgramReader,
    words: Option<&WordReader>,
    rows: Rows<'_>,
    scenes: &FinishedScenes,
) -> Result<Vec<SetFinding>, AuditError> {
    rows.read(scenes, |question, program, views| {
        let asked = Finding {
            by_program: programs.mentions(program),
            implied: programs.implies(program),
            by_words: words.is_some_and(|words| words.in_noun_phrase(question)),
            answer: NO_SCENE,
        };
        finding(programs, program, views, asked)
    })
}

fn finding(reader: &ProgramReader, program: &[i32], scenes: &[SceneView<'_>], asked: Finding) -> SetFinding {
    let tree = Node::read(&reader.tokens, program);
    let executed = if !scenes.is_empty() { reader.answer_on_set(program, scenes) } else { NO_SCENE };
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
        if let Some(sizes) = reader.sizes_on_set(set.tokens, scenes) {
            matches.iter_mut().zip(&sizes[..scenes.len()]).for_each(|(to, &size)| *to = size as i8);
        }
    }
    if !scenes.is_empty() {
        found.cut = changed(reader, &tree, scenes, executed).unwrap_or(NO_NUMBER);
    }
    found
}

/// What is lost or changes without the last leaf: 1 the answer, 2 only the numbers that it follows from, 0 nothing or
/// not all of these numbers; None if there is no leaf.
fn changed(reader: &ProgramReader, tree: &Node<'_>, scenes: &[SceneView<'_>], answer: i32) -> Option<i8> {
    let tokens = tree.cut()?;
    let cut = Node::read(&reader.tokens, &tokens)?;
    if reader.answer_on_set(&tokens, scenes) != answer {
        return Some(1);
    }
    let numbers = |tree: &Node<'_>| -> Vec<Option<u32>> {
        tree.numbers().iter().map(|number| reader.number_on_set(number.tokens, scenes)).collect()
    };
    let whole = numbers(tree);
    let all_change = !whole.is_empty() && whole.iter().zip(numbers(&cut)).all(|(whole, cut)| *whole != cut);
    Some(if all_change { 2 } else { 0 })
}
