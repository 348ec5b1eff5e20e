//! A node as the search sees it, and sets of answers.

use crate::program::function::Type;
use crate::question::template::NodeKind;

/// A set of a family's own answers: no 0 and yes 1; an integer; a value's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerSet([u64; 4]);

impl AnswerSet {
    pub const EMPTY: Self = Self([0; 4]);
    /// Answers in a word.
    pub const WORD: usize = 64;

    pub fn first(n: usize) -> Self {
        let mut set = Self::EMPTY;
        (0..n).for_each(|answer| set.insert(answer));
        set
    }

    #[inline]
    pub fn contains(self, answer: u32) -> bool {
        answer < 256 && self.0[(answer >> 6) as usize] >> (answer & 63) & 1 == 1
    }

    #[inline]
    pub fn insert(&mut self, answer: usize) {
        self.0[answer >> 6] |= 1 << (answer & 63);
    }

    pub fn remove(&mut self, answer: usize) {
        self.0[answer >> 6] &= !(1 << (answer & 63));
    }

    /// The first 64, a bit each.
    #[inline]
    pub fn first_word(self) -> u64 {
        self.0[0]
    }

    #[inline]
    pub fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }
}

/// How a node chooses, if it does.
#[derive(Clone, Debug)]
pub struct PlanNode {
    pub kind: NodeKind,
    pub inputs: [u8; 2],
    pub output: Type,
    /// Types that must stay unset here, a bit a type.
    pub forbidden: u8,
    /// Earlier nodes whose outputs must differ from this one's.
    pub differs_from: Vec<u8>,
    /// Earlier nodes whose outputs are used here or later: with what was drawn for them forgotten,
    /// they are all that the rest of the search depends on.
    pub live: Vec<u8>,
    pub is_choice: bool,
    /// A choice after which nothing is left to choose.
    pub is_last_choice: bool,
    /// Follows a raw `relate`, so its outcome alone does not tell whether a question degenerates.
    pub after_relate: bool,
}
