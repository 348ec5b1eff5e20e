//! The numbers of words, functions and answers in a `vocab.json`.

use crate::article::takes_an;
use std::collections::{BTreeMap, HashMap};

/// The type that has a word for "no value", "thing".
pub const SHAPE: &str = "shape";
pub const RELATION: &str = "relation";
pub const NUMBER: &str = "number";

/// Numbers by name; the maps are only looked up, so their order does not matter.
#[derive(Clone, Debug)]
pub struct Names {
    words: HashMap<String, i32>,
    can_follow_an: Vec<bool>,
    functions: HashMap<String, i32>,
    answers: HashMap<String, i32>,
    /// By kind, each value with the number of the function that stands for it.
    values: BTreeMap<String, Vec<(String, i32)>>,
}

impl Names {
    /// From lists of names by number; functions with a value are written `filter_color[red]` or `relate[left]`.
    pub fn new(words: &[String], functions: &[String], answers: &[String]) -> Self {
        let numbers = |names: &[String]| (0..).zip(names).map(|(i, name)| (name.clone(), i)).collect();
        let mut values: BTreeMap<String, Vec<(String, i32)>> = BTreeMap::new();
        for (number, name) in (0..).zip(functions) {
            let Some((function, value)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) else {
                continue;
            };
            let kind = match function {
                "relate" => RELATION,
                "count_is" => NUMBER,
                // Other functions take the same values as these.
                _ => match function.strip_prefix("filter_") {
                    Some(kind) => kind,
                    None => continue,
                },
            };
            values.entry(kind.to_owned()).or_default().push((value.to_owned(), number));
        }
        // The sound decides, but there are texts in which the letter did: "an unicorn".
        let can_follow_an =
            |word: &String| takes_an(word) || word.to_lowercase().starts_with(['a', 'e', 'i', 'o', 'u']);
        Self {
            words: numbers(words),
            can_follow_an: words.iter().map(can_follow_an).collect(),
            functions: numbers(functions),
            answers: numbers(answers),
            values,
        }
    }

    pub fn n_words(&self) -> usize {
        self.can_follow_an.len()
    }

    /// By word, whether it is read after "an".
    pub fn can_follow_an(&self) -> &[bool] {
        &self.can_follow_an
    }

    pub fn token(&self, word: &str) -> Option<i32> {
        self.words.get(word).copied()
    }

    /// The tokens of some words; None if one is not in the vocabulary.
    pub fn tokens(&self, words: &str) -> Option<Vec<i32>> {
        words.split_whitespace().map(|word| self.token(word)).collect()
    }

    /// A function's number; -1, which no program has, for one that is not in the vocabulary.
    pub fn function(&self, name: &str) -> i32 {
        self.functions.get(name).copied().unwrap_or(-1)
    }

    pub fn answer(&self, name: &str) -> Option<i32> {
        self.answers.get(name).copied()
    }

    /// The values of a type of parameter, each with the number of the function that stands for it: `filter_color[red]`,
    /// `relate[left]` or `count_is[3]`.
    pub fn values(&self, kind: &str) -> Option<&[(String, i32)]> {
        self.values.get(kind).map(Vec::as_slice)
    }

    /// The numbers of the answers that a function can give.
    pub fn answers_of(&self, function: &str) -> Vec<i32> {
        let named = |names: &[&str]| names.iter().filter_map(|name| self.answer(name)).collect();
        if let Some(values) = function.strip_prefix("query_").and_then(|kind| self.values.get(kind)) {
            return named(&values.iter().map(|(value, _)| value.as_str()).collect::<Vec<_>>());
        }
        if matches!(function, "count" | "subtraction") {
            let mut numbers: Vec<i32> = Vec::new();
            while let Some(number) = self.answer(&numbers.len().to_string()) {
                numbers.push(number);
            }
            return numbers;
        }
        named(&["no", "yes"])
    }
}
