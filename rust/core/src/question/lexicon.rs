//! The words for values, relations, numbers and things.

use super::text_buffer::{CHUNK, TextBuffer};
use crate::article::takes_an;
use crate::message::shown;
use crate::question::param::{Param, ParamKind};
use crate::vocab::{N_TYPES, RELATION_NAMES, Vocabulary};
use std::collections::BTreeMap;

/// The type whose unset value has a word, "thing".
pub(super) const SHAPE: usize = 3;
/// Maximum number of words for one value, relation or number: readers number them in 8 bits.
const MOST_WORDS: usize = 256;

/// The words for values, relations, numbers and things.
#[derive(Clone, Debug)]
pub struct Lexicon {
    /// For each attribute type, the words for the unset value and for each value; then an unused entry for the unset
    /// relation, and the words for each relation; then the same for numbers.
    lists: Vec<Vec<Word>>,
    /// The same, where an attribute value's name is the only word for it.
    names: Vec<Vec<Word>>,
    /// Start of each type's lists; relations and numbers come last.
    starts: [usize; N_TYPES + 2],
}

/// One or more words for a value, as they appear in questions.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// The text, padded with a chunk of spaces.
    padded: String,
    len: usize,
    /// Whether its article is "an".
    pub(super) takes_an: bool,
}

impl Word {
    fn new(text: &str) -> Self {
        Self { padded: text.to_owned() + &" ".repeat(CHUNK), len: text.len(), takes_an: takes_an(text) }
    }

    pub fn as_str(&self) -> &str {
        &self.padded[..self.len]
    }

    #[inline]
    pub(super) fn write(&self, text: &mut TextBuffer) {
        text.push(self.padded.as_bytes(), self.len);
    }
}

impl Lexicon {
    /// The lexicon from a map of names to words; a name that is missing from the map stands for itself.
    pub fn new(vocab: &Vocabulary, mut words: BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        if let Some((name, _)) =
            words.iter().find(|(_, list)| list.is_empty() || list.iter().any(|w| w.trim().is_empty()))
        {
            return Err(format!("\"{}\" has no words, or an empty one", shown(name)));
        }
        if let Some((name, list)) = words.iter().find(|(_, list)| list.len() > MOST_WORDS) {
            return Err(format!("\"{}\" has {} words; at most {MOST_WORDS} are read", shown(name), list.len()));
        }
        each_word_says_one_thing(vocab, &words)?;
        let mut of = |name: &str| {
            let words = words.remove(name).unwrap_or_else(|| vec![name.to_owned()]);
            words.iter().map(|word| Word::new(word)).collect()
        };
        let (mut lists, mut starts) = (Vec::new(), [0; N_TYPES + 2]);
        for (kind, attribute) in vocab.types().iter().enumerate() {
            starts[kind] = lists.len();
            lists.push(if kind == SHAPE { of("thing") } else { Vec::new() });
            lists.extend(attribute.values.iter().map(|value| of(value)));
        }
        starts[N_TYPES] = lists.len();
        lists.push(Vec::new());
        lists.extend(RELATION_NAMES.iter().map(|relation| of(relation)));
        starts[N_TYPES + 1] = lists.len();
        lists.push(Vec::new());
        lists.extend(vocab.numerals().iter().map(|number| of(number)));
        let mut names = lists.clone();
        for (kind, attribute) in vocab.types().iter().enumerate() {
            for (value, name) in attribute.values.iter().enumerate() {
                names[starts[kind] + 1 + value] = vec![Word::new(name)];
            }
        }
        Ok(Self { lists, names, starts })
    }

    /// The words for a parameter's value; empty if the parameter is unset and there is no word for that.
    #[inline]
    pub fn words(&self, param: &Param, value: Option<u8>) -> &[Word] {
        &self.lists_of(param)[self.starts[place(param.kind)] + value.map_or(0, |value| usize::from(value) + 1)]
    }

    #[inline]
    fn lists_of(&self, param: &Param) -> &[Vec<Word>] {
        if param.by_name { &self.names } else { &self.lists }
    }

    /// The values that a parameter can have, by number; up to 256 numbers, from 0 to 255.
    pub(super) fn values(&self, kind: ParamKind) -> impl Iterator<Item = u8> {
        let start = self.starts[place(kind)];
        let end = self.starts.get(place(kind) + 1).copied().unwrap_or(self.lists.len());
        (0..=u8::MAX).take(end - start - 1)
    }

    /// All words for values of a parameter, including those for an unset one.
    pub(super) fn all_words(&self, param: &Param) -> Vec<&str> {
        let end = self.starts.get(place(param.kind) + 1).copied().unwrap_or(self.lists.len());
        self.lists_of(param)[self.starts[place(param.kind)]..end].iter().flatten().map(Word::as_str).collect()
    }
}

/// Refuses a word that stands for two values or numbers, or for a value and "thing": a question with it would be
/// ambiguous. The plurals of nouns (shapes and "thing") are checked too.
fn each_word_says_one_thing(vocab: &Vocabulary, words: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
    let mut name_by_form: BTreeMap<String, &str> = BTreeMap::new();
    let values = vocab.types().iter().enumerate();
    let values = values.flat_map(|(kind, attribute)| attribute.values.iter().map(move |value| (value.as_str(), kind)));
    let numbers = vocab.numerals().iter().map(|number| (number.as_str(), place(ParamKind::Number)));
    for (name, kind) in values.chain(numbers).chain([("thing", SHAPE)]) {
        let own = [name.to_owned()];
        for word in words.get(name).map_or(own.as_slice(), Vec::as_slice) {
            let plural = (kind == SHAPE).then(|| format!("{word}s"));
            for form in std::iter::once(word.clone()).chain(plural) {
                let before = name_by_form.insert(form.to_lowercase(), name);
                if let Some(other) = before.filter(|other| *other != name) {
                    let form = shown(&form);
                    return Err(format!(
                        "\"{form}\" would be said of both {other} and {name}; give one of them other words"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The index of a parameter's kind in `Lexicon::starts`.
#[inline]
fn place(kind: ParamKind) -> usize {
    match kind {
        ParamKind::Attribute(kind) => usize::from(kind),
        ParamKind::Relation => N_TYPES,
        ParamKind::Number => N_TYPES + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples::vocabulary;

    #[test]
    fn a_word_for_two_values_is_refused() {
        let refused = |name: &str, list: &[&str]| {
            let words = BTreeMap::from([(name.to_owned(), list.iter().map(|word| (*word).to_owned()).collect())]);
            Lexicon::new(&vocabulary(), words).unwrap_err()
        };
        let end = "; give one of them other words";
        assert_eq!(
            refused("cylinder", &["can", "cube"]),
            format!("\"cube\" would be said of both cube and cylinder{end}")
        );
        assert_eq!(refused("thing", &["thing", "Red"]), format!("\"Red\" would be said of both red and thing{end}"));
        assert_eq!(refused("3", &["three", "2"]), format!("\"2\" would be said of both 2 and 3{end}"));
        assert_eq!(refused("red", &["cubes"]), format!("\"cubes\" would be said of both red and cube{end}"));
        assert!(refused("red", &["x"; 257]).starts_with("\"red\" has 257 words; at most 256"));
        let twice = BTreeMap::from([("red".to_owned(), vec!["crimson".to_owned(), "crimson".to_owned()])]);
        assert!(Lexicon::new(&vocabulary(), twice).is_ok(), "one value may have a word twice: it is said more often");
    }
}
