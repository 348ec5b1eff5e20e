//! The surface forms of parameters: the sequences of tokens that can express their values.

use super::names::{NUMBER, Names, RELATION, SHAPE};
use crate::audit::error::FileError;
use crate::message::{json_cause, shown};
use std::collections::BTreeMap;

/// A surface form of a value: its tokens, and the number of the function that stands for it (None: no value).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurfaceForm {
    pub tokens: Box<[i32]>,
    pub value: Option<i32>,
}

/// The surface forms of a parameter, by first token.
#[derive(Clone, Debug)]
pub struct Slot {
    /// By token: 0 for none, otherwise an index into `groups` plus one.
    heads: Vec<u16>,
    groups: Vec<Vec<SurfaceForm>>,
    /// Whether it may be empty.
    pub may_be_empty: bool,
}

/// A slot's kind, whether its values are called by their names only, and the text attached before and after it.
type Key = (String, bool, String, String);

/// Builds slots, each only once.
pub struct Slots<'a> {
    names: &'a Names,
    synonyms: BTreeMap<String, Vec<String>>,
    numbers: BTreeMap<Key, u16>,
    pub slots: Vec<Slot>,
}

impl Slot {
    /// The surface forms that begin with this token.
    #[inline]
    pub fn forms(&self, token: i32) -> &[SurfaceForm] {
        let head = usize::try_from(token).ok().and_then(|token| self.heads.get(token)).copied().unwrap_or(0);
        usize::from(head).checked_sub(1).and_then(|group| self.groups.get(group)).map_or(&[], Vec::as_slice)
    }

    /// Adds a surface form; one with a word that is not in the vocabulary is left out.
    fn add(&mut self, tokens: Option<Vec<i32>>, value: Option<i32>) {
        let Some(tokens) = tokens.filter(|tokens| !tokens.is_empty()) else { return };
        let form = SurfaceForm { tokens: tokens.into(), value };
        let head = &mut self.heads[form.tokens[0] as usize];
        if *head == 0 {
            self.groups.push(Vec::new());
            *head = self.groups.len() as u16;
        }
        let group = &mut self.groups[usize::from(*head) - 1];
        if !group.contains(&form) {
            group.push(form);
        }
    }
}

impl<'a> Slots<'a> {
    /// `synonyms` is a JSON object from a value, relation, number or "thing" to words; a missing name is its own word.
    pub fn new(names: &'a Names, synonyms: &[u8]) -> Result<Self, FileError> {
        let synonyms = serde_json::from_slice(synonyms).map_err(|error| FileError {
            place: "synonyms".to_owned(),
            problem: format!("not an object from names to lists of words ({})", json_cause(&error)),
        })?;
        Ok(Self { names, synonyms, numbers: BTreeMap::new(), slots: Vec::new() })
    }

    /// The number of a slot, which is built if it is new.
    pub fn number(&mut self, kind: &str, by_name: bool, before: &str, after: &str) -> Result<u16, String> {
        let key = (kind.to_owned(), by_name, before.to_owned(), after.to_owned());
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        let number = u16::try_from(self.slots.len()).map_err(|_| "too many kinds of parameters".to_owned())?;
        let slot = self.slot(kind, by_name, before, after)?;
        self.slots.push(slot);
        self.numbers.insert(key, number);
        Ok(number)
    }

    fn slot(&self, kind: &str, by_name: bool, before: &str, after: &str) -> Result<Slot, String> {
        let values = self.names.values(kind);
        let values = values.ok_or_else(|| format!("this vocabulary has no parameter type \"{}\"", shown(kind)))?;
        let mut slot = Slot { heads: vec![0; self.names.n_words()], groups: Vec::new(), may_be_empty: false };
        let n_words: usize = values.iter().map(|(name, _)| self.words(name).len()).sum();
        if n_words + self.words("thing").len() > usize::from(u16::MAX) {
            return Err(format!("{n_words} words for values of one type; at most {} are read", u16::MAX));
        }
        let tokens = |word: &str| self.names.tokens(&format!("{before}{word}{after}"));
        for (name, number) in values {
            for word in if by_name { vec![name.clone()] } else { self.words(name) } {
                slot.add(tokens(&word), Some(*number));
            }
        }
        if kind == SHAPE {
            for word in self.words("thing") {
                slot.add(tokens(&word), None);
            }
        } else if kind != RELATION && kind != NUMBER {
            slot.may_be_empty = before.is_empty() && after.is_empty();
            slot.add(tokens(""), None);
        }
        Ok(slot)
    }

    fn words(&self, name: &str) -> Vec<String> {
        self.synonyms.get(name).cloned().unwrap_or_else(|| vec![name.to_owned()])
    }
}
