//! The walk over a program that tells what each of its steps asks of its objects.
//!
//! What a step asks for is a list of alternatives. Depending on its effect, a function keeps the alternatives of its
//! first input, adds a value to each, takes those of either input, joins each with each, makes new ones that are like
//! those of its inputs, or starts anew with one that asks for nothing.

use super::token::Tokens;
use crate::program::Effect;
use crate::vocab::TYPE_NAMES;

/// One alternative of what a step asks for.
pub(super) trait Alternative: Clone + Default {
    /// Asks for these values as well.
    fn with(self, values: u64) -> Self;

    /// Asks for all that both ask for.
    fn joined(&self, other: &Self) -> Self;

    /// Also asks for likeness to `other` in an attribute, whose held-out value has this bit.
    fn like(self, _bit: u8, _other: &Self) -> Self {
        self
    }

    /// Asks whether two objects are the same one.
    fn identified(&self, _other: &Self) -> Self {
        Self::default()
    }

    /// Drops those that are listed twice.
    fn simplify(_alternatives: &mut Vec<Self>) {}
}

/// Values alone, a bit each; likenesses name none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Values(pub u64);

impl Alternative for Values {
    fn with(self, values: u64) -> Self {
        Self(self.0 | values)
    }

    fn joined(&self, other: &Self) -> Self {
        Self(self.0 | other.0)
    }

    fn simplify(alternatives: &mut Vec<Self>) {
        alternatives.sort_unstable();
        alternatives.dedup();
    }
}

/// How programs are read.
#[derive(Clone, Copy)]
pub(super) struct Walk<'a> {
    pub tokens: &'a Tokens,
    /// Whether an alternative of several inputs is not tracked, so that only chains of filters ask for several values.
    pub in_chains: bool,
    /// By type, the bit of its held-out value; 0 for other types.
    pub bits: [u8; TYPE_NAMES.len()],
}

impl Walk<'_> {
    /// Whether the alternatives of some step pass a test.
    pub fn any<A: Alternative>(&self, program: &[i32], is_found: &impl Fn(&[A]) -> bool) -> bool {
        let mut rest = program;
        let mut found = false;
        while !rest.is_empty() && !found {
            self.step(&mut rest, &mut found, is_found);
        }
        found
    }

    /// The alternatives of the next step, whose tokens are consumed; sets `found` if they pass the test.
    fn step<A: Alternative>(&self, rest: &mut &[i32], found: &mut bool, is_found: &impl Fn(&[A]) -> bool) -> Vec<A> {
        let anything = || vec![A::default()];
        let Some(token) = self.tokens.next(rest) else { return anything() };
        let mut inputs = (0..token.function.arity()).map(|_| self.step(rest, found, is_found)).collect::<Vec<_>>();
        // Once something is found, nothing else has to be tracked.
        if *found {
            return anything();
        }
        let second = inputs.get(1).cloned();
        let first = inputs.drain(..).next().unwrap_or_else(anything);
        // The members of a single input are compared with each other.
        let second = second.unwrap_or_else(|| first.clone());
        let each_with_each = |joined: &dyn Fn(&A, &A) -> A| -> Vec<A> {
            first.iter().flat_map(|a| second.iter().map(|b| joined(a, b))).collect()
        };
        let bit = |kind: u8| self.bits[usize::from(kind)];
        let mut alternatives = match token.function.effect() {
            Effect::Keeps => first,
            Effect::Adds => first.into_iter().map(|a| a.with(token.values)).collect(),
            Effect::TakesEither | Effect::Joins if self.in_chains => anything(),
            Effect::TakesEither => [first, second].concat(),
            Effect::Joins => each_with_each(&A::joined),
            Effect::JoinsAndAdds => each_with_each(&|a, b| a.joined(b).with(token.values)),
            Effect::Likens(kind) => first.iter().map(|a| A::default().like(bit(kind), a)).collect(),
            Effect::JoinsLikeness(kind) => each_with_each(&|a, b| a.clone().like(bit(kind), b)),
            Effect::Compares(kind) => each_with_each(&|a, b| A::default().like(bit(kind), a).like(bit(kind), b)),
            Effect::Identifies => each_with_each(&A::identified),
            Effect::StartsAnew => anything(),
        };
        A::simplify(&mut alternatives);
        *found |= is_found(&alternatives);
        alternatives
    }
}
