//! Whether the words of a question, given as tokens, ask one object for all held-out values.
//!
//! A noun phrase is a run of words for values ("small matte") up to and including the noun that ends it: a shape,
//! "thing", "object", or "shape" as in "what matte shape". It asks for the values that it names. A noun phrase that is
//! the subject of others ("how many of the matte things are either cubes or red cylinders", "are any of the matte
//! things either cubes or red cylinders") asks, with each of these, for the values that the two name together. Synonyms
//! and plurals are recognised, and case is ignored.

use super::error::{AuditError, MOST_VALUES};
use std::collections::BTreeMap;

/// Maximum number of values that words are distinguished by.
const MOST_BITS: usize = u64::BITS as usize;

/// A word for a value, or for an object of any shape.
#[derive(Clone, Debug)]
pub struct Word {
    /// One or several words, as in questions.
    pub text: String,
    /// The number of the held-out value that it names, if it names one.
    pub held_out: Option<usize>,
    /// Whether it names a value.
    pub is_value: bool,
    /// Whether it ends a noun phrase, and has a plural.
    pub is_noun: bool,
}

/// The meaning of a sequence of tokens.
#[derive(Clone, Copy, Debug)]
struct Meaning {
    bits: u64,
    is_value: bool,
    is_noun: bool,
}

/// Reads the values that tokens name.
#[derive(Clone, Debug)]
pub struct WordReader {
    /// By token: the number of its lower-case form.
    forms: Vec<u32>,
    /// By first form: the known sequences that begin with it, longest first.
    known: Vec<Vec<(Vec<u32>, Meaning)>>,
    /// By form: its role in a sentence.
    roles: Vec<Role>,
    full: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    None,
    /// "are", which joins a subject to its complement.
    Are,
    /// Another word that may stand between subject and complement.
    Link,
    Or,
    Semicolon,
    /// "shape", as in "what matte shape".
    Shape,
}

impl WordReader {
    /// `names` are the tokens of `vocab.json` by number; `n_held_out` values are searched for.
    ///
    /// # Errors
    /// `TooMany` values.
    pub fn new(names: &[String], words: &[Word], n_held_out: usize) -> Result<Self, AuditError> {
        if n_held_out > MOST_VALUES {
            return Err(AuditError::TooMany(n_held_out));
        }
        if let Some(bit) = words.iter().filter_map(|word| word.held_out).find(|&bit| bit >= MOST_BITS) {
            return Err(AuditError::TooMany(bit.saturating_add(1)));
        }
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut form = |word: &str| {
            let next = numbers.len() as u32;
            *numbers.entry(word.to_lowercase()).or_insert(next)
        };
        let forms = names.iter().map(|name| form(name)).collect();
        let mut known: BTreeMap<u32, Vec<(Vec<u32>, Meaning)>> = BTreeMap::new();
        for word in words {
            let plural = word.is_noun.then(|| format!("{}s", word.text));
            for text in [Some(word.text.clone()), plural].into_iter().flatten() {
                let sequence: Vec<u32> = text.split_whitespace().map(&mut form).collect();
                let Some(&first) = sequence.first() else { continue };
                let bits = word.held_out.map_or(0, |i| 1 << i);
                let entry = Meaning { bits, is_value: word.is_value, is_noun: word.is_noun };
                let list = known.entry(first).or_default();
                // A later entry for the same words replaces an earlier one.
                list.retain(|(other, _)| *other != sequence);
                list.push((sequence, entry));
                list.sort_by_key(|(sequence, _)| std::cmp::Reverse(sequence.len()));
            }
        }
        let roles = [
            ("are", Role::Are),
            ("there", Role::Link),
            ("that", Role::Link),
            ("either", Role::Link),
            ("or", Role::Or),
            (";", Role::Semicolon),
            ("shape", Role::Shape),
            ("shapes", Role::Shape),
        ]
        .map(|(name, role)| (form(name), role));
        let mut by_form = vec![Role::default(); numbers.len()];
        roles.into_iter().for_each(|(form, role)| by_form[form as usize] = role);
        let mut by_first = vec![Vec::new(); numbers.len()];
        known.into_iter().for_each(|(first, sequences)| by_first[first as usize] = sequences);
        Ok(Self { forms, known: by_first, roles: by_form, full: (0..n_held_out).fold(0, |bits, i| bits | 1 << i) })
    }

    /// Whether the question asks one object for all held-out values.
    pub fn mentions(&self, question: &[i32]) -> bool {
        // Most questions do not name all of them.
        let bits = |token: &i32| self.form(*token).map_or(0, |form| self.begun(form));
        let named = question.iter().fold(0, |named, token| named | bits(token));
        named & self.full == self.full && self.full != 0 && self.any_phrase(question, |values| values == self.full)
    }

    /// Whether a single noun phrase names all held-out values, regardless of the rest of the sentence. In "are all
    /// cubes left of a cylinder rubber", no phrase names both rubber and cylinder.
    pub fn in_noun_phrase(&self, question: &[i32]) -> bool {
        let tokens = self.forms_of(question);
        let mut phrases = Phrases { reader: self, tokens: &tokens, at: 0 };
        self.full != 0 && std::iter::from_fn(|| phrases.next()).any(|(_, _, named)| named == self.full)
    }

    /// The held-out values of all sequences that begin with a form, a bit each.
    fn begun(&self, form: u32) -> u64 {
        self.known[form as usize].iter().fold(0, |bits, (_, known)| bits | known.bits)
    }

    fn form(&self, token: i32) -> Option<u32> {
        usize::try_from(token).ok().and_then(|i| self.forms.get(i).copied())
    }

    /// The form of each token; `u32::MAX` for an unknown token.
    fn forms_of(&self, question: &[i32]) -> Vec<u32> {
        question.iter().map(|&token| self.form(token).unwrap_or(u32::MAX)).collect()
    }

    /// Whether the values that some phrase asks for, a bit each, satisfy a predicate.
    pub fn any_phrase(&self, question: &[i32], is_found: impl Fn(u64) -> bool) -> bool {
        let tokens = self.forms_of(question);
        let mut phrases = Phrases { reader: self, tokens: &tokens, at: 0 };
        let (mut subject, mut previous): (Option<u64>, Option<u64>) = (None, None);
        let (mut previous_end, mut follows_are) = (0, false);
        while let Some((begin, end, named)) = phrases.next() {
            let between = &tokens[previous_end.min(begin)..begin];
            let role = |token: &u32| self.role(*token);
            let has_are = between.iter().any(|token| role(token) == Role::Are);
            // In "are any of the matte things either cubes or ..." the verb comes before its subject.
            let says_of_previous =
                (has_are || follows_are) && between.iter().all(|token| matches!(role(token), Role::Are | Role::Link));
            if says_of_previous {
                subject = previous;
            } else if between.iter().any(|token| role(token) == Role::Semicolon) {
                subject = None;
            }
            let is_joined = says_of_previous || between.last().is_some_and(|token| role(token) == Role::Or);
            let values = if is_joined { named | subject.unwrap_or(0) } else { named };
            if is_found(values) {
                return true;
            }
            (previous, previous_end, follows_are) = (Some(named), end, has_are);
        }
        false
    }

    fn role(&self, form: u32) -> Role {
        self.roles.get(form as usize).copied().unwrap_or_default()
    }

    /// The longest known sequence at the start of these tokens.
    fn known_at(&self, tokens: &[u32]) -> Option<(usize, Meaning)> {
        let list = self.known.get(*tokens.first()? as usize)?;
        list.iter().find(|(sequence, _)| tokens.starts_with(sequence)).map(|(sequence, known)| (sequence.len(), *known))
    }
}

/// The noun phrases of a question, in order.
struct Phrases<'a> {
    reader: &'a WordReader,
    tokens: &'a [u32],
    at: usize,
}

impl Phrases<'_> {
    /// The start and end of the next phrase, and the held-out values that it names, a bit each.
    fn next(&mut self) -> Option<(usize, usize, u64)> {
        let (mut begin, mut bits, mut has_value) = (self.at, 0, false);
        while self.at < self.tokens.len() {
            let known = self.reader.known_at(&self.tokens[self.at..]);
            self.at += known.map_or(1, |(length, _)| length);
            match known {
                Some((_, known)) => {
                    bits |= known.bits;
                    has_value |= known.is_value;
                    if known.is_noun {
                        return Some((begin, self.at, bits));
                    }
                }
                // A word that names nothing ends a phrase too.
                None if has_value => {
                    let with_noun = self.reader.role(self.tokens[self.at - 1]) == Role::Shape;
                    return Some((begin, if with_noun { self.at } else { self.at - 1 }, bits));
                }
                None => (begin, bits) = (self.at, 0),
            }
        }
        has_value.then_some((begin, self.at, bits))
    }
}
