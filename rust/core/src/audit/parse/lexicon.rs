//! Words for values and a vocabulary's tokens in, tables out: what a parameter can say where a token begins.

use super::template::{RELATION, SHAPE};
use super::{Names, ParseError};
use crate::message::{json_cause, shown};
use std::collections::BTreeMap;

/// A way to say a value: its tokens, and the number of the value's function (none: no value).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    pub tokens: Box<[i32]>,
    pub value: Option<i32>,
}

/// What a parameter can say, by first token.
#[derive(Clone, Debug)]
pub struct Slot {
    /// By token: 0 for none, otherwise a place in `groups` plus one.
    heads: Vec<u16>,
    groups: Vec<Vec<Saying>>,
    /// It may say nothing.
    pub may_be_silent: bool,
}

/// What tells slots apart: kind, and what is written before and after without a space.
type Key = (String, String, String);

/// Makes each slot once.
pub struct Slots<'a> {
    names: &'a Names,
    synonyms: BTreeMap<String, Vec<String>>,
    numbers: BTreeMap<Key, u16>,
    pub slots: Vec<Slot>,
}

impl Slot {
    /// What it can say with this token first.
    #[inline]
    pub fn sayings(&self, token: i32) -> &[Saying] {
        let head = usize::try_from(token).ok().and_then(|token| self.heads.get(token)).copied().unwrap_or(0);
        usize::from(head).checked_sub(1).and_then(|group| self.groups.get(group)).map_or(&[], Vec::as_slice)
    }
}

impl<'a> Slots<'a> {
    /// `synonyms` is a JSON object: value, relation or "thing" to its words; what it does not hold is its own word.
    pub fn new(names: &'a Names, synonyms: &[u8]) -> Result<Self, ParseError> {
        let synonyms = serde_json::from_slice(synonyms).map_err(|error| ParseError {
            place: "synonyms".to_owned(),
            problem: format!("no object from names to lists of words ({})", json_cause(&error)),
        })?;
        Ok(Self { names, synonyms, numbers: BTreeMap::new(), slots: Vec::new() })
    }

    /// The number of a slot.
    pub fn number(&mut self, kind: &str, before: &str, after: &str) -> Result<u16, String> {
        let key = (kind.to_owned(), before.to_owned(), after.to_owned());
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        let number = u16::try_from(self.slots.len()).map_err(|_| "too many kinds of parameters".to_owned())?;
        let slot = self.slot(kind, before, after)?;
        self.slots.push(slot);
        self.numbers.insert(key, number);
        Ok(number)
    }

    fn slot(&self, kind: &str, before: &str, after: &str) -> Result<Slot, String> {
        let values = self.names.values(kind);
        let values = values.ok_or_else(|| format!("\"{}\" is no type of parameter in this vocabulary", shown(kind)))?;
        let mut slot = Slot { heads: vec![0; self.names.n_words()], groups: Vec::new(), may_be_silent: false };
        let n_words: usize = values.iter().map(|(name, _)| self.words(name).len()).sum();
        if n_words + self.words("thing").len() > usize::from(u16::MAX) {
            return Err(format!("{n_words} words for values of one type; at most {} are read", u16::MAX));
        }
        for (name, number) in values {
            for word in self.words(name) {
                slot.add(self.names.tokens(&format!("{before}{word}{after}")), Some(*number));
            }
        }
        if kind != RELATION {
            if kind == SHAPE {
                for word in self.words("thing") {
                    slot.add(self.names.tokens(&format!("{before}{word}{after}")), None);
                }
            } else if before.is_empty() && after.is_empty() {
                slot.may_be_silent = true;
            } else {
                slot.add(self.names.tokens(&format!("{before}{after}")), None);
            }
        }
        Ok(slot)
    }

    fn words(&self, name: &str) -> Vec<String> {
        self.synonyms.get(name).cloned().unwrap_or_else(|| vec![name.to_owned()])
    }
}

impl Slot {
    /// Adds a way to say a value; one with a word that the vocabulary has not can never be met.
    fn add(&mut self, tokens: Option<Vec<i32>>, value: Option<i32>) {
        let Some(tokens) = tokens.filter(|tokens| !tokens.is_empty()) else { return };
        let saying = Saying { tokens: tokens.into(), value };
        let head = &mut self.heads[saying.tokens[0] as usize];
        if *head == 0 {
            self.groups.push(Vec::new());
            *head = self.groups.len() as u16;
        }
        let group = &mut self.groups[usize::from(*head) - 1];
        if !group.contains(&saying) {
            group.push(saying);
        }
    }
}
