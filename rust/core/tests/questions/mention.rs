//! Determines whether a question mentions a pair of values, from its program and from its words.
//!
//! The code follows the definition: a step that returns a set has alternatives, each a set of values asked for.

use clevrhope_core::Vocabulary;
use clevrhope_core::program::{Function, Program};
use serde_json::Value;
use std::collections::BTreeSet;

/// The values asked for, each as (type, value).
type Alternative = BTreeSet<(u8, u8)>;

/// Whether an alternative of some step contains all of `pair`.
pub fn program_mentions(program: &Program, pair: &Alternative) -> bool {
    let mut descriptions: Vec<Vec<Alternative>> = Vec::new();
    for step in &program.steps {
        let input = |i: usize| descriptions[usize::from(step.inputs[i])].clone();
        let description: Vec<Alternative> = match step.function {
            Function::Filter(kind) => {
                input(0).into_iter().map(|a| a.into_iter().chain([(kind, step.argument)]).collect()).collect()
            }
            Function::Union => [input(0), input(1)].concat(),
            Function::Intersect => {
                let joined = |a: &Alternative| input(1).into_iter().map(|b| &b | a).collect::<Vec<_>>();
                input(0).iter().flat_map(joined).collect()
            }
            _ => vec![Alternative::new()],
        };
        descriptions.push(description);
    }
    descriptions.iter().flatten().any(|alternative| alternative.is_superset(pair))
}

/// The words for values and things, and the words for the pair.
pub struct Words {
    all: BTreeSet<String>,
    pair: [BTreeSet<String>; 2],
}

impl Words {
    pub fn new(vocab: &Vocabulary, synonyms: &Value, pair: [&str; 2]) -> Self {
        let of = |name: &str| -> BTreeSet<String> {
            let words = synonyms[name].as_array().map_or_else(
                || vec![name.to_owned()],
                |list| list.iter().map(|word| word.as_str().unwrap().to_owned()).collect(),
            );
            words.into_iter().flat_map(|word| [format!("{word}s"), word]).collect()
        };
        let values = vocab.types().iter().flat_map(|kind| kind.values.iter().map(String::as_str));
        Self { all: values.chain(["thing"]).flat_map(of).collect(), pair: pair.map(of) }
    }

    /// Whether one noun phrase (a run of words for values) names both.
    pub fn in_one_phrase(&self, text: &str) -> bool {
        let apart = text.replace([';', ',', '?', '.'], " | ");
        let words: Vec<&str> = apart.split_whitespace().collect();
        words.split(|word| !self.all.contains(*word)).any(|phrase| self.name_both(phrase))
    }

    /// Whether the text names both, in any phrases.
    pub fn anywhere(&self, text: &str) -> bool {
        let words: Vec<&str> = text.split([' ', ';', ',', '?', '.']).collect();
        self.name_both(&words)
    }

    fn name_both(&self, words: &[&str]) -> bool {
        self.pair.iter().all(|names| words.iter().any(|word| names.contains(*word)))
    }
}
