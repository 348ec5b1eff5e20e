//! The pool of one-object images of some attribute types, and the questions that tell them apart.
//!
//! A place is one draw of position, rotation, camera and lights, shown with each corner of a grid of values (two of
//! each type). There is a place for each grid, each combination of the other attributes, and each copy. Each corner is
//! the match of one group, which asks for the corner's pair of values on the corner's own image and on those where one
//! value or both are changed. This is how CLEVR-HOPE's minimal sets are made (Berlot-Attwell et al., section 3), with
//! the paper's numbers. With one type, a grid is two of its values and a group is two images: the existence questions
//! of the preliminary sets (appendix B), of which `MinimalKind::Ood` with a single value asks for that value.
//!
//! If a train set sees only a palette, the grids are those with three or four corners in the palette; the fourth corner
//! may be the held-out pair. Questions ask for what was seen, on images that show what was seen. The exception is the
//! pair's group, whose other three images show what was seen. So there are fewer grids, and more copies of each.
//!
//! As in the original, places can be shared: all pairs then show all objects at the same few places, and a pair's group
//! of a copy is at the place with the number of the copy and of the grid among the grids that have the pair. So a pair
//! sees each grid at a place of its own. The place also decides the wording.

use super::diversity::check_seen;
use super::error::SplitError;
use super::plain_question::PlainQuestion;
use crate::holdout::Holdout;
use crate::question::instantiate::Question;
use crate::question::template::TemplateSet;
use crate::scene::{Palette, Pool, Scene, World};
use crate::vocab::{Answer, N_TYPES, TYPE_NAMES, Vocabulary};

/// Most places of a pool at the paper's size, which consists of whole copies of all grids and combinations.
const GROUPS_OF_A_PAIR: usize = 960;

/// Maximum numbers of grids, of combinations of the other values, and of objects at shared places, all of which are
/// laid out in memory.
const MOST_LAID_OUT: usize = 1 << 20;

/// The name of the pool of shared places.
const SHARED: &str = "minimal";

/// Which of the two minimal sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinimalKind {
    Iid,
    Ood,
}

/// The pool of one-object images of some attribute types: how its scenes are numbered.
///
/// Scene numbers are `((grid * combinations + combination) * copies + copy) * corners + corner`, where `copies` is the
/// paper's number, however many of them a dataset uses.
#[derive(Clone, Debug)]
pub struct MinimalPool {
    kinds: Vec<usize>,
    /// For each grid, the two values of each kind.
    grids: Vec<Vec<[u8; 2]>>,
    /// For each combination, the values of the other types (0 for the types in `kinds`).
    others: Vec<[u8; N_TYPES]>,
    copies: usize,
    /// What is seen; if None, everything but the pair.
    palette: Option<Palette>,
    /// By type, the number of values, if places are shared with all other types.
    shared: Option<[usize; N_TYPES]>,
}

impl MinimalPool {
    /// The pool for the types that a conjunction holds out; with a palette, only for the grids that the palette shows.
    ///
    /// # Errors
    /// `Diversity` for a palette with which the conjunction could not be held out.
    pub fn new(vocab: &Vocabulary, holdout: &Holdout, palette: Option<&Palette>) -> Result<Self, SplitError> {
        if let Some(palette) = palette {
            check_seen(vocab, holdout, palette)?;
        }
        let kinds = (0..N_TYPES).filter(|&kind| holdout.values()[kind].is_some()).collect();
        Self::of_types(vocab, kinds, palette)
    }

    /// The same grids and groups, at places that are shared by all types and pairs.
    ///
    /// # Errors
    /// `Impossible` with a palette, which has not all objects.
    pub fn shared(self, vocab: &Vocabulary) -> Result<Self, SplitError> {
        if let Some(palette) = &self.palette {
            let problem = format!("palette {} has not all the objects that shared places show", palette.name());
            return Err(SplitError::Impossible { split: self.name(), problem });
        }
        let n_values: [usize; N_TYPES] = std::array::from_fn(|kind| vocab.n_values(kind));
        laid_out(n_values, SHARED, "objects at a place that all pairs share")?;
        Ok(Self { shared: Some(n_values), ..self })
    }

    /// The pool with this name: `minimal` for shared places, `minimal_<type>_<type>`, or
    /// `minimal_<type>_<type>-<palette>` in a world with a palette. None for other names.
    pub fn named(world: &World, name: &str) -> Option<Result<Self, SplitError>> {
        let (vocab, palette) = (world.vocab(), world.palette());
        if name == SHARED {
            // Any types will do, since all have the same scenes.
            return Some(Self::of_types(vocab, vec![N_TYPES - 1], palette).and_then(|pool| pool.shared(vocab)));
        }
        let name = match palette {
            Some(palette) => name.strip_suffix(palette.name())?.strip_suffix('-')?,
            None => name,
        };
        let types: Vec<&str> = name.strip_prefix("minimal_")?.split('_').collect();
        let kinds: Vec<usize> =
            types.iter().map(|name| TYPE_NAMES.iter().position(|t| t == name)).collect::<Option<_>>()?;
        kinds.is_sorted_by(|a, b| a < b).then(|| Self::of_types(vocab, kinds, palette))
    }

    /// `kinds` must ascend; a palette must be of exactly these types.
    fn of_types(vocab: &Vocabulary, kinds: Vec<usize>, palette: Option<&Palette>) -> Result<Self, SplitError> {
        let name = Self::name_of(&kinds);
        let pairs_of = |&kind: &usize| vocab.n_values(kind) * (vocab.n_values(kind) - 1) / 2;
        laid_out(kinds.iter().map(pairs_of), &name, "grids of two values of each type")?;
        let others = (0..N_TYPES).filter(|kind| !kinds.contains(kind));
        laid_out(others.map(|kind| vocab.n_values(kind)), &name, "combinations of the other values")?;
        let mut grids: Vec<Vec<[u8; 2]>> = vec![Vec::new()];
        for &kind in &kinds {
            let n = vocab.n_values(kind) as u8;
            let pairs: Vec<[u8; 2]> = (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b])).collect();
            if pairs.is_empty() {
                return Err(SplitError::Impossible {
                    split: Self::name_of(&kinds),
                    problem: format!("{} has one value, so none can be changed", TYPE_NAMES[kind]),
                });
            }
            grids =
                grids.iter().flat_map(|grid| pairs.iter().map(move |pair| [&grid[..], &[*pair]].concat())).collect();
        }
        if let Some(palette) = palette {
            let is_absent = |grid: &[[u8; 2]], corner| !palette.allows(at_corner([0; N_TYPES], &kinds, grid, corner));
            grids.retain(|grid| (0..1 << kinds.len()).filter(|&corner| is_absent(grid, corner)).count() < 2);
            if palette.kinds() != kinds || grids.is_empty() {
                let problem = format!("palette {} shows no three corners of a grid of these types", palette.name());
                return Err(SplitError::Impossible { split: Self::name_of(&kinds), problem });
            }
        }
        let mut others = vec![[0; N_TYPES]];
        for kind in (0..N_TYPES).filter(|kind| !kinds.contains(kind)) {
            others = others
                .iter()
                .flat_map(|values| (0..vocab.n_values(kind) as u8).map(|v| with_value(*values, kind, v)))
                .collect();
        }
        let copies = (GROUPS_OF_A_PAIR / (grids.len() * others.len())).max(1);
        Ok(Self { kinds, grids, others, copies, palette: palette.cloned(), shared: None })
    }

    /// The pool's name: `minimal_<type>_<type>`, with the types in the order in which questions name them, then the
    /// palette.
    pub fn name(&self) -> String {
        if self.shared.is_some() {
            return SHARED.to_owned();
        }
        let name = Self::name_of(&self.kinds);
        self.palette.as_ref().map_or(name.clone(), |palette| format!("{name}-{}", palette.name()))
    }

    fn name_of(kinds: &[usize]) -> String {
        kinds.iter().fold("minimal".to_owned(), |name, &kind| format!("{name}_{}", TYPE_NAMES[kind]))
    }

    /// Number of images of a place.
    pub fn corners(&self) -> usize {
        1 << self.kinds.len()
    }

    /// Number of copies of each grid and combination at the paper's size.
    pub fn copies(&self) -> usize {
        self.copies
    }

    pub fn n_grids(&self) -> usize {
        self.grids.len()
    }

    pub fn n_combinations(&self) -> usize {
        self.others.len()
    }

    /// Number of places in the whole pool.
    pub fn n_places(&self) -> u64 {
        (self.grids.len() * self.others.len() * self.copies) as u64
    }

    /// The attribute values shown at a corner of a place.
    pub fn attributes(&self, place: u64, corner: usize) -> [u8; N_TYPES] {
        let combination = place as usize / self.copies % self.others.len();
        at_corner(self.others[combination], &self.kinds, self.grid(place), corner)
    }

    fn grid(&self, place: u64) -> &[[u8; 2]] {
        &self.grids[place as usize / (self.copies * self.others.len())]
    }

    /// The corner of a place that shows the conjunction, if its grid holds it.
    pub fn held_corner(&self, place: u64, holdout: &Holdout) -> Option<usize> {
        let mut corner = 0;
        for (bit, (&kind, pair)) in self.kinds.iter().zip(self.grid(place)).enumerate() {
            let side = pair.iter().position(|&value| Some(value) == holdout.values()[kind])?;
            corner |= side << bit;
        }
        Some(corner)
    }

    /// The corner of a place that shows what is not seen in training, if there is one: the conjunction, or what is
    /// not in the palette.
    fn unseen_corner(&self, place: u64, holdout: &Holdout) -> Option<usize> {
        let is_absent = |corner: &usize| {
            self.palette.as_ref().is_some_and(|palette| !palette.allows(self.attributes(place, *corner)))
        };
        self.held_corner(place, holdout).or_else(|| (0..self.corners()).find(is_absent))
    }

    /// Number of shared places that a pair of these types uses; None if each place is of these types alone.
    pub fn n_shared_places(&self) -> Option<usize> {
        self.shared.as_ref().map(|n_values| self.copies * self.grids_of_a_pair(n_values))
    }

    /// Number of grids that have a pair.
    fn grids_of_a_pair(&self, n_values: &[usize; N_TYPES]) -> usize {
        self.kinds.iter().map(|&kind| n_values[kind] - 1).product()
    }

    /// The place of a group, which asks for a corner of a grid: its own, or a shared one.
    fn place_of(&self, place: u64, matching: usize) -> u64 {
        let Some(n_values) = &self.shared else { return place };
        // By type, which of the other values the grid has besides the corner's; together, which of its grids it is.
        let sides = self.kinds.iter().zip(self.grid(place)).enumerate();
        let rank = |rank: usize, (bit, (&kind, pair)): (usize, (&usize, &[u8; 2]))| {
            let (own, other) = (pair[matching >> bit & 1], pair[!matching >> bit & 1]);
            rank * (n_values[kind] - 1) + usize::from(other - u8::from(other > own))
        };
        place % self.copies as u64 * self.grids_of_a_pair(n_values) as u64 + sides.fold(0, rank) as u64
    }

    /// The index of the scene that shows a corner to the group that asks for another one, or for the same.
    fn scene_of(&self, place: u64, matching: usize, corner: usize) -> u64 {
        let Some(n_values) = &self.shared else { return place * self.corners() as u64 + corner as u64 };
        let values = self.attributes(place, corner).into_iter().zip(n_values);
        let object = values.fold(0, |object, (value, n)| object * n + usize::from(value));
        self.place_of(place, matching) * n_values.iter().product::<usize>() as u64 + object as u64
    }

    /// The scenes with these indices, in the same order.
    ///
    /// # Errors
    /// `Impossible` for an index beyond the pool.
    pub fn scenes_at(&self, world: &World, seed: u64, indices: &[u64]) -> Result<Vec<Scene>, SplitError> {
        if let Some(n_values) = &self.shared {
            let objects: Vec<Vec<[u8; N_TYPES]>> =
                (0..n_values.iter().product()).map(|object| vec![values_of(object, n_values)]).collect();
            let pool = Pool::new(world, seed, SHARED);
            let ground = |rng: &mut _| vec![pool.draw_position(rng)];
            return Ok(pool.arranged(indices, objects.len() as u64, ground, |_, _| objects.clone())?);
        }
        let corners = self.corners() as u64;
        let n_scenes = self.n_places() * corners;
        if let Some(index) = indices.iter().find(|&&index| index >= n_scenes) {
            let problem = format!("scene {index} of {n_scenes}");
            return Err(SplitError::Impossible { split: self.name(), problem });
        }
        let pool = Pool::new(world, seed, &self.name());
        let draw = |place: u64| (0..self.corners()).map(|corner| vec![self.attributes(place, corner)]).collect();
        Ok(pool.arranged(indices, corners, |rng| vec![pool.draw_position(rng)], |place, _| draw(place))?)
    }

    /// The questions of a set about some places: group by group, the match first, then the images with the first value
    /// changed, with the second changed, and with both changed.
    pub fn questions(
        &self,
        templates: &TemplateSet,
        seed: u64,
        holdout: &Holdout,
        kind: MinimalKind,
        places: &[u64],
    ) -> Result<Vec<Question>, SplitError> {
        let plain_questions = PlainQuestion::Exist.of_pool(templates, self.name(), seed)?;
        let mut questions = Vec::new();
        for &place in places {
            let held = self.held_corner(place, holdout);
            let unseen = self.unseen_corner(place, holdout);
            for matching in 0..self.corners() {
                let wanted = match kind {
                    MinimalKind::Iid => unseen != Some(matching),
                    MinimalKind::Ood => held == Some(matching),
                };
                if !wanted {
                    continue;
                }
                // What decides the wording.
                let group = match self.shared {
                    Some(_) => self.place_of(place, matching),
                    None => place * self.corners() as u64 + matching as u64,
                };
                let shown = self.attributes(place, matching);
                let values = std::array::from_fn(|kind| self.kinds.contains(&kind).then_some(shown[kind]));
                let question = plain_questions.question(&values, group);
                for changed in 0..self.corners() {
                    let corner = matching ^ changed;
                    if kind == MinimalKind::Iid && unseen == Some(corner) {
                        continue;
                    }
                    questions.push(question(self.scene_of(place, matching, corner), Answer::Bool(changed == 0)));
                }
            }
        }
        Ok(questions)
    }
}

/// Refuses a product of numbers that is too large to lay out; `what` says what it counts.
fn laid_out(numbers: impl IntoIterator<Item = usize>, split: &str, what: &str) -> Result<(), SplitError> {
    let product = numbers.into_iter().fold(1_usize, usize::saturating_mul);
    let problem = || format!("{product} {what}; at most {MOST_LAID_OUT} are possible");
    let refused = || SplitError::Impossible { split: split.to_owned(), problem: problem() };
    if product <= MOST_LAID_OUT { Ok(()) } else { Err(refused()) }
}

/// These values, with those of `kinds` taken from a corner of a grid.
fn at_corner(values: [u8; N_TYPES], kinds: &[usize], grid: &[[u8; 2]], corner: usize) -> [u8; N_TYPES] {
    let sides = kinds.iter().zip(grid).enumerate();
    sides.fold(values, |values, (bit, (&kind, pair))| with_value(values, kind, pair[corner >> bit & 1]))
}

/// The values of the object with a number, which counts through those of the last type first.
fn values_of(object: usize, n_values: &[usize; N_TYPES]) -> [u8; N_TYPES] {
    let mut left = object;
    let mut values = [0; N_TYPES];
    for (value, n) in values.iter_mut().zip(n_values).rev() {
        *value = (left % n) as u8;
        left /= n;
    }
    values
}

fn with_value(mut values: [u8; N_TYPES], kind: usize, value: u8) -> [u8; N_TYPES] {
    values[kind] = value;
    values
}
