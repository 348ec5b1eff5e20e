//! The walk over a program that all held-out checks share: an abstract interpretation by the functions' effects.

use crate::program::{Argument, Effect, Program, Step};

/// The abstract domain of one check: a state for the objects that a step gives.
///
/// An operation that can ask for more than its inputs did also returns whether that is what is held out.
pub trait Domain {
    type State: Copy;
    /// A set of values to add; empty by default.
    type Values: Copy + Default;
    /// The state of objects that nothing was asked of.
    const ANYTHING: Self::State;

    fn value(&self, kind: usize, value: u8) -> Self::Values;

    fn add(&self, state: Self::State, values: Self::Values) -> (Self::State, bool);

    fn either(&self, a: Self::State, b: Self::State) -> Self::State;

    fn join(&self, a: Self::State, b: Self::State) -> (Self::State, bool);

    /// The state of objects with the same value of a type as others; most checks ignore likeness.
    #[inline]
    fn liken(&self, _kind: u8, _state: Self::State) -> (Self::State, bool) {
        (Self::ANYTHING, false)
    }

    /// The state of an object that is compared with another one; most checks ignore that.
    #[inline]
    fn identify(&self, _a: Self::State, _b: Self::State) -> (Self::State, bool) {
        (Self::ANYTHING, false)
    }

    /// The state of a function's output, and whether it asks for what is held out.
    // The search takes a step at each node, nearly always with one of these effects, so the others are kept out of
    // line.
    #[inline(always)]
    fn step(&self, effect: Effect, values: Self::Values, [a, b]: [Self::State; 2]) -> (Self::State, bool) {
        if effect == Effect::StartsAnew {
            (Self::ANYTHING, false)
        } else if effect == Effect::Keeps {
            (a, false)
        } else if effect == Effect::Joins {
            self.join(a, b)
        } else {
            self.step_by_any(effect, values, [a, b])
        }
    }

    /// The same for any effect.
    #[inline(never)]
    fn step_by_any(&self, effect: Effect, values: Self::Values, [a, b]: [Self::State; 2]) -> (Self::State, bool) {
        match effect {
            Effect::StartsAnew => (Self::ANYTHING, false),
            Effect::Keeps => (a, false),
            Effect::Adds => self.add(a, values),
            Effect::TakesEither => (self.either(a, b), false),
            Effect::Joins => self.join(a, b),
            Effect::JoinsAndAdds => {
                let (both, by_both) = self.join(a, b);
                let (added, by_adding) = self.add(both, values);
                (added, by_both | by_adding)
            }
            Effect::Likens(kind) => self.liken(kind, a),
            Effect::JoinsLikeness(kind) => {
                let (alike, by_likeness) = self.liken(kind, b);
                let (both, by_both) = self.join(a, alike);
                (both, by_likeness | by_both)
            }
            Effect::Compares(kind) => {
                let ((a, by_a), (b, by_b)) = (self.liken(kind, a), self.liken(kind, b));
                let (both, by_both) = self.join(a, b);
                (both, by_a | by_b | by_both)
            }
            Effect::Identifies => self.identify(a, b),
        }
    }

    /// The state of a step's output, from those of the steps before it, and whether it asks for what is held out.
    fn next(&self, states: &[Self::State], step: &Step) -> (Self::State, bool) {
        let state = |input: u8| states.get(usize::from(input)).copied().unwrap_or(Self::ANYTHING);
        let inputs = match *step.sources() {
            [] => [Self::ANYTHING; 2],
            // A function that compares the members of its only input is treated as comparing that input with itself.
            [input] => [state(input); 2],
            [first, second, ..] => [state(first), state(second)],
        };
        let values = match step.function.signature().argument {
            Argument::Value(kind) => self.value(usize::from(kind), step.argument),
            Argument::Nothing | Argument::Relation | Argument::Number => Self::Values::default(),
        };
        self.step(step.function.effect(), values, inputs)
    }

    /// Whether some step of a program asks for what is held out.
    fn is_asked_in(&self, program: &Program) -> bool {
        let mut states: Vec<Self::State> = Vec::with_capacity(program.steps.len());
        program.steps.iter().any(|step| {
            let (state, is_asked) = self.next(&states, step);
            states.push(state);
            is_asked
        })
    }
}
