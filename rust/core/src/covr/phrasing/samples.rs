//! Random questions, for tests.

use crate::covr::{
    Ask, Bound, Comparison, Condition, Connective, Counted, Meaning, Object, Quantifier, Relation, Structure, Subgraph,
    Template,
};
use crate::rng::{StreamKey, StreamRng};
use crate::vocab::{N_TYPES, Vocabulary};

const SHAPE: usize = 3;

/// Draws questions about a world.
pub struct Sampler<'a> {
    pub vocab: &'a Vocabulary,
    rng: StreamRng,
}

impl<'a> Sampler<'a> {
    pub fn new(vocab: &'a Vocabulary, seed: u64) -> Self {
        Self { vocab, rng: StreamKey::new(&[b"test questions over sets"]).at(seed) }
    }

    /// Draws a question of any template and structure; numbers are 0 to 5.
    pub fn meaning(&mut self) -> Meaning {
        let template = self.any(&Template::ALL);
        let structure = self.any(&Structure::ALL);
        self.meaning_of(template, structure)
    }

    /// Draws a question of a template about subgraphs of a structure.
    pub fn meaning_of(&mut self, template: Template, structure: Structure) -> Meaning {
        let g = self.subgraph(structure);
        let (kind, value) = self.value(N_TYPES);
        match template {
            Template::VerifyAttr => Ask::VerifyAttr { kind, value }.of(g),
            Template::ChooseAttr => Ask::ChooseAttr { kind, values: [value, self.value_of(kind)] }.of(g),
            Template::QueryAttr => Ask::QueryAttr { kind }.of(g),
            Template::CompareCount => {
                let comparison = self.any(&[Comparison::More, Comparison::Fewer, Comparison::AsMany]);
                Ask::CompareCount { g2: self.subgraph(structure), counted: self.counted(), comparison }.of(g)
            }
            Template::Count => Ask::Count { counted: self.counted() }.of(g),
            Template::VerifyCount => {
                let (bound, number) = self.number();
                Ask::VerifyCount { counted: self.counted(), bound, number }.of(g)
            }
            Template::CountGroupBy => Ask::CountGroupBy { of_image: self.number() }.of(g),
            Template::VerifyCountGroupBy => {
                let (bound, number) = self.number();
                Ask::VerifyCountGroupBy { of_image: self.number(), bound, number }.of(g)
            }
            Template::VerifyLogic => {
                let connective = self.any(&[Connective::And, Connective::Or]);
                Ask::VerifyLogic { g2: self.subgraph(structure), connective }.of(g)
            }
            Template::VerifyQuantifier => {
                let quantifier = self.any(&[Quantifier::All, Quantifier::Some, Quantifier::None]);
                Ask::VerifyQuantifier { quantifier, condition: self.condition() }.of(g)
            }
            Template::VerifyQuantifierAttr => Ask::VerifyQuantifierAttr { kind }.of(g),
            Template::VerifySameAttr => Ask::VerifySameAttr { g2: self.subgraph(structure), kind }.of(g),
            Template::QueryObject => Ask::QueryObject { relation: self.relation() }.of(g),
            Template::ChooseObject => {
                let shapes = [self.value_of(SHAPE as u8), self.value_of(SHAPE as u8)];
                Ask::ChooseObject { relation: self.relation(), shapes }.of(g)
            }
            Template::ChooseRelation => {
                Ask::ChooseRelation { object: self.object(), relation: self.rng.below(4) as u8 }.of(g)
            }
        }
    }

    fn any<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.rng.below(items.len() as u32) as usize]
    }

    fn value_of(&mut self, kind: u8) -> u8 {
        self.rng.below(self.vocab.n_values(kind.into()) as u32) as u8
    }

    fn value(&mut self, n_types: usize) -> (u8, u8) {
        let kind = self.rng.below(n_types as u32) as u8;
        (kind, self.value_of(kind))
    }

    fn object(&mut self) -> Object {
        let shape = (self.rng.below(6) > 0).then(|| self.value_of(SHAPE as u8));
        let attribute = self.rng.coin().then(|| self.value(SHAPE));
        Object { shape, attribute }
    }

    fn relation(&mut self) -> Relation {
        let number = self.rng.below(4) as u8;
        if self.rng.coin() { Relation::Spatial(number) } else { Relation::Same(number) }
    }

    fn subgraph(&mut self, structure: Structure) -> Subgraph {
        let mut g = Subgraph::single(self.object());
        g.structure = structure;
        for place in 0..structure.n_relations() {
            g.relations[place] = self.relation();
            g.objects[place + 1] = self.object();
        }
        g
    }

    fn condition(&mut self) -> Condition {
        if self.rng.coin() {
            let (kind, value) = self.value(N_TYPES);
            return Condition::Value(kind, value);
        }
        let further = self.rng.coin().then(|| (self.relation(), self.object()));
        Condition::Related(self.relation(), self.object(), further)
    }

    fn counted(&mut self) -> Counted {
        self.any(&[Counted::Objects, Counted::Images])
    }

    fn number(&mut self) -> (Bound, u8) {
        (self.any(&Bound::ALL), self.rng.below(6) as u8)
    }
}
