//! The schedule of questions: a seeded sequence of cells, each a template, a structure and two answers.
//!
//! Every round of fifteen cells has each template once. The cells of a template come in rounds too, with each of its
//! variants once; over the rounds, each choice of values of a variant occurs once before any occurs again. So answers
//! are balanced within a template and structure, and no question has to be discarded for that.

use super::meaning::{Bound, Comparison, Connective, Counted, Quantifier};
use super::subgraph::Structure;
use super::template::Template;
use crate::holdout::Holdout;
use crate::rng::StreamKey;
use crate::scene::world::SHAPE;
use crate::vocab::{N_TYPES, TYPE_NAMES, Vocabulary};
use thiserror::Error;

/// The largest number that is an answer. If all five images of a set were counted, a cut could not change their number.
/// Counts of objects have the same range, so that what is counted does not predict the answer.
pub const MOST_COUNTED: u8 = 4;

/// The specification of a pair of questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub template: Template,
    pub structure: Structure,
    pub variant: Variant,
}

/// The arguments of a template other than subgraphs, and the two answers wanted if they are numbers or values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Variant {
    /// Two values of a type: the true and the false value, the two choices, or the two answers.
    Values {
        kind: u8,
        values: [u8; 2],
    },
    Kind(u8),
    Compare(Counted, Comparison),
    Count {
        counted: Counted,
        answers: [u8; 2],
    },
    /// `counts` are a count for which the answer is yes, and one for which it is no.
    VerifyCount {
        counted: Counted,
        bound: Bound,
        number: u8,
        counts: [u8; 2],
    },
    CountGroups {
        of_image: (Bound, u8),
        answers: [u8; 2],
    },
    VerifyCountGroups {
        of_image: (Bound, u8),
        bound: Bound,
        number: u8,
        counts: [u8; 2],
    },
    Logic(Connective),
    /// The condition is a value of the type `value_of`, or a relation if that is None.
    Quantifier {
        quantifier: Quantifier,
        value_of: Option<u8>,
    },
    /// The first relation of the axis.
    Axis(u8),
}

/// The world is too poor for questions of a template.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("no question of template {template} can be asked in this world: {problem}")]
pub struct PoorWorld {
    template: &'static str,
    problem: String,
}

/// The cells of all templates, in a seeded order.
#[derive(Debug)]
pub(super) struct Schedule {
    key: StreamKey,
    /// By template that has cells, its variants; for each variant, one cell per choice of values.
    cells: Vec<Vec<Vec<Cell>>>,
}

/// No question over several images can mention a conjunction.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "no question over several images can mention {0}: it names at most a shape, one other value and the value that it \
     asks for"
)]
pub struct Unmentionable(pub String);

impl Schedule {
    /// # Errors
    /// `PoorWorld` if a template has no cell, for lack of values or objects.
    pub fn new(key: StreamKey, vocab: &Vocabulary, most_objects: u32) -> Result<Self, PoorWorld> {
        let cells = Template::ALL.into_iter().map(|template| {
            let variants = variants(template, vocab, most_objects);
            if variants.is_empty() {
                return Err(PoorWorld { template: template.name(), problem: lacking(template, most_objects) });
            }
            Ok(variants)
        });
        Ok(Self { key, cells: cells.collect::<Result<_, _>>()? })
    }

    /// The cells whose questions can mention all held-out values. A description names one value other than the shape;
    /// if two are held out, the question asks for one of them.
    ///
    /// # Errors
    /// `Unmentionable` if no cell can.
    pub fn mentioning(&self, holdout: &Holdout, vocab: &Vocabulary) -> Result<Self, Unmentionable> {
        let held = |kind: u8| holdout.values()[usize::from(kind)];
        let n_attributes =
            (0..N_TYPES as u8).filter(|&kind| usize::from(kind) != SHAPE && held(kind).is_some()).count();
        let can_mention = |cell: &Cell| match (n_attributes, cell.variant) {
            (0 | 1, _) => true,
            (2, Variant::Values { kind, values }) => match cell.template {
                Template::VerifyAttr => held(kind) == Some(values[0]),
                Template::ChooseAttr => values.map(Some).contains(&held(kind)),
                _ => false,
            },
            (2, Variant::Quantifier { value_of: Some(kind), .. }) => held(kind).is_some(),
            _ => false,
        };
        let kept = |cells: &Vec<Cell>| cells.iter().copied().filter(can_mention).collect::<Vec<_>>();
        let kept =
            |variants: &Vec<Vec<Cell>>| variants.iter().map(kept).filter(|cells| !cells.is_empty()).collect::<Vec<_>>();
        let cells: Vec<_> = self.cells.iter().map(kept).filter(|variants| !variants.is_empty()).collect();
        if cells.is_empty() {
            return Err(Unmentionable(holdout.describe(vocab)));
        }
        Ok(Self { key: self.key, cells })
    }

    /// The cell with a number in the sequence.
    pub fn cell(&self, number: u64) -> Cell {
        let n_templates = self.cells.len() as u64;
        let round = number / n_templates;
        let template = self.shuffled(&[0], round, self.cells.len(), number % n_templates);
        let variants = &self.cells[template];
        let n = variants.len() as u64;
        let variant = self.shuffled(&[1, template as u8], round / n, variants.len(), round % n);
        let (turn, choices) = (round / n, &variants[variant]);
        let n = choices.len() as u64;
        let choice = self.shuffled(&[2, template as u8, variant as u8], turn / n, choices.len(), turn % n);
        choices[choice]
    }

    /// The entry at a place of the permutation of `0..n` that a name and a number select.
    fn shuffled(&self, name: &[u8], number: u64, n: usize, place: u64) -> usize {
        let mut order: Vec<usize> = (0..n).collect();
        StreamKey::new(&[b"cells", self.key.as_bytes(), name]).at(number).shuffle(&mut order);
        order[place as usize]
    }
}

/// The attribute types other than shape that have two values or more.
fn kinds(vocab: &Vocabulary) -> impl Iterator<Item = u8> {
    (0..N_TYPES).filter(|&kind| kind != SHAPE && vocab.n_values(kind) > 1).map(|kind| kind as u8)
}

/// All ordered pairs of different numbers below `n`, from `least` on.
fn pairs(least: u8, n: u8) -> impl Iterator<Item = [u8; 2]> {
    (least..n).flat_map(move |a| (least..n).filter(move |&b| a != b).map(move |b| [a, b]))
}

/// The structures that a template can have in a world whose scenes have at most this many objects.
fn structures(template: Template, most_objects: u32) -> impl Iterator<Item = Structure> {
    use Structure::{Chain, Edge, Single, V};
    let all: &[Structure] = match template {
        Template::CountGroupBy
        | Template::VerifyCountGroupBy
        | Template::VerifyQuantifier
        | Template::VerifyQuantifierAttr => &[Single, Edge, Chain, V],
        Template::QueryObject | Template::ChooseObject | Template::ChooseRelation => &[Edge, V],
        Template::VerifyAttr
        | Template::ChooseAttr
        | Template::QueryAttr
        | Template::CompareCount
        | Template::Count
        | Template::VerifyCount
        | Template::VerifyLogic
        | Template::VerifySameAttr => &[Edge, Chain, V],
    };
    all.iter().copied().filter(move |structure| structure.n_relations() < most_objects as usize)
}

/// The bounds on the number of objects in an image.
const OF_IMAGE: [(Bound, u8); 7] = [
    (Bound::Exactly, 1),
    (Bound::Exactly, 2),
    (Bound::Exactly, 3),
    (Bound::AtLeast, 2),
    (Bound::AtLeast, 3),
    (Bound::AtMost, 2),
    (Bound::AtMost, 3),
];

/// For a bound, each number that it can have, with each two counts of which the first is within it and the second not.
fn verified(bound: Bound, most: u8) -> impl Iterator<Item = (u8, [u8; 2])> {
    let numbers = match bound {
        Bound::Exactly => 1..=most,
        Bound::AtLeast => 2..=most,
        Bound::AtMost => 1..=most - 1,
    };
    let is_within = move |n: u8, number: u8| bound.holds(n.into(), number.into());
    numbers.flat_map(move |number| {
        let counts = pairs(0, most + 1).filter(move |&[yes, no]| is_within(yes, number) && !is_within(no, number));
        counts.map(move |counts| (number, counts))
    })
}

/// The variants of a template; for each variant, one cell per choice of values.
fn variants(template: Template, vocab: &Vocabulary, most_objects: u32) -> Vec<Vec<Cell>> {
    const COUNTED: [Counted; 2] = [Counted::Objects, Counted::Images];
    let n_shapes = vocab.n_values(SHAPE) as u8;
    let choices = |structure| -> Vec<Vec<Variant>> {
        match template {
            Template::VerifyAttr | Template::ChooseAttr | Template::QueryAttr => {
                let values = |kind| pairs(0, vocab.n_values(usize::from(kind)) as u8);
                let of = |kind| values(kind).map(|values| Variant::Values { kind, values }).collect::<Vec<_>>();
                kinds(vocab).map(of).collect()
            }
            Template::CompareCount => {
                let comparisons = [Comparison::More, Comparison::Fewer, Comparison::AsMany];
                let all = COUNTED.iter().flat_map(|&counted| comparisons.map(|each| Variant::Compare(counted, each)));
                all.map(|variant| vec![variant]).collect()
            }
            Template::Count => {
                let of = |counted| {
                    let answers = pairs(0, MOST_COUNTED + 1);
                    answers.map(|answers| Variant::Count { counted, answers }).collect()
                };
                COUNTED.map(of).into()
            }
            Template::VerifyCount => {
                let each = COUNTED.iter().flat_map(|&counted| Bound::ALL.map(|bound| (counted, bound)));
                let of = |(counted, bound)| {
                    let all = verified(bound, MOST_COUNTED);
                    all.map(|(number, counts)| Variant::VerifyCount { counted, bound, number, counts }).collect()
                };
                each.map(of).collect()
            }
            Template::CountGroupBy => {
                let of = |of_image| {
                    let answers = pairs(0, MOST_COUNTED + 1);
                    answers.map(|answers| Variant::CountGroups { of_image, answers }).collect()
                };
                OF_IMAGE.map(of).into()
            }
            Template::VerifyCountGroupBy => {
                let each = OF_IMAGE.iter().flat_map(|&of_image| Bound::ALL.map(|bound| (of_image, bound)));
                let of = |(of_image, bound)| {
                    let all = verified(bound, MOST_COUNTED);
                    all.map(|(number, counts)| Variant::VerifyCountGroups { of_image, bound, number, counts }).collect()
                };
                each.map(of).collect()
            }
            Template::VerifyLogic => [Connective::And, Connective::Or].map(|each| vec![Variant::Logic(each)]).into(),
            Template::VerifyQuantifier => {
                // A single object has values, but no relation.
                let values: Vec<Option<u8>> = kinds(vocab).map(Some).collect();
                let conditions = [(structure != Structure::Single).then(|| vec![None]), Some(values)];
                let of = |conditions: Vec<Option<u8>>| {
                    [Quantifier::All, Quantifier::Some, Quantifier::None].map(|quantifier| {
                        conditions.iter().map(|&value_of| Variant::Quantifier { quantifier, value_of }).collect()
                    })
                };
                conditions.into_iter().flatten().flat_map(of).collect()
            }
            Template::VerifyQuantifierAttr | Template::VerifySameAttr => {
                kinds(vocab).map(|kind| vec![Variant::Kind(kind)]).collect()
            }
            Template::QueryObject | Template::ChooseObject => {
                let all = pairs(0, n_shapes).map(|values| Variant::Values { kind: SHAPE as u8, values });
                Some(all.collect::<Vec<_>>()).filter(|all| !all.is_empty()).into_iter().collect()
            }
            // Left and right, behind and in front.
            Template::ChooseRelation => [0, 2].map(|relation| vec![Variant::Axis(relation)]).into(),
        }
    };
    let mut all = Vec::new();
    for structure in structures(template, most_objects) {
        for variants in choices(structure) {
            all.push(variants.into_iter().map(|variant| Cell { template, structure, variant }).collect());
        }
    }
    all
}

/// Says what a world lacks for a template.
fn lacking(template: Template, most_objects: u32) -> String {
    if structures(template, most_objects).next().is_none() {
        return format!("its scenes have at most {most_objects} object; two are needed for a relation");
    }
    match template {
        Template::QueryObject | Template::ChooseObject => "it has one shape; add a second one".to_owned(),
        _ => {
            let names: Vec<&str> = (0..N_TYPES).filter(|&kind| kind != SHAPE).map(|kind| TYPE_NAMES[kind]).collect();
            format!("none of {} has two values; add a second one to some of them", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples;
    use std::collections::BTreeMap;

    fn schedule(seed: u8) -> Schedule {
        Schedule::new(StreamKey::new(&[&[seed]]), &samples::vocabulary(), 10).unwrap()
    }

    #[test]
    fn each_round_has_each_template_and_rounds_have_each_variant() {
        let schedule = schedule(1);
        let mut templates = BTreeMap::new();
        let mut variants: BTreeMap<Template, Vec<Cell>> = BTreeMap::new();
        for number in 0..15 * 18 {
            let cell = schedule.cell(number);
            templates.entry(number / 15).or_insert_with(Vec::new).push(cell.template);
            variants.entry(cell.template).or_default().push(cell);
        }
        for round in templates.values_mut() {
            round.sort_unstable();
            assert_eq!(round[..], Template::ALL);
        }
        // Three structures and six ways to compare.
        let compared = &variants[&Template::CompareCount];
        assert!(compared.iter().enumerate().all(|(i, cell)| !compared[..i].contains(cell)), "{compared:?}");
    }

    #[test]
    fn answers_are_even_after_all_rounds() {
        let schedule = schedule(2);
        let mut answers: BTreeMap<(Structure, u8), u32> = BTreeMap::new();
        // 3 structures, 2 things to count, 20 pairs of answers.
        for number in 0..15 * 6 * 20 {
            let cell = schedule.cell(number);
            if let Variant::Count { answers: both, .. } = cell.variant {
                for answer in both {
                    *answers.entry((cell.structure, answer)).or_default() += 1;
                }
            }
        }
        assert_eq!((answers.len(), answers.values().all(|&n| n == 16)), (15, true), "{answers:?}");
    }

    #[test]
    fn what_a_world_lacks_is_said() {
        let error = |values: [usize; 4], n_objects| {
            let value = |kind: &str| match kind {
                "color" => "[1, 2, 3]",
                "size" => "1",
                _ => "\"rubber\"",
            };
            let names = |kind: &str, n: usize| {
                (0..n).map(|i| format!("\"{kind}{i}\": {}", value(kind))).collect::<Vec<_>>().join(",")
            };
            let keys = ["size", "color", "material", "shape"];
            let all: Vec<String> =
                keys.iter().zip(values).map(|(key, n)| format!("\"{key}s\": {{{}}}", names(key, n))).collect();
            let vocab =
                Vocabulary::from_properties_json(format!("{{{}}}", all.join(",")).as_bytes(), "p.json", 10).unwrap();
            Schedule::new(StreamKey::new(&[]), &vocab, n_objects).unwrap_err().to_string()
        };
        let begin = "no question of template";
        assert_eq!(
            error([2, 2, 2, 1], 10),
            format!("{begin} query_object can be asked in this world: it has one shape; add a second one")
        );
        assert_eq!(
            error([1, 1, 1, 3], 10),
            format!(
                "{begin} verify_attr can be asked in this world: none of size, color, material has two values; add a \
                 second one to some of them"
            )
        );
        assert_eq!(
            error([2, 2, 2, 2], 1),
            format!(
                "{begin} verify_attr can be asked in this world: its scenes have at most 1 object; two are needed for \
                 a relation"
            )
        );
    }
}
