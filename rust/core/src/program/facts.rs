//! The facts about scenes that the functions' meanings are written in, and how a meaning is applied.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, BitXor, Not};
use thiserror::Error;

/// The program has no answer on this scene: a function got objects that it has no output for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("the program has no answer on this scene")]
pub struct Invalid;

/// The outputs of steps: 32 bits for programs on one scene, 64 for those on several. A set is a mask of object numbers.
pub(crate) trait Word:
    Copy
    + Debug
    + Default
    + Ord
    + From<bool>
    + From<u32>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Send
    + Sync
{
    /// The word as a number: of an object, of a value, or an integer.
    fn number(self) -> usize;
    /// The set whose only member is the object of this number.
    fn single(self) -> Self;
    /// The number of the first member of a non-empty set.
    fn first(self) -> Self;
    fn n_members(self) -> u32;

    #[inline(always)]
    fn is_empty(self) -> bool {
        self == Self::default()
    }

    #[inline(always)]
    fn has(self, object: Self) -> bool {
        !(self & object.single()).is_empty()
    }

    /// The numbers of its members, ascending.
    #[inline(always)]
    fn members(self) -> impl Iterator<Item = Self> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let first = (!rest.is_empty()).then(|| rest.first())?;
            rest = rest & !first.single();
            Some(first)
        })
    }
}

macro_rules! word {
    ($bits:ty) => {
        impl Word for $bits {
            #[inline(always)]
            fn number(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn single(self) -> Self {
                1 << self
            }

            #[inline(always)]
            fn first(self) -> Self {
                self.trailing_zeros().into()
            }

            #[inline(always)]
            fn n_members(self) -> u32 {
                self.count_ones()
            }
        }
    };
}

word!(u32);
word!(u64);

/// What a function's meaning may ask about one scene, or about several scenes of one question.
pub(crate) trait Facts: Copy {
    type Word: Word;

    /// All objects.
    fn everything(self) -> Self::Word;
    /// The objects that have a value of an attribute type.
    fn having(self, kind: u8, value: u8) -> Self::Word;
    /// The objects that stand in a relation to an object; all of them are in its image.
    fn related(self, relation: u8, object: Self::Word) -> Self::Word;
    /// An object's value of an attribute type.
    fn value(self, kind: u8, object: Self::Word) -> u8;
    /// Number of images; one unless a set of scenes overrides this, like the methods below.
    #[inline(always)]
    fn n_images(self) -> u32 {
        1
    }
    /// The objects of an image.
    #[inline(always)]
    fn image(self, _number: u32) -> Self::Word {
        self.everything()
    }
    /// The objects of the image that an object is in.
    #[inline(always)]
    fn image_of(self, _object: Self::Word) -> Self::Word {
        self.everything()
    }

    /// The images that members of a set are in, one bit each.
    #[inline(always)]
    fn images(self, set: Self::Word) -> Self::Word {
        let images = (0..self.n_images()).filter(|&image| !(set & self.image(image)).is_empty());
        union(images.map(|image| Self::Word::from(image).single()))
    }

    /// The members of a set in the images whose number of members satisfies `is_kept`; images without members never do.
    #[inline(always)]
    fn members_by_image(self, set: Self::Word, is_kept: impl Fn(u32) -> bool) -> Self::Word {
        let members = (0..self.n_images()).map(|image| set & self.image(image));
        union(members.filter(|members| is_kept(members.n_members())))
    }

    /// The other objects of an object's image that have its value of an attribute type.
    #[inline(always)]
    fn alike(self, kind: u8, object: Self::Word) -> Self::Word {
        self.having(kind, self.value(kind, object)) & self.image_of(object) & !object.single()
    }
}

/// The objects that are in any of the sets.
#[inline(always)]
pub(super) fn union<W: Word>(sets: impl Iterator<Item = W>) -> W {
    sets.fold(W::default(), |all, set| all | set)
}

/// Applies a function's meaning, which takes (facts, argument, first input, second input).
pub(super) trait Apply {
    type Facts: Facts;
    type Done;

    fn apply(
        self,
        meaning: impl Fn(Self::Facts, u8, WordOf<Self>, WordOf<Self>) -> Result<WordOf<Self>, Invalid>,
    ) -> Self::Done;
}

/// The word of the facts that a meaning is applied to.
pub(super) type WordOf<A> = <<A as Apply>::Facts as Facts>::Word;

/// Applies a meaning once, to facts, an argument and inputs.
pub(super) struct Once<F: Facts>(pub F, pub u8, pub [F::Word; 2]);

impl<F: Facts> Apply for Once<F> {
    type Facts = F;
    type Done = Result<F::Word, Invalid>;

    #[inline(always)]
    fn apply(self, meaning: impl Fn(F, u8, F::Word, F::Word) -> Result<F::Word, Invalid>) -> Self::Done {
        let Self(facts, argument, [a, b]) = self;
        meaning(facts, argument, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_set_or_a_number() {
        let set = 1u64 << 63 | 1 << 40 | 1;
        assert_eq!(set.members().collect::<Vec<_>>(), [0, 40, 63]);
        assert_eq!((set.n_members(), set.first(), (set & !1).first()), (3, 0, 40));
        assert!(set.has(63) && !set.has(62) && !set.is_empty() && 0u32.is_empty());
        assert_eq!((union([1u64, 6, 4].into_iter()), union(std::iter::empty::<u32>())), (7, 0));
        assert_eq!((31u32.single(), 63u64.single(), 7u32.number()), (1 << 31, 1 << 63, 7));
    }
}
