//! Sets of six images in which 0, 1, ... 5 objects have a value, and the questions that count them.
//!
//! CLEVR-HOPE's preliminary sets (Berlot-Attwell et al., appendix B) ask for one value at a time, before pairs of them
//! are held out: existence questions, as a minimal set of one type (`MinimalPool`), and counting questions, as here.
//! Five objects stand at the same five positions in every image of every set. A set is one draw of camera, lights,
//! rotations and the objects' other values; each image gives the value to one more object than the image before it, and
//! nothing else changes.
//!
//! The paper states neither the positions nor the values of the other objects; both are chosen here. An object without
//! the value has another value of the same type, each equally likely, and keeps it until its turn comes.

use super::error::SplitError;
use super::plain_question::PlainQuestion;
use crate::question::instantiate::Question;
use crate::question::template::TemplateSet;
use crate::rng::StreamRng;
use crate::scene::geometry::round6;
use crate::scene::{Directions, Pool, Scene, SceneError, World};
use crate::vocab::{Answer, N_TYPES, TYPE_NAMES, Vocabulary};
use std::ops::Range;

/// The offset of each position to the right and to the back, as seen by the camera without jitter, in units of `UNIT`.
///
/// They form a square and its centre, turned so that no two positions are level along either direction: they are at
/// least one unit apart along both, and at least the square root of five units apart in the plane.
const POSITIONS: [[f64; 2]; 5] = [[0.0, 0.0], [1.0, -2.0], [2.0, 1.0], [-1.0, 2.0], [-2.0, -1.0]];
/// A fraction of the range of positions on the ground; whatever the camera, the outermost positions stay in range.
const UNIT: f64 = 0.4;
/// Bound on a pool's scene numbers, since the files' arrays hold them in 31 bits.
const MOST_SCENES: u64 = 1 << 31;
/// Maximum number of sets whose questions one call makes.
const MOST_SETS: u64 = 1 << 18;
/// Images of a set: no objects have the value, then one, ... then all.
const IMAGES: usize = POSITIONS.len() + 1;

/// The pool of counting images of an attribute type: how its scenes are numbered.
///
/// Scene numbers are `(set * values of the type + value) * 6 + objects with the value`; there is no last set.
#[derive(Clone, Debug)]
pub struct CountingPool {
    kind: usize,
    n_values: u64,
}

impl CountingPool {
    /// The pool of an attribute type.
    ///
    /// # Errors
    /// `Impossible` for a type with a single value, which all objects would have.
    pub fn new(vocab: &Vocabulary, kind: usize) -> Result<Self, SplitError> {
        let pool = Self { kind, n_values: vocab.n_values(kind) as u64 };
        if pool.n_values < 2 {
            let problem = format!("{} has one value, so no object can be without it", TYPE_NAMES[kind]);
            return Err(SplitError::Impossible { split: pool.name(), problem });
        }
        Ok(pool)
    }

    /// The pool with this name, `counting_<type>`, in a world without a palette; None for other names.
    pub fn named(world: &World, name: &str) -> Option<Result<Self, SplitError>> {
        let name = name.strip_prefix("counting_").filter(|_| world.palette().is_none())?;
        let kind = TYPE_NAMES.iter().position(|kind| *kind == name)?;
        Some(Self::new(world.vocab(), kind))
    }

    /// `counting_<type>`.
    pub fn name(&self) -> String {
        format!("counting_{}", TYPE_NAMES[self.kind])
    }

    /// Number of images in a set.
    pub fn images(&self) -> usize {
        IMAGES
    }

    /// Where the objects stand on the ground of a world: x and y of each.
    pub fn positions(world: &World) -> [[f64; 2]; POSITIONS.len()] {
        let camera = &world.look().camera;
        let directions = Directions::from_camera(camera.location, camera.target);
        let unit = UNIT * world.config().position_range;
        POSITIONS.map(|[right, behind]| {
            let along = |axis: usize| right * directions.right()[axis] + behind * directions.behind()[axis];
            [round6(unit * along(0)), round6(unit * along(1))]
        })
    }

    /// The scenes with these indices, in the same order.
    pub fn scenes_at(&self, world: &World, seed: u64, indices: &[u64]) -> Result<Vec<Scene>, SceneError> {
        let pool = Pool::new(world, seed, &self.name());
        let ground = Self::positions(world);
        let draw = |place: u64, rng: &mut StreamRng| self.draw_set(world.vocab(), place, rng);
        pool.arranged(indices, IMAGES as u64, |_| ground.to_vec(), draw)
    }

    /// The questions of some sets about a value: for each set, the same question about its images with none, one, ...
    /// all.
    ///
    /// # Errors
    /// `Impossible` for more sets than the pool has room for, or than one call makes.
    pub fn questions(
        &self,
        templates: &TemplateSet,
        seed: u64,
        value: u8,
        sets: Range<u64>,
    ) -> Result<Vec<Question>, SplitError> {
        let most = MOST_SCENES / (IMAGES as u64 * self.n_values);
        if sets.end > most {
            let problem = format!("{} sets, but a pool has room for {most} of each value", sets.end);
            return Err(SplitError::Impossible { split: self.name(), problem });
        }
        let n_sets = sets.end.saturating_sub(sets.start);
        if n_sets > MOST_SETS {
            let problem = format!("{n_sets} sets in one call; at most {MOST_SETS} are made at once");
            return Err(SplitError::Impossible { split: self.name(), problem });
        }
        let plain_questions = PlainQuestion::Count.of_pool(templates, self.name(), seed)?;
        let mut values = [None; N_TYPES];
        values[self.kind] = Some(value);
        let mut questions = Vec::with_capacity(IMAGES * n_sets as usize);
        for set in sets {
            let place = set * self.n_values + u64::from(value);
            let question = plain_questions.question(&values, place);
            let images = 0..IMAGES as u64;
            questions.extend(images.map(|n| question(place * IMAGES as u64 + n, Answer::Integer(n as u8))));
        }
        Ok(questions)
    }

    /// The objects' values in each image of a set; `place` combines the numbers of the set and of its value.
    fn draw_set(&self, vocab: &Vocabulary, place: u64, rng: &mut StreamRng) -> Vec<Vec<[u8; N_TYPES]>> {
        let value = (place % self.n_values) as u8;
        let without: [[u8; N_TYPES]; POSITIONS.len()] = std::array::from_fn(|_| {
            std::array::from_fn(|kind| {
                if kind != self.kind {
                    return rng.below(vocab.n_values(kind) as u32) as u8;
                }
                let other = rng.below(self.n_values as u32 - 1) as u8;
                other + u8::from(other >= value)
            })
        });
        let mut turns: [usize; POSITIONS.len()] = std::array::from_fn(|object| object);
        rng.shuffle(&mut turns);
        (0..IMAGES)
            .map(|matching| {
                let mut objects = without.to_vec();
                turns[..matching].iter().for_each(|&object| objects[object][self.kind] = value);
                objects
            })
            .collect()
    }
}
