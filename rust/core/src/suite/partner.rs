//! Makes the partner of an original.

use super::completion::AskedObject;
use super::entry::WordingRule;
use super::error::{Refutation, SuiteError};
use super::expression::{Expression, Substitute, answer_value};
use super::original::Original;
use super::relation::Relation;
use super::test::{Case, RelationRule};
use crate::holdout::Holdout;
use crate::program::{Program, execute};
use crate::question::TemplateSet;
use crate::question::lexicon::Lexicon;
use crate::question::param::{MAX_PARAMS, ParamKind};
use crate::question::reading::Reading;
use crate::question::search::QuestionRule;
use crate::question::template::{Constraint, Family};
use crate::question::text_buffer::TextBuffer;
use crate::question::wording::Worded;
use crate::rng::StreamRng;
use crate::scene::SceneView;
use crate::vocab::{Answer, Vocabulary};

/// Why an original has no partner in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// The original does not meet the test's conditions.
    Condition,
    /// A parameter has no value where the family needs one, or has one where none is allowed.
    Value,
    /// No value can replace the answer.
    NoFoil,
    /// The partner would break the split's rule.
    Rule,
    /// The partner's program has no answer on the image.
    NoAnswer,
    /// The partner would have the original's words.
    Unchanged,
    /// It was left out to balance the answers.
    Surplus,
    /// The pair would be in a cell that the test does not take.
    Cell,
}

/// Everything, apart from the originals, that the partners of one file depend on.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub templates: &'a TemplateSet,
    pub vocab: &'a Vocabulary,
    pub rule: QuestionRule,
    pub holdout: Option<&'a Holdout>,
}

/// What takes the place of an original's answer in its partners.
pub(super) enum Needs {
    /// Nothing: the partner follows from the original.
    Nothing,
    /// Nothing, but the partner asks whether a number is above 0, and its answers have to be balanced.
    Truth,
    /// These values, each in a partner of its own.
    Each(Vec<Substitute>),
    /// One of these foils, of which there is at least one, or the answer, if a partner can ask for it.
    Foil { foils: Vec<u8>, answer_fits: bool },
}

/// A partner before it is worded.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub reading: Reading,
    pub program: Program,
    pub answer: Answer,
    pub relation: Relation,
    /// By parameter, whether the word for its value is the original's.
    has_word: [bool; MAX_PARAMS],
}

impl Draft {
    /// Whether its answer follows from the original's.
    fn holds(&self, original: &Original) -> bool {
        self.relation.partner(original.answer) == Some(self.answer)
    }
}

/// How much a partner says of the objects that the question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// As much as the original.
    None,
    /// It leaves a value out.
    General,
    /// It adds a value.
    Specific,
}

impl Case {
    /// How much partners that have the answers of their originals say. If all general ones were answered yes and all
    /// specific ones no, the form of a question would give its answer away.
    pub fn step(&self) -> Step {
        if self.relation != RelationRule::Same {
            Step::None
        } else if self.values.contains(&Expression::Unset) {
            Step::General
        } else if self.values.contains(&Expression::Foil) {
            Step::Specific
        } else {
            Step::None
        }
    }

    /// Whether its partners ask for either the answer or a foil, so that values have to be balanced. If a partner names
    /// both, or only the foil, there is nothing to balance.
    pub fn is_balanced(&self) -> bool {
        self.values.contains(&Expression::AnswerOrFoil) && !self.values.contains(&Expression::FoilOrAnswer)
    }

    /// What the partners of an original need in place of its answer. Whoever makes pairs draws from this alone.
    ///
    /// # Errors
    /// No value can take the place.
    pub fn needs(&self, original: &Original, scene: SceneView<'_>, at: Surroundings<'_>) -> Result<Needs, Skip> {
        if self.relation == RelationRule::Positive {
            return Ok(Needs::Truth);
        }
        if self.values.contains(&Expression::Each) {
            return self.each(original, scene, at).map(Needs::Each).ok_or(Skip::NoFoil);
        }
        let Some(place) = self.values.iter().position(Expression::needs_foil) else {
            let is_left_out = self.condition.holds && !self.draft(original, None, scene, at)?.holds(original);
            return if is_left_out { Err(Skip::Condition) } else { Ok(Needs::Nothing) };
        };
        let foils = self.foils(place, original, scene, at);
        let first = *foils.first().ok_or(Skip::NoFoil)?;
        let answer_fits = answer_value(original.answer).is_some() && self.fits(true, first, original, scene, at);
        if answer_fits || self.values.iter().any(Expression::is_drawn) {
            Ok(Needs::Foil { foils, answer_fits })
        } else {
            Err(Skip::NoFoil)
        }
    }

    /// The values other than the answer that a partner can have at a place.
    fn foils(&self, place: usize, original: &Original, scene: SceneView<'_>, at: Surroundings<'_>) -> Vec<u8> {
        let avoided = match self.values[place] {
            Expression::Another(param) => original.reading.values[usize::from(param)],
            _ => answer_value(original.answer),
        };
        let all = (0..self.n_values(place, at)).filter(|&value| Some(value) != avoided);
        let mut others: Vec<u8> = all.filter(|&value| self.fits(false, value, original, scene, at)).collect();
        let asked = AskedObject::of(&original.program, at.holdout);
        let completes = |value: &u8| asked.as_ref().is_some_and(|asked| asked.is_completed_by(*value));
        match self.values[place] {
            Expression::Unseen => others.retain(completes),
            Expression::Seen if others.iter().any(completes) => others.retain(|value| !completes(value)),
            Expression::Seen => others.clear(),
            Expression::Another(_) if avoided.is_none() => others.clear(),
            _ => (),
        }
        others
    }

    /// Whether there is a partner that asks for the answer or the foil.
    fn fits(&self, is_answer: bool, foil: u8, original: &Original, scene: SceneView<'_>, at: Surroundings<'_>) -> bool {
        let draft = self.draft(original, Some(Substitute { is_answer, foil }), scene, at);
        draft.is_ok_and(|draft| !self.condition.holds || draft.holds(original))
    }

    /// All values of a type, each for a partner of its own; None if one of these partners is not possible.
    fn each(&self, original: &Original, scene: SceneView<'_>, at: Surroundings<'_>) -> Option<Vec<Substitute>> {
        let place = self.values.iter().position(|value| *value == Expression::Each)?;
        let answer = answer_value(original.answer);
        let with = |foil: u8| {
            let substitute = Substitute { is_answer: Some(foil) == answer, foil };
            self.draft(original, Some(substitute), scene, at).is_ok().then_some(substitute)
        };
        (0..self.n_values(place, at)).map(with).collect()
    }

    /// The number of values that could replace the answer, including the answer.
    pub fn n_foils(&self, at: Surroundings<'_>) -> u8 {
        self.values.iter().position(Expression::needs_foil).map_or(0, |place| self.n_values(place, at))
    }

    /// The number of values of a parameter of the partner.
    fn n_values(&self, param: usize, at: Surroundings<'_>) -> u8 {
        match at.templates.families()[usize::from(self.target)].params[param].kind {
            ParamKind::Attribute(kind) => at.vocab.n_values(usize::from(kind)) as u8,
            ParamKind::Number => at.vocab.largest_count() + 1,
            ParamKind::Relation => 0,
        }
    }

    /// The partner, with `substitute` in place of the answer if the test needs a value there.
    pub fn draft(
        &self,
        original: &Original,
        substitute: Option<Substitute>,
        scene: SceneView<'_>,
        at: Surroundings<'_>,
    ) -> Result<Draft, Skip> {
        let family = &at.templates.families()[usize::from(self.target)];
        let mut reading = Reading {
            phrasing: original.reading.phrasing,
            values: [None; MAX_PARAMS],
            worded: Worded { words: [0; MAX_PARAMS], kept: original.reading.worded.kept },
        };
        let mut has_word = [false; MAX_PARAMS];
        for (place, expression) in self.values.iter().enumerate() {
            let (value, word) = expression.value(original, substitute);
            reading.values[place] = value;
            reading.worded.words[place] = word.unwrap_or(0);
            has_word[place] = word.is_some();
        }
        if !may_have(family, &reading.values) {
            return Err(Skip::Value);
        }
        let (program, _) = family.program(&reading.values);
        if !at.rule.allows(&program, at.holdout) {
            return Err(Skip::Rule);
        }
        let answer = execute(&program, scene, at.vocab).map_err(|_| Skip::NoAnswer)?;
        let relation = self.relation(family, &reading).ok_or(Skip::Value)?;
        Ok(Draft { reading, program, answer, relation, has_word })
    }

    fn relation(&self, family: &Family, reading: &Reading) -> Option<Relation> {
        Some(match self.relation {
            RelationRule::Same => Relation::Same,
            RelationRule::Flip => Relation::Flip,
            RelationRule::Positive => Relation::Positive,
            RelationRule::Is(param) => {
                let value = reading.values[usize::from(param)]?;
                match family.params[usize::from(param)].kind {
                    ParamKind::Attribute(kind) => Relation::Is(Answer::Value(kind, value)),
                    ParamKind::Number => Relation::Is(Answer::Integer(value)),
                    ParamKind::Relation => return None,
                }
            }
        })
    }

    /// Words a partner; the error is `Unchanged` if it has the same words as the original.
    pub fn word(
        &self,
        draft: &mut Draft,
        original: &Original,
        original_text: &str,
        at: Surroundings<'_>,
        rng: &mut StreamRng,
        buffer: &mut TextBuffer,
    ) -> Result<String, Skip> {
        let (family, lexicon) = (&at.templates.families()[usize::from(self.target)], at.templates.lexicon());
        let keeps_family = self.target == original.family;
        if !keeps_family {
            draft.reading.phrasing = rng.below(family.phrasings.len() as u32) as u8;
            draft.reading.worded.kept = rng.word() as u32;
        } else if self.wording == WordingRule::Phrasing {
            let other = rng.below(family.phrasings.len() as u32 - 1) as u8;
            draft.reading.phrasing = other + u8::from(other >= original.reading.phrasing);
            draft.reading.worded.kept = rng.word() as u32;
        }
        draw_words(draft, family, lexicon, self.wording == WordingRule::Synonyms, rng);
        let text = family.say(&draft.reading, lexicon, buffer);
        if text == original_text { Err(Skip::Unchanged) } else { Ok(text) }
    }

    /// Checks that the two answers are related as the entry says.
    ///
    /// # Errors
    /// They are not, so the entry is wrong; the error names the two questions.
    pub fn check(
        &self,
        original: &Original,
        original_text: &str,
        draft: &Draft,
        text: &str,
        vocab: &Vocabulary,
    ) -> Result<(), SuiteError> {
        if draft.holds(original) {
            return Ok(());
        }
        let expected = draft.relation.partner(original.answer);
        Err(SuiteError::Refuted(Box::new(Refutation {
            place: self.place.clone(),
            original: original_text.to_owned(),
            answer: vocab.answer_text(original.answer),
            partner: text.to_owned(),
            partner_answer: vocab.answer_text(draft.answer),
            expected: expected.map_or_else(|| "anything".to_owned(), |answer| vocab.answer_text(answer)),
        })))
    }
}

/// Draws the words that are not taken from the original, or, with `others`, different words for all values.
fn draw_words(draft: &mut Draft, family: &Family, lexicon: &Lexicon, others: bool, rng: &mut StreamRng) {
    for (place, param) in family.params.iter().enumerate() {
        let n = lexicon.words(param, draft.reading.values[place]).len() as u32;
        let word = &mut draft.reading.worded.words[place];
        if others && n > 1 {
            *word = ((u32::from(*word) + 1 + rng.below(n - 1)) % n) as u8;
        } else if !draft.has_word[place] {
            *word = rng.below(n) as u8;
        }
    }
}

/// Whether parameters have values where the family needs them, and no values where it allows none.
pub(super) fn may_have(family: &Family, values: &[Option<u8>; MAX_PARAMS]) -> bool {
    let is_set = |param: &u8| values[usize::from(*param)].is_some();
    let needed = family.nodes.iter().all(|node| node.kind.needed_params(&node.params).iter().all(is_set));
    needed && !family.constraints.iter().any(|c| matches!(c, Constraint::Null(param) if is_set(param)))
}
