//! The parser: follows a text through the trie, and returns its meanings.

use super::lexicon::Slots;
use super::names::{Names, SHAPE};
use super::template::{Family, MOST_PARAMS, Other, Part, Step, read_file};
use super::trie::{ARTICLES, Edge, Leaf, MOST_VISITS, SlotMatch, Tokens, Trie, TrieBuilder, Walk, article};
use crate::audit::error::FileError;

/// A meaning of a text: a family, and a program as numbers of functions in prefix order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub family: u16,
    pub program: Vec<i32>,
}

/// Parses texts of one vocabulary with the templates of one folder.
#[derive(Clone, Debug)]
pub struct TextParser {
    families: Vec<Family>,
    trie: Trie,
    tokens: Tokens,
}

impl TextParser {
    /// `files` are template files by name without suffix, in the order in which families are numbered;
    /// `synonyms` is the JSON object of words for values.
    ///
    /// # Errors
    /// A file that is not valid, or a phrasing that cannot be parsed; names the place.
    pub fn new(names: &Names, files: &[(String, Vec<u8>)], synonyms: &[u8]) -> Result<Self, FileError> {
        let mut slots = Slots::new(names, synonyms)?;
        let mut tree = TrieBuilder::new();
        let mut families = Vec::new();
        for (file, bytes) in files {
            for (i, family) in read_file(file, bytes, names)?.into_iter().enumerate() {
                let number = u16::try_from(families.len()).map_err(|_| FileError {
                    place: format!("{file}[{i}]"),
                    problem: format!("over {} families", u16::MAX),
                })?;
                add_family(&mut tree, &family, number, names, &mut slots)
                    .map_err(|problem| FileError { place: format!("{file}[{i}]"), problem })?;
                families.push(family);
            }
        }
        let articles = ARTICLES.map(|(a, an)| [names.token(a), names.token(an)]);
        let tokens = Tokens { slots: slots.slots, articles, can_follow_an: names.can_follow_an().to_vec() };
        Ok(Self { families, trie: tree.packed(), tokens })
    }

    pub fn n_families(&self) -> usize {
        self.families.len()
    }

    /// Numbers of the answers that a family can have.
    pub fn answers(&self, family: usize) -> &[i32] {
        self.families.get(family).map_or(&[], |family| &family.answers)
    }

    /// All meanings of a text, without repetitions; none for a text that `MOST_VISITS` nodes are not enough for, as with
    /// dozens of parameters that may be left out side by side. `text` has no `<START>` and `<END>`.
    pub fn read(&self, text: &[i32]) -> Vec<Reading> {
        let mut readings = Vec::new();
        if text.len() > usize::from(u16::MAX) {
            return readings;
        }
        let at_end = |leaf: &Leaf, matches: &[SlotMatch]| {
            if let Some(reading) = self.reading(leaf, matches, text)
                && !readings.contains(&reading)
            {
                readings.push(reading);
            }
        };
        let (matches, visits_left) = (Vec::with_capacity(MOST_PARAMS), MOST_VISITS);
        let mut walk = Walk { trie: &self.trie, tokens: &self.tokens, text, matches, visits_left, at_end };
        walk.from(0, 0);
        if walk.visits_left > 0 { readings } else { Vec::new() }
    }

    /// The meaning of a variant; None if the rules for its words forbid it.
    fn reading(&self, leaf: &Leaf, matches: &[SlotMatch], text: &[i32]) -> Option<Reading> {
        let family = &self.families[usize::from(leaf.family)];
        let mut values = [None; MOST_PARAMS];
        for (&param, found) in leaf.gaps.iter().zip(matches) {
            // Slots are shared by all families, so that common beginnings are followed once; a family's constraints
            // on them are checked here.
            if !family.params[usize::from(param)].allowed.allows(found.value) {
                return None;
            }
            values[usize::from(param)] = found.value;
        }
        if leaf.repeats && !repeats_words(leaf, matches, text) {
            return None;
        }
        if leaf.other != Other::Any && (leaf.other == Other::LeftOut) != family.objects_differ(&values) {
            return None;
        }
        let function = |step: &Step| match step {
            Step::Function(number) => Some(*number),
            Step::Param(param) => values[usize::from(*param)],
            Step::Applied(param, functions) => {
                let value = values[usize::from(*param)]?;
                functions.iter().find(|(of_value, _)| *of_value == value).map(|(_, function)| *function)
            }
        };
        let mut program = Vec::with_capacity(family.program.len());
        program.extend(family.program.iter().filter_map(function));
        Some(Reading { family: leaf.family, program })
    }
}

impl Family {
    /// CLEVR's rule: two objects need no "other" if some attribute is given for both and differs; "thing" is a shape.
    fn objects_differ(&self, values: &[Option<i32>; MOST_PARAMS]) -> bool {
        self.two_objects.is_some_and(|pairs| {
            pairs.iter().any(|&(a, b)| {
                let is_shape = self.params[usize::from(a)].kind == SHAPE;
                let (a, b) = (values[usize::from(a)], values[usize::from(b)]);
                a != b && (is_shape || (a.is_some() && b.is_some()))
            })
        })
    }
}

/// Whether each parameter that occurs twice has the same words both times.
fn repeats_words(leaf: &Leaf, matches: &[SlotMatch], text: &[i32]) -> bool {
    let words = |i: usize| &text[usize::from(matches[i].begin)..usize::from(matches[i].end)];
    (0..matches.len()).all(|i| (0..i).all(|j| leaf.gaps[i] != leaf.gaps[j] || words(i) == words(j)))
}

/// Adds the variants of a family to the trie.
fn add_family(
    tree: &mut TrieBuilder,
    family: &Family,
    number: u16,
    names: &Names,
    slots: &mut Slots<'_>,
) -> Result<(), String> {
    for variant in &family.variants {
        let mut edges = Vec::with_capacity(variant.parts.len());
        let mut gaps: Vec<u8> = Vec::new();
        for (i, part) in variant.parts.iter().enumerate() {
            edges.push(match part {
                Part::Word(word) => match article(part, variant.parts.get(i + 1)) {
                    Some(article) => Edge::Article(article),
                    // No token has this number, so no text matches a word that is not in the vocabulary.
                    None => Edge::Word(names.token(word).unwrap_or(-1)),
                },
                Part::Param { param, before, after } => {
                    gaps.push(*param);
                    let param = &family.params[usize::from(*param)];
                    Edge::Slot(slots.number(&param.kind, param.by_name, before, after)?)
                }
            });
        }
        let repeats = (0..gaps.len()).any(|i| gaps[..i].contains(&gaps[i]));
        tree.add(&edges, Leaf { family: number, gaps, other: variant.other, repeats });
    }
    Ok(())
}
