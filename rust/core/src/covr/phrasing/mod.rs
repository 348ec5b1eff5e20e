//! The texts of questions over sets of images: sentences of a file, filled with what a question means.
//!
//! The file is JSON with the sentences of each template, by name; `variant` says which keys are below a name. Slots
//! in them stand for parts of the question:
//!
//! | slot | stands for |
//! |---|---|
//! | `<A>`, `<As>` | one or many of what `g` describes: "cube that is left of a sphere" |
//! | `<B>`, `<Bs>` | the same of `g2`, or of the object of choose_relation |
//! | `<A\|As>` | one or many, as the question's number is 1 or another |
//! | `<is\|are>` | likewise the first or the second of any two words |
//! | `<type>` | the attribute type: "color" |
//! | `<value>`, `<value2>` | what is said of one object: "red", "a cube" |
//! | `<values>` | what is said of many: "red", "cubes" |
//! | `<name>`, `<name2>` | a value's name: "red", "cube" |
//! | `<number>` | the number with its bound: "exactly 1", "at most 3" |
//! | `<n As>` | so many `g` of an image: "exactly 1 cube", "between 1 and 3 cubes" |
//! | `<is related>`, `<are related>` | the relation of a quantifier: "is left of a sphere" |
//! | `<target>` | what the `g` has a relation to: "thing that is right of the red cube" |
//! | `<its target>` | the same after a sentence that names `g`: "thing that is right of it" |
//! | `<relation>`, `<relation2>` | a relation and its converse: "left of", "right of" |
//!
//! Before a slot, "a" becomes "an" where it has to.

mod extent;
mod noun;
mod reading;
#[cfg(test)]
mod samples;
mod sentence;
mod slot;
#[cfg(test)]
mod tests;
mod variant;

use super::meaning::Meaning;
use noun::Nouns;
pub use reading::PhrasingsError;
use sentence::Sentence;
use slot::Content;

/// The sentences of a file, with the words of a world.
#[derive(Clone, Debug)]
pub struct Phrasings {
    /// By template and variant.
    sentences: Vec<Vec<Vec<Sentence>>>,
    nouns: Nouns,
    fingerprint: String,
}

impl Phrasings {
    /// Number of phrasings of a question; the last is kept for a split of its own.
    pub fn n(&self, meaning: &Meaning) -> usize {
        self.of(meaning).len()
    }

    /// Appends the text of a question in one of its phrasings, counted from 0.
    pub fn write(&self, meaning: &Meaning, phrasing: usize, text: &mut String) {
        self.of(meaning)[phrasing].write(&Content::new(meaning), &self.nouns, text);
    }

    /// A hash of the file.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn of(&self, meaning: &Meaning) -> &[Sentence] {
        &self.sentences[meaning.template() as usize][variant::number(meaning)]
    }
}
