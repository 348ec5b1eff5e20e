//! How the answers of a pair are related: the partner's as a function of the original's.

use crate::vocab::Answer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Same,
    /// Yes and no are exchanged.
    Flip,
    /// The partner is answered yes exactly if the original's answer is this one.
    Is(Answer),
    /// The partner is answered yes exactly if the original's answer is a number above 0.
    Positive,
}

impl Relation {
    /// The partner's answer; None if the original's answer is of the wrong kind.
    pub fn partner(self, original: Answer) -> Option<Answer> {
        match (self, original) {
            (Self::Same, answer) => Some(answer),
            (Self::Flip, Answer::Bool(truth)) => Some(Answer::Bool(!truth)),
            (Self::Positive, Answer::Integer(number)) => Some(Answer::Bool(number > 0)),
            (Self::Is(answer), original) => Some(Answer::Bool(original == answer)),
            (Self::Flip | Self::Positive, _) => None,
        }
    }

    /// The relation's number in files: 0 same, 1 flip, 2 is, 3 positive.
    pub fn number(self) -> u8 {
        match self {
            Self::Same => 0,
            Self::Flip => 1,
            Self::Is(_) => 2,
            Self::Positive => 3,
        }
    }
}
