//! The cells in which a test can have pairs: which of the two questions mention the held-out values.

use super::completion::AskedObject;
use super::entry::N_CELLS;
use super::expression::Expression;
use super::partner::{Surroundings, may_have};
use super::test::Case;
use crate::question::param::{MAX_PARAMS, ParamKind};
use crate::question::search::QuestionRule;
use crate::question::template::{Constraint, Family};

/// A cell's number: 2 if the original mentions the held-out values, plus 1 if the partner does.
pub(super) type Cell = usize;

/// The result of a search for originals of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchResult {
    pub test: u16,
    /// By cell, whether the test can have pairs in it.
    pub is_possible: [bool; N_CELLS],
    /// By cell, the number of pairs that are missing.
    pub lacks: [u32; N_CELLS],
}

/// The cells that pairs of a case can be in, before sides are swapped. If nothing is held out or no question may
/// mention it, only the first cell is possible, and no value completes the held-out combination.
///
/// Whether a question mentions the combination depends on which of its values are held out, so each assignment of those
/// values is tried. Images and answers may exclude further cells, which is not known here.
pub(super) fn possible_cells(case: &Case, source: &Family, at: Surroundings<'_>) -> [bool; N_CELLS] {
    let mut possible = [false; N_CELLS];
    let foil_kind = case.values.iter().find(|value| matches!(value, Expression::Unseen | Expression::Seen));
    let Some(holdout) = at.holdout.filter(|_| at.rule == QuestionRule::Any) else {
        return [foil_kind.is_none(), false, false, false];
    };
    let target = &at.templates.families()[usize::from(case.target)];
    if is_same(case, source) {
        return [true, false, false, true];
    }
    // By parameter of the original, its possible values, one for all those that are not held out.
    let mut choices: Vec<(usize, Vec<Option<u8>>)> = Vec::new();
    let mut values = [None; MAX_PARAMS];
    for (place, param) in source.params.iter().enumerate() {
        let ParamKind::Attribute(kind) = param.kind else {
            values[place] = Some(0);
            continue;
        };
        let number = place as u8;
        let needs = |family: &Family| family.nodes.iter().any(|n| n.kind.needed_params(&n.params).contains(&number));
        let held = (0..at.vocab.n_values(usize::from(kind)) as u8).find(|&v| holdout.bits(usize::from(kind), v) != 0);
        let other = held.map_or(0, |held| u8::from(held == 0));
        let is_null = source.constraints.iter().any(|c| matches!(c, Constraint::Null(null) if *null == number));
        if is_null || case.condition.unset.contains(&number) {
            continue;
        }
        let must = needs(source) || case.condition.set.contains(&number);
        let differs = case
            .values
            .iter()
            .any(|value| matches!(value, Expression::Other(p) | Expression::Another(p) if *p == number));
        let mut list = if must { vec![Some(other)] } else { vec![None] };
        list.extend(held.map(Some));
        if differs && !must {
            list.push(Some(other));
        }
        values[place] = list[0];
        choices.push((place, list));
    }
    let foils = foils(case, target, at);
    let mut counter = vec![0; choices.len()];
    loop {
        for ((place, list), &number) in choices.iter().zip(&counter) {
            values[*place] = list[number];
        }
        let original = source.program(&values).0;
        let by_original = holdout.is_mentioned_in(&original);
        let asked = AskedObject::of(&original, at.holdout);
        let completes = |value: &u8| asked.as_ref().is_some_and(|asked| asked.is_completed_by(*value));
        // A control needs a third value, beside the answer and the one that completes the held-out combination.
        let has_third = || foils.iter().any(completes) && case.n_foils(at) > 2;
        let can_be = |foil: &&u8| match foil_kind {
            Some(Expression::Unseen) => completes(foil),
            Some(_) => !completes(foil) && has_third(),
            None => true,
        };
        for &foil in foils.iter().filter(can_be) {
            let partner = partner_values(case, &values, foil);
            if may_have(target, &partner) {
                let by_partner = holdout.is_mentioned_in(&target.program(&partner).0);
                possible[usize::from(by_original) * 2 + usize::from(by_partner)] = true;
            }
        }
        // The next assignment, counting up digit by digit.
        let Some(place) = (0..counter.len()).find(|&place| counter[place] + 1 < choices[place].1.len()) else { break };
        counter[..place].fill(0);
        counter[place] += 1;
        if possible == [true; N_CELLS] {
            break;
        }
    }
    possible
}

/// Whether the partner differs from the original only in its wording.
fn is_same(case: &Case, source: &Family) -> bool {
    let is_kept = |(place, value): (usize, &Expression)| *value == Expression::Param(place as u8);
    u32::from(case.target) == source.index && case.values.iter().enumerate().all(is_kept)
}

/// The values that can replace the answer, one for all those that are not held out.
fn foils(case: &Case, target: &Family, at: Surroundings<'_>) -> Vec<u8> {
    let kind = case.values.iter().position(Expression::needs_foil).map(|place| target.params[place].kind);
    let Some(ParamKind::Attribute(kind)) = kind else { return vec![0] };
    let is_held = |value: &u8| at.holdout.is_some_and(|holdout| holdout.bits(usize::from(kind), *value) != 0);
    let all = 0..at.vocab.n_values(usize::from(kind)) as u8;
    let (held, others): (Vec<u8>, Vec<u8>) = all.partition(is_held);
    held.into_iter().chain(others.first().copied()).collect()
}

/// The partner's values, with `foil` as every answer, every foil and every other value of a larger type.
fn partner_values(case: &Case, original: &[Option<u8>; MAX_PARAMS], foil: u8) -> [Option<u8>; MAX_PARAMS] {
    let mut values = [None; MAX_PARAMS];
    for (place, expression) in case.values.iter().enumerate() {
        values[place] = match *expression {
            Expression::Unset => None,
            Expression::Value(value) => Some(value),
            Expression::Param(param) => original[usize::from(param)],
            Expression::Converse(_) => Some(0),
            Expression::Other(param) => original[usize::from(param)].map(|value| 1 - value),
            Expression::Another(param) => original[usize::from(param)].map(|_| foil),
            Expression::Answer
            | Expression::Foil
            | Expression::AnswerOrFoil
            | Expression::FoilOrAnswer
            | Expression::Unseen
            | Expression::Seen
            | Expression::Each => Some(foil),
        };
    }
    values
}
