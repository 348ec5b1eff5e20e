//! All ways to say all questions in, as one tree of words and gaps; the ways that a text follows out.

use super::lexicon::Slot;
use super::template::{Other, Part};
use std::collections::BTreeMap;

/// What comes next in a way to say a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    Word(i32),
    /// "a" before a parameter; "an" too where its word begins with a vowel. By number among `ARTICLES`.
    Article(u8),
    Slot(u16),
}

/// The articles that mind the word after them, and what they become before a vowel.
pub const ARTICLES: [(&str, &str); 2] = [("a", "an"), ("A", "An")];

/// The end of a way: the family, and the parameter of each of its gaps in order.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub family: u16,
    pub gaps: Vec<u8>,
    pub other: Other,
    /// Some parameter is said twice.
    pub repeats: bool,
}

#[derive(Clone, Debug, Default)]
struct Branches {
    edges: BTreeMap<Edge, usize>,
    leaves: Vec<u32>,
}

/// The tree while it grows.
#[derive(Clone, Debug)]
pub struct Growing {
    nodes: Vec<Branches>,
    leaves: Vec<Leaf>,
}

/// A place in the tree: where its edges and leaves are in the lists of all.
#[derive(Clone, Copy, Debug)]
struct Node {
    words: (u32, u32),
    articles: (u32, u32),
    slots: (u32, u32),
    leaves: (u32, u32),
}

/// The tree, packed.
#[derive(Clone, Debug)]
pub struct Trie {
    nodes: Vec<Node>,
    words: Vec<(i32, u32)>,
    articles: Vec<(u8, u32)>,
    slots: Vec<(u16, u32)>,
    ends: Vec<u32>,
    leaves: Vec<Leaf>,
}

/// What a gap of a text says: the number of a value's function, and its tokens' place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    pub value: Option<i32>,
    pub begin: u16,
    pub end: u16,
}

impl Growing {
    pub fn new() -> Self {
        Self { nodes: vec![Branches::default()], leaves: Vec::new() }
    }

    /// Adds a way.
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

/// Whether a part is an article that minds the word after it.
pub fn article(part: &Part, next: Option<&Part>) -> Option<u8> {
    match (part, next) {
        (Part::Word(word), Some(Part::Param { .. })) => {
            ARTICLES.iter().position(|(article, _)| article == word).map(|number| number as u8)
        }
        _ => None,
    }
}

/// What a walk needs to know of the vocabulary.
pub struct Tokens<'a> {
    pub slots: &'a [Slot],
    /// Numbers of the articles before a consonant and before a vowel.
    pub articles: [[Option<i32>; 2]; ARTICLES.len()],
    /// By token: whether it begins with a vowel.
    pub vowels: &'a [bool],
}

/// One text on its way through the tree.
pub struct Walk<'a, F> {
    pub trie: &'a Trie,
    pub tokens: &'a Tokens<'a>,
    pub text: &'a [i32],
    pub said: Vec<Said>,
    /// Told of each end that the whole text reaches, with what its gaps said.
    pub at_end: F,
}

impl<F: FnMut(&Leaf, &[Said])> Walk<'_, F> {
    /// Follows the text from a node on, its first `at` tokens behind it.
    pub fn from(&mut self, node: u32, at: usize) {
        let trie = self.trie;
        let here = trie.nodes[node as usize];
        let Some(&token) = self.text.get(at) else {
            for &end in slice(&trie.ends, here.leaves) {
                (self.at_end)(&trie.leaves[end as usize], &self.said);
            }
            // Gaps at the end may be silent.
            self.silent(here.slots, at);
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
            // The original generator writes "a object" now and then; nothing writes "an cube".
            if a == Some(token) || (before_vowel && an == Some(token)) {
                self.from(next, at + 1);
            }
        }
        for &(slot, next) in slice(&trie.slots, here.slots) {
            let slots = self.tokens.slots;
            for saying in slots[usize::from(slot)].sayings(token) {
                if self.text[at..].starts_with(&saying.tokens) {
                    let end = at + saying.tokens.len();
                    self.said.push(Said { value: saying.value, begin: at as u16, end: end as u16 });
                    self.from(next, end);
                    self.said.pop();
                }
            }
        }
        self.silent(here.slots, at);
    }

    fn silent(&mut self, range: (u32, u32), at: usize) {
        let trie = self.trie;
        for &(slot, next) in slice(&trie.slots, range) {
            if self.tokens.slots[usize::from(slot)].may_be_silent {
                self.said.push(Said { value: None, begin: at as u16, end: at as u16 });
                self.from(next, at);
                self.said.pop();
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
