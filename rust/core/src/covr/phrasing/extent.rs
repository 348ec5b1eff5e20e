//! The extent of texts: all their tokens, and the maximum number of tokens in a text.

use super::Phrasings;
use super::noun::{SHAPE, THING, plural, push_relation};
use super::sentence::{Piece, Sentence};
use super::slot::Content;
use crate::covr::{Bound, Object, Relation, Structure, Subgraph, Template};
use crate::question::tokens::tokenize;
use crate::vocab::{CONVERSE, N_TYPES, TYPE_NAMES, Vocabulary};

/// The words of noun phrases and numbers, except names.
const OWN_WORDS: &str = "a an another other it that is are has have both and or between exactly at least most";

impl Phrasings {
    /// All tokens of texts about a world, sorted.
    pub fn words(&self, vocab: &Vocabulary) -> Vec<String> {
        let mut texts = vec![OWN_WORDS.to_owned()];
        texts.extend(THING.iter().chain(&TYPE_NAMES).map(|&name| name.to_owned()));
        texts.extend(vocab.types().iter().flat_map(|kind| kind.values.iter().cloned()));
        texts.extend(vocab.types()[usize::from(SHAPE)].values.iter().map(|shape| plural(shape)));
        texts.extend(vocab.numerals().iter().cloned());
        texts.extend(relations().map(|relation| {
            let mut text = String::new();
            push_relation(relation, &mut text);
            text
        }));
        texts.extend(self.all_sentences().flat_map(|(_, sentence)| sentence.words()));
        let mut words: Vec<String> = texts.iter().flat_map(|text| tokenize(text)).map(str::to_owned).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    /// Maximum number of tokens of a text, `<START>` and `<END>` included.
    pub fn width(&self) -> usize {
        let lengths = self.all_sentences().flat_map(|(template, sentence)| {
            longest(template).into_iter().map(|content| {
                let mut text = String::new();
                sentence.write(&content, &self.nouns, &mut text);
                tokenize(&text).len()
            })
        });
        2 + lengths.max().unwrap_or(0)
    }

    fn all_sentences(&self) -> impl Iterator<Item = (Template, &Sentence)> {
        Template::ALL
            .into_iter()
            .zip(&self.sentences)
            .flat_map(|(template, variants)| variants.iter().flatten().map(move |sentence| (template, sentence)))
    }
}

impl Sentence {
    /// The words outside of slots.
    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) if text == "A " => words.push("A An".to_owned()),
                Piece::Text(text) => words.push(text.clone()),
                Piece::Slot { .. } => {}
                Piece::Agreement(both) => words.extend(both.iter().cloned()),
            }
        }
        words
    }
}

/// All relations.
fn relations() -> impl Iterator<Item = Relation> {
    (0..CONVERSE.len() as u8).map(Relation::Spatial).chain((0..N_TYPES as u8).map(Relation::Same))
}

/// Contents for the slots of a template; in each sentence, one of them gives the most tokens. Every name is one token.
fn longest(template: Template) -> Vec<Content> {
    let object = Object { shape: Some(0), attribute: Some((0, 0)) };
    let same = Relation::Same(0);
    let g = Subgraph { structure: Structure::V, objects: [object; 3], relations: [same; 2] };
    let content = |relation, g2| Content {
        g,
        g2,
        kind: 0,
        values: [(SHAPE, 0); 2],
        number: (Bound::AtLeast, 2),
        of_image: (Bound::AtMost, 3),
        relation,
        object,
        further: Some((same, object)),
    };
    match template {
        Template::ChooseRelation => {
            let spatial = relations().filter(|relation| matches!(relation, Relation::Spatial(_)));
            spatial.map(|relation| content(relation, Subgraph::single(object))).collect()
        }
        _ => vec![content(same, g)],
    }
}
