//! How a question is worded where its phrasing leaves a choice: by random draws, or like another question.

use super::param::MAX_PARAMS;
use crate::rng::StreamRng;

/// Decides the wording of a question.
pub trait Wording {
    /// Which of the `n` words for a parameter's value is used.
    fn word(&mut self, param: usize, n: u32) -> u32;

    /// Whether the next optional part of the phrasing is kept.
    fn keeps_part(&mut self) -> bool;
}

/// Random draws, as in the generator.
impl Wording for StreamRng {
    #[inline]
    fn word(&mut self, _param: usize, n: u32) -> u32 {
        self.below(n)
    }

    #[inline]
    fn keeps_part(&mut self) -> bool {
        !self.coin()
    }
}

/// A known wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worded {
    /// For each parameter, the number of the word for its value.
    pub words: [u8; MAX_PARAMS],
    /// One bit for each optional part, in order: whether it is kept.
    pub kept: u32,
}

/// Follows a known wording, part by part.
pub struct Followed<'a> {
    worded: &'a Worded,
    n_parts: u32,
}

impl Worded {
    /// Words a question in this way.
    pub fn follow(&self) -> Followed<'_> {
        Followed { worded: self, n_parts: 0 }
    }
}

impl Wording for Followed<'_> {
    fn word(&mut self, param: usize, n: u32) -> u32 {
        u32::from(self.worded.words[param]).min(n.saturating_sub(1))
    }

    fn keeps_part(&mut self) -> bool {
        let keeps = self.worded.kept >> self.n_parts & 1 == 1;
        self.n_parts = (self.n_parts + 1).min(u32::BITS - 1);
        keeps
    }
}
