//! A trie of all variants of all questions, with words and parameter slots as edges.

use super::lexicon::Slot;
use super::template::{Other, Part};
use std::collections::BTreeMap;

/// An edge of the trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    Word(i32),
    /// "a" before a parameter, or "an" if its word begins with the sound of a vowel; an index into `ARTICLES`.
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

/// A node: the ranges of its edges and leaves in the flat lists.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Edges that are words, sorted.
    words: (u32, u32),
    /// The other edges.
    others: (u32, u32),
    leaves: (u32, u32),
}

/// The finished trie, packed into flat lists.
#[derive(Clone, Debug)]
pub struct Trie {
    nodes: Vec<Node>,
    edges: Vec<(Edge, u32)>,
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
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let (mut edges, mut ends) = (Vec::new(), Vec::new());
        for node in &self.nodes {
            let (first_edge, first_end) = (edges.len() as u32, ends.len() as u32);
            // Words come first in the order of edges.
            edges.extend(node.edges.iter().map(|(&edge, &next)| (edge, next as u32)));
            ends.extend(&node.leaves);
            let n_words = node.edges.keys().filter(|edge| matches!(edge, Edge::Word(_))).count() as u32;
            nodes.push(Node {
                words: (first_edge, first_edge + n_words),
                others: (first_edge + n_words, edges.len() as u32),
                leaves: (first_end, ends.len() as u32),
            });
        }
        Trie { nodes, edges, ends, leaves: self.leaves }
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
#[derive(Clone, Debug)]
pub struct Tokens {
    pub slots: Vec<Slot>,
    /// Numbers of the articles before a consonant and before a vowel.
    pub articles: [[Option<i32>; 2]; ARTICLES.len()],
    /// By token, whether it is read after "an".
    pub can_follow_an: Vec<bool>,
}

/// Maximum number of nodes that the walk of one text visits; CLEVR's texts need at most some hundred.
pub const MOST_VISITS: u32 = 1 << 16;

/// The walk of one text through the trie.
pub struct Walk<'a, F> {
    pub trie: &'a Trie,
    pub tokens: &'a Tokens,
    pub text: &'a [i32],
    pub matches: Vec<SlotMatch>,
    /// Number of nodes that may still be visited; 0 once the walk was cut short.
    pub visits_left: u32,
    /// Called for each leaf that the whole text reaches, with the matches of its slots.
    pub at_end: F,
}

impl<F: FnMut(&Leaf, &[SlotMatch])> Walk<'_, F> {
    /// Follows the text from a node, at its token `at`.
    pub fn from(&mut self, node: u32, at: usize) {
        self.visits_left = self.visits_left.saturating_sub(1);
        if self.visits_left == 0 {
            return;
        }
        let trie = self.trie;
        let here = trie.nodes[node as usize];
        let Some(&token) = self.text.get(at) else {
            for &end in slice(&trie.ends, here.leaves) {
                (self.at_end)(&trie.leaves[end as usize], &self.matches);
            }
            // Slots at the end may be empty.
            self.skip_empty(here.others, at);
            return;
        };
        let words = slice(&trie.edges, here.words);
        // Few nodes have more than a handful of words.
        let found = if words.len() < 8 {
            words.iter().find(|(edge, _)| *edge == Edge::Word(token))
        } else {
            words.binary_search_by_key(&Edge::Word(token), |(edge, _)| *edge).ok().map(|i| &words[i])
        };
        if let Some(&(_, next)) = found {
            self.from(next, at + 1);
        }
        for &(edge, next) in slice(&trie.edges, here.others) {
            match edge {
                Edge::Article(number) => {
                    let takes_an = self.text.get(at + 1).is_some_and(|&token| self.can_follow_an(token));
                    let [a, an] = self.tokens.articles[usize::from(number)];
                    // The original generator sometimes writes "a object", but nothing writes "an cube".
                    if a == Some(token) || (takes_an && an == Some(token)) {
                        self.from(next, at + 1);
                    }
                }
                Edge::Slot(slot) => {
                    let slots = &self.tokens.slots;
                    for form in slots[usize::from(slot)].forms(token) {
                        if self.text[at..].starts_with(&form.tokens) {
                            let end = at + form.tokens.len();
                            self.matches.push(SlotMatch { value: form.value, begin: at as u16, end: end as u16 });
                            self.from(next, end);
                            self.matches.pop();
                        }
                    }
                }
                Edge::Word(_) => {}
            }
        }
        self.skip_empty(here.others, at);
    }

    /// Continues behind slots that may be empty.
    fn skip_empty(&mut self, edges: (u32, u32), at: usize) {
        let trie = self.trie;
        for &(edge, next) in slice(&trie.edges, edges) {
            if let Edge::Slot(slot) = edge
                && self.tokens.slots[usize::from(slot)].may_be_empty
            {
                self.matches.push(SlotMatch { value: None, begin: at as u16, end: at as u16 });
                self.from(next, at);
                self.matches.pop();
            }
        }
    }

    fn can_follow_an(&self, token: i32) -> bool {
        usize::try_from(token).ok().and_then(|token| self.tokens.can_follow_an.get(token)).copied().unwrap_or(false)
    }
}

fn slice<T>(list: &[T], (begin, end): (u32, u32)) -> &[T] {
    &list[begin as usize..end as usize]
}
