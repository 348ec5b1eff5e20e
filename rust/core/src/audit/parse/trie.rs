//! A trie of all variants of all questions, with words and parameter slots as edges.

use super::lexicon::Slot;
use super::template::{Other, Part};
use std::collections::BTreeMap;

/// An edge of the trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    Word(i32),
    /// "a" before a parameter, or "an" if its word begins with a vowel; an index into `ARTICLES`.
    Article(u8),
    Slot(u16),
}

/// Articles that depend on the next word: before a consonant and before a vowel.
pub const ARTICLES: [(&str, &str); 2] = [("a", "an"), ("A", "An")];

/// The end of a variant: its family, and the parameter of each gap in order.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub family: u16,
    pub gaps: Vec<u8>,
    pub other: Other,
    /// Whether some parameter occurs twice.
    pub repeats: bool,
}

#[derive(Clone, Debug, Default)]
struct Branches {
    edges: BTreeMap<Edge, usize>,
    leaves: Vec<u32>,
}

/// A trie under construction.
#[derive(Clone, Debug)]
pub struct TrieBuilder {
    nodes: Vec<Branches>,
    leaves: Vec<Leaf>,
}

/// A node: the ranges of its edges and leaves in the lists of all.
#[derive(Clone, Copy, Debug)]
struct Node {
    words: (u32, u32),
    articles: (u32, u32),
    slots: (u32, u32),
    leaves: (u32, u32),
}

/// The finished trie, packed into flat lists.
#[derive(Clone, Debug)]
pub struct Trie {
    nodes: Vec<Node>,
    words: Vec<(i32, u32)>,
    articles: Vec<(u8, u32)>,
    slots: Vec<(u16, u32)>,
    ends: Vec<u32>,
    leaves: Vec<Leaf>,
}

/// The match of a slot with a text: the number of a value's function, and the range of its tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotMatch {
    pub value: Option<i32>,
    pub begin: u16,
    pub end: u16,
}

impl TrieBuilder {
    pub fn new() -> Self {
        Self { nodes: vec![Branches::default()], leaves: Vec::new() }
    }

    /// Adds a variant.
    pub fn add(&mut self, edges: &[Edge], leaf: Leaf) {
        let mut at = 0;
        for &edge in edges {
            let next = self.nodes.len();
            at = *self.nodes[at].edges.entry(edge).or_insert(next);
            if at == next {
                self.nodes.push(Branches::default());
            }
        }
        self.nodes[at].leaves.push(self.leaves.len() as u32);
        self.leaves.push(leaf);
    }

    pub fn packed(self) -> Trie {
        let mut trie = Trie {
            nodes: Vec::with_capacity(self.nodes.len()),
            words: Vec::new(),
            articles: Vec::new(),
            slots: Vec::new(),
            ends: Vec::new(),
            leaves: self.leaves,
        };
        for node in &self.nodes {
            let begin = (trie.words.len(), trie.articles.len(), trie.slots.len(), trie.ends.len());
            for (&edge, &next) in &node.edges {
                let next = next as u32;
                match edge {
                    Edge::Word(token) => trie.words.push((token, next)),
                    Edge::Article(number) => trie.articles.push((number, next)),
                    Edge::Slot(slot) => trie.slots.push((slot, next)),
                }
            }
            trie.ends.extend(&node.leaves);
            let range = |begin: usize, end: usize| (begin as u32, end as u32);
            trie.nodes.push(Node {
                words: range(begin.0, trie.words.len()),
                articles: range(begin.1, trie.articles.len()),
                slots: range(begin.2, trie.slots.len()),
                leaves: range(begin.3, trie.ends.len()),
            });
        }
        trie
    }
}

/// The index in `ARTICLES` of a part that is an article before a parameter.
pub fn article(part: &Part, next: Option<&Part>) -> Option<u8> {
    match (part, next) {
        (Part::Word(word), Some(Part::Param { .. })) => {
            ARTICLES.iter().position(|(article, _)| article == word).map(|number| number as u8)
        }
        _ => None,
    }
}

/// The properties of the vocabulary that a walk needs.
pub struct Tokens<'a> {
    pub slots: &'a [Slot],
    /// Numbers of the articles before a consonant and before a vowel.
    pub articles: [[Option<i32>; 2]; ARTICLES.len()],
    /// By token, whether it begins with a vowel.
    pub vowels: &'a [bool],
}

/// The walk of one text through the trie.
pub struct Walk<'a, F> {
    pub trie: &'a Trie,
    pub tokens: &'a Tokens<'a>,
    pub text: &'a [i32],
    pub matches: Vec<SlotMatch>,
    /// Called for each leaf that the whole text reaches, with the matches of its slots.
    pub at_end: F,
}

impl<F: FnMut(&Leaf, &[SlotMatch])> Walk<'_, F> {
    /// Follows the text from a node, at its token `at`.
    pub fn from(&mut self, node: u32, at: usize) {
        let trie = self.trie;
        let here = trie.nodes[node as usize];
        let Some(&token) = self.text.get(at) else {
            for &end in slice(&trie.ends, here.leaves) {
                (self.at_end)(&trie.leaves[end as usize], &self.matches);
            }
            // Slots at the end may be empty.
            self.skip_empty(here.slots, at);
            return;
        };
        let words = slice(&trie.words, here.words);
        // Few nodes have more than a handful of words.
        let found = if words.len() < 8 {
            words.iter().find(|(word, _)| *word == token)
        } else {
            words.binary_search_by_key(&token, |(word, _)| *word).ok().map(|i| &words[i])
        };
        if let Some(&(_, next)) = found {
            self.from(next, at + 1);
        }
        for &(number, next) in slice(&trie.articles, here.articles) {
            let before_vowel = self.text.get(at + 1).is_some_and(|&token| self.is_vowel(token));
            let [a, an] = self.tokens.articles[usize::from(number)];
            // The original generator sometimes writes "a object", but nothing writes "an cube".
            if a == Some(token) || (before_vowel && an == Some(token)) {
                self.from(next, at + 1);
            }
        }
        for &(slot, next) in slice(&trie.slots, here.slots) {
            let slots = self.tokens.slots;
            for form in slots[usize::from(slot)].forms(token) {
                if self.text[at..].starts_with(&form.tokens) {
                    let end = at + form.tokens.len();
                    self.matches.push(SlotMatch { value: form.value, begin: at as u16, end: end as u16 });
                    self.from(next, end);
                    self.matches.pop();
                }
            }
        }
        self.skip_empty(here.slots, at);
    }

    /// Continues behind slots that may be empty.
    fn skip_empty(&mut self, range: (u32, u32), at: usize) {
        let trie = self.trie;
        for &(slot, next) in slice(&trie.slots, range) {
            if self.tokens.slots[usize::from(slot)].may_be_empty {
                self.matches.push(SlotMatch { value: None, begin: at as u16, end: at as u16 });
                self.from(next, at);
                self.matches.pop();
            }
        }
    }

    fn is_vowel(&self, token: i32) -> bool {
        usize::try_from(token).ok().and_then(|token| self.tokens.vowels.get(token)).copied().unwrap_or(false)
    }
}

fn slice<T>(list: &[T], (begin, end): (u32, u32)) -> &[T] {
    &list[begin as usize..end as usize]
}
