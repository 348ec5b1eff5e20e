//! Whether a program, given as tokens, asks for the held-out values directly or by likenesses.
//!
//! This is a plain implementation of the definition. A set or an object is a list of alternatives, as in `program`, but
//! here an alternative is a thing that must have some values, and be like other things in an attribute. A filter adds
//! its value to each thing; `unique` and `query_*` keep their input's things; `union` takes those of both inputs;
//! `intersect` joins each thing of one input with each of the other, and the result is like everything that either was
//! like; `same_*` makes new things, each like one of its input's. `equal_*` makes things that are like one of the first
//! input's and one of the second's; `equal_object` joins things as `intersect` does; `with_same_*` gives the first
//! input's things, each like one of the second's. Every other function makes a thing without requirements. Things that
//! are alike in an attribute have the same held-out value of it, if either has one. The program asks for the held-out
//! values if some thing has all of them.

use super::program::ProgramReader;
use crate::program::Effect;

/// Maximum number of things of a step; questions have fewer.
const MOST_THINGS: usize = 256;

/// Something that is asked for.
#[derive(Clone, Debug, Default)]
struct Thing {
    /// The held-out values that it must have, a bit each.
    values: u8,
    /// The things that it is like, each with the bit of the held-out value of the attribute in question.
    like: Vec<(u8, Thing)>,
}

impl ProgramReader {
    /// Whether the program implies the held-out values: asks for a cylinder with the material of a rubber cube, for a
    /// rubber thing with the shape of a cylinder, or whether a cylinder and a rubber cube have the same material.
    pub fn implies(&self, program: &[i32]) -> bool {
        if !self.names_all(program) {
            return false;
        }
        let mut effects = program.iter().filter_map(|&token| Some(self.tokens.get(token)?.function.effect()));
        let has_likeness = effects.any(|effect| match effect {
            Effect::Likens(_) | Effect::JoinsLikeness(_) | Effect::Compares(_) | Effect::Identifies => true,
            Effect::StartsAnew | Effect::Keeps | Effect::Adds => false,
            Effect::TakesEither | Effect::Joins | Effect::JoinsAndAdds => false,
        });
        if !has_likeness {
            return self.mentions(program);
        }
        let mut found = false;
        let mut rest = program;
        while !rest.is_empty() {
            self.things(&mut rest, &mut found);
        }
        found
    }

    /// The things of the next step, whose tokens are consumed; sets `found` if something has all values.
    fn things(&self, rest: &mut &[i32], found: &mut bool) -> Vec<Thing> {
        let Some(token) = self.tokens.next(rest) else { return vec![Thing::default()] };
        let bit = |kind: u8| self.bits[usize::from(kind)];
        let with = |thing: Thing| Thing { values: thing.values | token.values as u8, ..thing };
        let things = match token.function.effect() {
            Effect::Keeps => {
                let first = self.things(rest, found);
                (1..token.function.arity()).for_each(|_| drop(self.things(rest, found)));
                return first;
            }
            Effect::Adds if token.function.arity() == 0 => vec![with(Thing::default())],
            Effect::Adds => self.things(rest, found).into_iter().map(with).collect(),
            Effect::TakesEither => [self.things(rest, found), self.things(rest, found)].concat(),
            Effect::Joins | Effect::Identifies => {
                each_with_each(&self.things(rest, found), &self.things(rest, found), Thing::joined)
            }
            Effect::JoinsAndAdds => {
                let both = each_with_each(&self.things(rest, found), &self.things(rest, found), Thing::joined);
                both.into_iter().map(with).collect()
            }
            Effect::Likens(kind) => {
                let like = |thing: Thing| Thing { values: 0, like: vec![(bit(kind), thing)] };
                self.things(rest, found).into_iter().map(like).collect()
            }
            Effect::JoinsLikeness(kind) => {
                each_with_each(&self.things(rest, found), &self.things(rest, found), |a, b| Thing {
                    values: a.values,
                    like: [&a.like[..], &[(bit(kind), b.clone())]].concat(),
                })
            }
            Effect::Compares(kind) => {
                let first = self.things(rest, found);
                // The members of a single input are compared with each other.
                let second = if token.function.arity() == 1 { first.clone() } else { self.things(rest, found) };
                each_with_each(&first, &second, |a, b| Thing {
                    values: 0,
                    like: vec![(bit(kind), a.clone()), (bit(kind), b.clone())],
                })
            }
            Effect::StartsAnew => {
                (0..token.function.arity()).for_each(|_| drop(self.things(rest, found)));
                vec![Thing::default()]
            }
        };
        // Once something is found, nothing else has to be tracked.
        let size: usize = things.iter().map(Thing::size).sum();
        *found |= size > MOST_THINGS || things.iter().any(|thing| thing.clone().ever_has(self.held_out));
        if *found { vec![Thing::default()] } else { things }
    }
}

impl Thing {
    /// The thing that is both `a` and `b`.
    fn joined(a: &Self, b: &Self) -> Self {
        Self { values: a.values | b.values, like: [&a.like[..], &b.like].concat() }
    }

    /// The number of things: itself, and everything that it is like.
    fn size(&self) -> usize {
        1 + self.like.iter().map(|(_, other)| other.size()).sum::<usize>()
    }

    /// Whether it, or something that it is like, has all of `values` after likenesses are resolved.
    fn ever_has(mut self, values: u8) -> bool {
        while self.share() {}
        self.any_has(values)
    }

    /// Shares values between things that are alike; returns whether anything changed.
    fn share(&mut self) -> bool {
        let mut changed = false;
        for (bit, other) in &mut self.like {
            changed |= other.share();
            let both = (self.values | other.values) & *bit;
            changed |= both & !(self.values & other.values) != 0;
            self.values |= both;
            other.values |= both;
        }
        changed
    }

    fn any_has(&self, values: u8) -> bool {
        self.values & values == values || self.like.iter().any(|(_, other)| other.any_has(values))
    }
}

fn each_with_each(first: &[Thing], second: &[Thing], joined: impl Fn(&Thing, &Thing) -> Thing) -> Vec<Thing> {
    first.iter().flat_map(|a| second.iter().map(|b| joined(a, b))).collect()
}
