//! What makes a split of questions over several images.

use crate::split::SceneRule;

/// Where a set of images shows the held-out pair, or its question mentions it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PairPlace {
    /// The question does not mention it, and nothing is said of the images.
    Nowhere,
    /// The question mentions it.
    Mentioned,
    /// The question does not mention it, and only images that do not show what it describes show the pair.
    Distractor,
}

/// How distractors are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DistractorChoice {
    /// They contradict one or two parts of what the question describes.
    Edited,
    /// Any scenes without what the question describes: COVR's easy variant.
    Random,
}

/// What makes a split.
#[derive(Clone, Debug)]
pub struct SetRule {
    /// Its name, part of what decides the questions.
    pub name: String,
    pub scenes: SceneRule,
    /// Where the held-out pair is, from question to question in turn; `Nowhere` alone in distribution.
    pub places: Vec<PairPlace>,
    /// Whether questions may not imply the pair by likenesses either.
    pub implied: bool,
    pub distractors: DistractorChoice,
    /// Which half of all texts it has (0 or 1), so that dev and test share none; None for all.
    pub half: Option<u8>,
    /// Whether questions have the phrasing that no other split has.
    pub paraphrased: bool,
    pub match_objects: bool,
}
