//! Builds the program of a question from its meaning.

use super::meaning::{Ask, Bound, Comparison, Condition, Connective, Counted, Meaning, Quantifier};
use super::subgraph::{Object, Relation, Structure, Subgraph};
use crate::program::{Function, Origin, Program, Step};
use crate::scene::world::SHAPE;
use Function as F;

/// Maximum number of steps, in questions that count and compare the images of two subgraphs of three objects.
const MOST_STEPS: usize = 27;
/// Maximum number of tokens of a program, `<START>` and `<END>` included.
pub const PROGRAM_WIDTH: usize = MOST_STEPS + 2;

/// The functions that programs of questions over several images use.
pub fn functions() -> impl Iterator<Item = Function> {
    Function::all().iter().copied().filter(|function| match function.origin() {
        Origin::ClevrQuestions | Origin::Covr => true,
        Origin::Suites => matches!(function, F::And | F::Or | F::Verify(_) | F::CountIs),
        Origin::ClevrEngine | Origin::OwnTemplates | Origin::Tests => false,
    })
}

impl Meaning {
    /// The program, in COVR's functions.
    pub fn program(&self) -> Program {
        let mut steps = Builder(Vec::with_capacity(MOST_STEPS));
        steps.question(self);
        Program { steps: steps.0 }
    }

    /// The question with the last leaf of its description cut off; None if there is no leaf, or if the rest would not
    /// be a question.
    pub(super) fn cut(&self) -> Option<Self> {
        let mut cut = *self;
        match &mut cut.ask {
            Ask::VerifyQuantifier { condition: Condition::Related(_, _, further @ Some(_)), .. } => {
                *further = None;
                return Some(cut);
            }
            Ask::VerifyQuantifier { condition: Condition::Related(_, _, None), .. } => return None,
            Ask::CompareCount { g2, .. } | Ask::VerifyLogic { g2, .. } | Ask::VerifySameAttr { g2, .. } => {
                *g2 = g2.cut()?;
            }
            _ => {}
        }
        cut.g = cut.g.cut()?;
        Some(cut)
    }

    /// The questions for the numbers on which the answer depends; none for questions without numbers.
    pub(super) fn counts(&self) -> [Option<Self>; 2] {
        let g = self.g;
        match self.ask {
            Ask::CompareCount { g2, counted, .. } => [g, g2].map(|g| Some(Ask::Count { counted }.of(g))),
            Ask::Count { counted } | Ask::VerifyCount { counted, .. } => [Some(Ask::Count { counted }.of(g)), None],
            Ask::CountGroupBy { of_image } | Ask::VerifyCountGroupBy { of_image, .. } => {
                [Some(Ask::CountGroupBy { of_image }.of(g)), None]
            }
            _ => [None; 2],
        }
    }
}

/// Appends steps; each method returns the number of the last step.
struct Builder(Vec<Step>);

impl Builder {
    fn push(&mut self, function: Function, argument: u8, inputs: &[u8]) -> u8 {
        let mut padded = [0; 2];
        padded[..inputs.len()].copy_from_slice(inputs);
        self.0.push(Step { function, argument, inputs: padded });
        (self.0.len() - 1) as u8
    }

    fn question(&mut self, meaning: &Meaning) -> u8 {
        let g = meaning.g;
        match meaning.ask {
            Ask::VerifyAttr { kind, value } => {
                let object = self.unique(&g);
                self.push(F::Verify(kind), value, &[object])
            }
            Ask::ChooseAttr { kind, values } => {
                let object = self.unique(&g);
                self.choose(kind, values, object)
            }
            Ask::QueryAttr { kind } => self.query(&g, kind),
            Ask::CompareCount { g2, counted, comparison } => {
                let numbers = [self.count(&g, counted), self.count(&g2, counted)];
                let function = match comparison {
                    Comparison::More => F::GreaterThan,
                    Comparison::Fewer => F::LessThan,
                    Comparison::AsMany => F::EqualInteger,
                };
                self.push(function, 0, &numbers)
            }
            Ask::Count { counted } => self.count(&g, counted),
            Ask::VerifyCount { counted, bound, number } => {
                let count = self.count(&g, counted);
                self.bounded(bound, number, count)
            }
            Ask::CountGroupBy { of_image } => self.count_groups(&g, of_image),
            Ask::VerifyCountGroupBy { of_image, bound, number } => {
                let count = self.count_groups(&g, of_image);
                self.bounded(bound, number, count)
            }
            Ask::VerifyLogic { g2, connective } => {
                let truths = [&g, &g2].map(|g| {
                    let set = self.subgraph(g);
                    self.push(F::Exist, 0, &[set])
                });
                let function = match connective {
                    Connective::And => F::And,
                    Connective::Or => F::Or,
                };
                self.push(function, 0, &truths)
            }
            Ask::VerifyQuantifier { quantifier, condition } => {
                let sets = [self.subgraph(&g), self.condition(condition)];
                let function = match quantifier {
                    Quantifier::All => F::All,
                    Quantifier::Some => F::Some,
                    Quantifier::None => F::None,
                };
                self.push(function, 0, &sets)
            }
            Ask::VerifyQuantifierAttr { kind } => {
                let set = self.subgraph(&g);
                self.push(F::AllSame(kind), 0, &[set])
            }
            Ask::VerifySameAttr { g2, kind } => {
                let values = [self.query(&g, kind), self.query(&g2, kind)];
                self.push(F::Equal(kind), 0, &values)
            }
            Ask::QueryObject { relation } => {
                let object = self.reached(&g, relation);
                self.push(F::Query(SHAPE as u8), 0, &[object])
            }
            Ask::ChooseObject { relation, shapes } => {
                let object = self.reached(&g, relation);
                self.choose(SHAPE as u8, shapes, object)
            }
            Ask::ChooseRelation { object, relation } => {
                let (object_of, set) = (self.unique(&g), self.object(object));
                self.push(F::ChooseRelation, relation, &[object_of, set])
            }
        }
    }

    /// The objects that match a description.
    fn object(&mut self, object: Object) -> u8 {
        let mut set = self.push(F::Scene, 0, &[]);
        if let Some(shape) = object.shape {
            set = self.push(F::Filter(SHAPE as u8), shape, &[set]);
        }
        if let Some((kind, value)) = object.attribute {
            set = self.push(F::Filter(kind), value, &[set]);
        }
        set
    }

    fn related(&mut self, set: u8, relation: Relation, others: u8) -> u8 {
        match relation {
            Relation::Spatial(relation) => self.push(F::WithRelation, relation, &[set, others]),
            Relation::Same(kind) => self.push(F::WithSame(kind), 0, &[set, others]),
        }
    }

    /// The objects that a subgraph describes.
    fn subgraph(&mut self, g: &Subgraph) -> u8 {
        let [root, second, third] = g.objects;
        let [first, last] = g.relations;
        match g.structure {
            Structure::Single => self.object(root),
            Structure::Edge => {
                let (others, set) = (self.object(second), self.object(root));
                self.related(set, first, others)
            }
            Structure::Chain => {
                let (ends, others) = (self.object(third), self.object(second));
                let others = self.related(others, last, ends);
                let set = self.object(root);
                self.related(set, first, others)
            }
            Structure::V => {
                let (others, set) = (self.object(second), self.object(root));
                let set = self.related(set, first, others);
                let ends = self.object(third);
                self.related(set, last, ends)
            }
        }
    }

    fn condition(&mut self, condition: Condition) -> u8 {
        match condition {
            Condition::Value(kind, value) => {
                let everything = self.push(F::Scene, 0, &[]);
                self.push(F::Filter(kind), value, &[everything])
            }
            Condition::Related(relation, object, further) => {
                let mut others = self.object(object);
                if let Some((relation, object)) = further {
                    let ends = self.object(object);
                    others = self.related(others, relation, ends);
                }
                let everything = self.push(F::Scene, 0, &[]);
                self.related(everything, relation, others)
            }
        }
    }

    fn unique(&mut self, g: &Subgraph) -> u8 {
        let set = self.subgraph(g);
        self.push(F::Unique, 0, &[set])
    }

    fn query(&mut self, g: &Subgraph, kind: u8) -> u8 {
        let object = self.unique(g);
        self.push(F::Query(kind), 0, &[object])
    }

    fn choose(&mut self, kind: u8, [first, second]: [u8; 2], object: u8) -> u8 {
        let option = self.push(F::Option(kind), second, &[]);
        self.push(F::Choose(kind), first, &[object, option])
    }

    /// The only object to which the only object of a subgraph has a relation.
    fn reached(&mut self, g: &Subgraph, relation: Relation) -> u8 {
        let set = self.subgraph(g);
        let (object, everything) = (self.push(F::AssertUnique, 0, &[set]), self.push(F::Scene, 0, &[]));
        let set = match relation {
            Relation::Spatial(relation) => self.push(F::WithRelationObject, relation, &[everything, object]),
            Relation::Same(kind) => self.push(F::WithSame(kind), 0, &[everything, object]),
        };
        self.push(F::Unique, 0, &[set])
    }

    fn count(&mut self, g: &Subgraph, counted: Counted) -> u8 {
        let set = self.subgraph(g);
        match counted {
            Counted::Objects => self.push(F::Count, 0, &[set]),
            Counted::Images => {
                let images = self.push(F::UniqueImages, 0, &[set]);
                self.push(F::CountImages, 0, &[images])
            }
        }
    }

    fn count_groups(&mut self, g: &Subgraph, (bound, number): (Bound, u8)) -> u8 {
        let set = self.subgraph(g);
        let groups = self.push(F::GroupByImages, 0, &[set]);
        let function = match bound {
            Bound::Exactly => F::KeepIfValuesCountEq,
            Bound::AtLeast => F::KeepIfValuesCountGeq,
            Bound::AtMost => F::KeepIfValuesCountLeq,
        };
        let kept = self.push(function, number, &[groups]);
        let images = self.push(F::Keys, 0, &[kept]);
        self.push(F::CountImages, 0, &[images])
    }

    fn bounded(&mut self, bound: Bound, number: u8, count: u8) -> u8 {
        let function = match bound {
            Bound::Exactly => F::CountIs,
            Bound::AtLeast => F::CountAtLeast,
            Bound::AtMost => F::CountAtMost,
        };
        self.push(function, number, &[count])
    }
}
