//! The texts of questions over sets of images: sentences from a file, filled with the parts of a question.
//!
//! The file is JSON with the sentences of each template, by name; `variant` lists the keys below a name. Slots in the
//! sentences stand for parts of the question:
//!
//! | slot | stands for |
//! |---|---|
//! | `<A>`, `<As>` | the noun phrase of `g`, singular or plural: "cube that is left of a sphere" |
//! | `<B>`, `<Bs>` | likewise for `g2`, or for the object of choose_relation |
//! | `<A\|As>` | singular if the question's number is 1, otherwise plural |
//! | `<is\|are>` | likewise for any two words |
//! | `<type>` | the attribute type: "color" |
//! | `<value>`, `<value2>` | a value as the predicate of one object: "red", "a cube" |
//! | `<values>` | a value as the predicate of several objects: "red", "cubes" |
//! | `<name>`, `<name2>` | a value's name: "red", "cube" |
//! | `<number>` | the number with its bound: "exactly 1", "at most 3" |
//! | `<n As>` | the number of `g` in an image: "exactly 1 cube", "between 1 and 3 cubes" |
//! | `<is related>`, `<are related>` | the relation of a quantifier: "is left of a sphere" |
//! | `<target>` | the object to which the `g` has a relation: "thing that is right of the red cube" |
//! | `<its target>` | likewise in a sentence that has named `g`: "thing that is right of it" |
//! | `<relation>`, `<relation2>` | a relation and its converse: "left of", "right of" |
//!
//! Before a slot, "a" becomes "an" where needed.

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

/// The sentences of a file, and the names of a world's values.
#[derive(Clone, Debug)]
pub struct Phrasings {
    /// By template and variant.
    sentences: Vec<Vec<Vec<Sentence>>>,
    nouns: Nouns,
    fingerprint: String,
}

impl Phrasings {
    /// The number of phrasings of a question; the last is reserved for the paraphrased split.
    pub fn n(&self, meaning: &Meaning) -> usize {
        self.of(meaning).len()
    }

    /// Appends the text of a question in one of its phrasings, numbered from 0.
    pub fn write(&self, meaning: &Meaning, phrasing: usize, text: &mut String) {
        self.of(meaning)[phrasing].write(&Content::new(meaning), &self.nouns, text);
    }

    /// A hash of the file.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn of(&self, meaning: &Meaning) -> &[Sentence] {
        &self.sentences[meaning.template() as usize][variant::number(&meaning.ask)]
    }
}
