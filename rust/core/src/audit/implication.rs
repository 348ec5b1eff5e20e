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
use super::walk::Alternative;
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
        self.walk(false).any(program, &|things: &[Thing]| {
            let size: usize = things.iter().map(Thing::size).sum();
            size > MOST_THINGS || things.iter().any(|thing| thing.clone().ever_has(self.held_out))
        })
    }
}

impl Alternative for Thing {
    fn with(self, values: u64) -> Self {
        Self { values: self.values | values as u8, ..self }
    }

    /// The thing that is both.
    fn joined(&self, other: &Self) -> Self {
        Self { values: self.values | other.values, like: [&self.like[..], &other.like].concat() }
    }

    fn like(mut self, bit: u8, other: &Self) -> Self {
        self.like.push((bit, other.clone()));
        self
    }

    fn identified(&self, other: &Self) -> Self {
        self.joined(other)
    }
}

impl Thing {
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
