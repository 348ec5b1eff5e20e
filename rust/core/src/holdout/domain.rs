//! The walk over a program that all checks of what is held out share: what each keeps of the objects that the
//! program asks about, and what the functions' effects do to that.

use crate::program::{Argument, Effect, Program};

/// What one check keeps of the objects that a step of a program gives.
///
/// Operations that can ask for more than their inputs do also tell whether that is what is held out.
pub trait Domain {
    type State: Copy;
    /// Values that are added at once, none by default.
    type Values: Copy + Default;
    /// Nothing was asked.
    const ANYTHING: Self::State;

    fn value(&self, kind: usize, value: u8) -> Self::Values;

    fn add(&self, state: Self::State, values: Self::Values) -> (Self::State, bool);

    fn either(&self, a: Self::State, b: Self::State) -> Self::State;

    fn join(&self, a: Self::State, b: Self::State) -> (Self::State, bool);

    /// Of objects that have the value of a type that others have; most checks keep nothing of them.
    #[inline]
    fn liken(&self, _kind: u8, _state: Self::State) -> (Self::State, bool) {
        (Self::ANYTHING, false)
    }

    /// Of an object that is asked to be another one; most checks keep nothing of it.
    #[inline]
    fn identify(&self, _a: Self::State, _b: Self::State) -> (Self::State, bool) {
        (Self::ANYTHING, false)
    }

    /// What a function of this effect gives, and whether it asks for what is held out.
    // The search takes a step at each node, nearly always one of the short ones.
    #[inline(always)]
    fn step(&self, effect: Effect, values: Self::Values, [a, b]: [Self::State; 2]) -> (Self::State, bool) {
        match effect {
            Effect::StartsAnew => (Self::ANYTHING, false),
            Effect::Keeps => (a, false),
            Effect::Adds => self.add(a, values),
            Effect::TakesEither => (self.either(a, b), false),
            Effect::Joins => self.join(a, b),
            Effect::Likens(kind) => self.liken(kind, a),
            Effect::Compares(kind) => {
                let ((a, by_a), (b, by_b)) = (self.liken(kind, a), self.liken(kind, b));
                let (both, by_both) = self.join(a, b);
                (both, by_a | by_b | by_both)
            }
            Effect::Identifies => self.identify(a, b),
        }
    }

    /// Whether some step of a program asks for what is held out.
    fn is_asked_in(&self, program: &Program) -> bool {
        let mut states: Vec<Self::State> = Vec::with_capacity(program.steps.len());
        program.steps.iter().any(|step| {
            let inputs = step.inputs.map(|input| states.get(usize::from(input)).copied().unwrap_or(Self::ANYTHING));
            let values = match step.function.signature().argument {
                Argument::Value(kind) => self.value(usize::from(kind), step.argument),
                Argument::Nothing | Argument::Relation => Self::Values::default(),
            };
            let (state, is_asked) = self.step(step.function.effect(), values, inputs);
            states.push(state);
            is_asked
        })
    }
}
