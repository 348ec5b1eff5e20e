//! The rule of a split of questions over several images.

use crate::split::SceneRule;

/// Where the held-out pair occurs: in the question, or in the images of its set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PairPlace {
    /// The question does not mention it; the images are not restricted.
    Nowhere,
    /// The question mentions it.
    Mentioned,
    /// The question does not mention it; only distractors show it.
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

/// The rule of a split.
#[derive(Clone, Debug)]
pub struct SetRule {
    /// The split's name, which is a part of the stream's key.
    pub name: String,
    pub scenes: SceneRule,
    /// The places of the held-out pair, which pairs of questions take in turn; only `Nowhere` in distribution.
    pub places: Vec<PairPlace>,
    /// Whether questions must not imply the pair by likenesses either.
    pub implied: bool,
    pub distractors: DistractorChoice,
    /// The half of all programs that the split has (0 or 1), so that dev and test share no text; None for all.
    pub half: Option<u8>,
    /// Whether questions have the phrasing reserved for the paraphrased split.
    pub paraphrased: bool,
}

impl SetRule {
    /// What is wrong with the rule, given whether values are held out.
    pub(super) fn check(&self, has_held_out: bool) -> Result<(), String> {
        if self.places.is_empty() {
            return Err("no place of the held-out values is given; expected at least one".to_owned());
        }
        if !has_held_out && self.places.iter().any(|&place| place != PairPlace::Nowhere) {
            return Err("questions or distractors are to have held-out values, but none are held out".to_owned());
        }
        match self.half {
            Some(half @ 2..) => Err(format!("half {half} of the programs; expected 0 or 1")),
            _ => Ok(()),
        }
    }
}
