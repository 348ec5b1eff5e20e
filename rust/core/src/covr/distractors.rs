//! Distractors: images of a set that do not show what a question describes, but something close to it.

use super::matching::{Part, Pattern, Rows};
use crate::rng::StreamRng;
use crate::scene::{MAX_IMAGES, MAX_SET_OBJECTS, SceneView};

/// Maximum number of scenes of a window that are searched for a question's distractors.
const MOST_LOOKED_AT: usize = 160;
/// The search ends after this many distractors.
const ENOUGH: usize = 40;
/// Maximum number of kinds of distractors, so that a mask of them has 16 bits.
const MOST_KINDS: usize = 16;

/// The scenes of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowScenes<'a> {
    pub views: &'a [SceneView<'a>],
    /// By scene, whether an object has the held-out values.
    pub have_pair: &'a [bool],
}

/// A scene that may be a distractor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distractor {
    scene: u8,
    /// The kinds of distractor that the scene is, a bit each.
    kinds: u16,
    /// For each of the two questions, whether the scene also contradicts the answer.
    contradicts: [bool; 2],
}

/// The scenes that may be distractors of a pair of questions.
#[derive(Debug, Default)]
pub(super) struct Distractors {
    found: Vec<Distractor>,
    n_kinds: u32,
}

/// The kinds of distractors of subgraphs, with one or two of their parts contradicted.
#[derive(Debug, Default)]
pub(super) struct Kinds(Vec<Pattern>);

impl Kinds {
    /// Adds the kinds of a subgraph: each single part, then random pairs of parts, up to half of the maximum number.
    pub fn add(&mut self, rng: &mut StreamRng, pattern: &Pattern, parts: impl Iterator<Item = Part>) {
        let parts: Vec<Part> = parts.collect();
        let most = self.0.len() + MOST_KINDS / 2;
        self.0.extend(parts.iter().map(|&part| pattern.contradicted(part)));
        let n = parts.len() as u32;
        for _ in 0..n {
            let [a, b] = [rng.below(n), rng.below(n)].map(|place| parts[place as usize]);
            if a != b {
                self.0.push(pattern.contradicted(a).contradicted(b));
            }
        }
        self.0.truncate(most);
    }
}

impl Distractors {
    /// Searches a window, starting from a random scene, for distractors. `is_free` tells whether a scene lacks what the
    /// question describes. `contradicts` gets a scene and the objects that a contradicted pattern describes.
    pub fn find(
        rng: &mut StreamRng,
        scenes: WindowScenes<'_>,
        rows: &Rows,
        kinds: &Kinds,
        is_free: impl Fn(usize) -> bool,
        contradicts: impl Fn(SceneView<'_>, u32) -> [bool; 2],
    ) -> Self {
        let n = scenes.views.len();
        let first = rng.below(n as u32) as usize;
        let mut found = Vec::with_capacity(ENOUGH);
        for scene in (first..n).chain(0..first).take(MOST_LOOKED_AT).filter(|&scene| is_free(scene)) {
            let view = scenes.views[scene];
            let mut each = Distractor { scene: scene as u8, kinds: 0, contradicts: [false; 2] };
            for (kind, pattern) in kinds.0.iter().enumerate() {
                let members = pattern.members(view, rows);
                if members != 0 {
                    each.kinds |= 1 << kind;
                    let also = contradicts(view, members);
                    each.contradicts = [0, 1].map(|question| each.contradicts[question] | also[question]);
                }
            }
            if each.kinds != 0 {
                found.push(each);
            }
            if found.len() == ENOUGH {
                break;
            }
        }
        Self { found, n_kinds: kinds.0.len() as u32 }
    }

    /// Takes any scenes of a window that lack what the question describes: COVR's easy variant.
    pub fn random(rng: &mut StreamRng, scenes: WindowScenes<'_>, is_free: impl Fn(usize) -> bool) -> Self {
        let n = scenes.views.len();
        let first = rng.below(n as u32) as usize;
        let free = (first..n).chain(0..first).filter(|&scene| is_free(scene)).take(ENOUGH);
        let found = free.map(|scene| Distractor { scene: scene as u8, kinds: 1, contradicts: [true; 2] });
        Self { found: found.collect(), n_kinds: 1 }
    }

    /// Whether one of a question's distractors contradicts its answer.
    pub fn some_contradicts(&self, question: usize) -> bool {
        self.found.iter().any(|each| each.contradicts[question])
    }

    /// Fills a set up to `n` images with distractors of each kind in turn. The first contradicts the answer of the
    /// question if `contradicts`, and shows the held-out values if `shows_pair`.
    pub fn fill(
        &self,
        rng: &mut StreamRng,
        scenes: WindowScenes<'_>,
        set: &mut ImageSet,
        n: usize,
        (question, contradicts): (usize, bool),
        shows_pair: bool,
    ) -> Option<()> {
        let is_first = |each: &Distractor| {
            (!contradicts || each.contradicts[question]) && (!shows_pair || scenes.have_pair[each.scene as usize])
        };
        if (contradicts || shows_pair) && set.n() < n {
            self.take(rng, set, is_first)?;
        } else if contradicts || shows_pair {
            return None;
        }
        let (mut kind, mut n_failed) = (rng.below(self.n_kinds), 0);
        while set.n() < n {
            if self.take(rng, set, |each| each.kinds >> kind & 1 == 1).is_some() {
                n_failed = 0;
            } else {
                n_failed += 1;
                if n_failed >= self.n_kinds {
                    return None;
                }
            }
            kind = (kind + 1) % self.n_kinds.max(1);
        }
        Some(())
    }

    /// Adds a uniformly drawn distractor that passes a test and is not in the set yet.
    fn take(&self, rng: &mut StreamRng, set: &mut ImageSet, is_wanted: impl Fn(&Distractor) -> bool) -> Option<()> {
        let is_new = |each: &&Distractor| is_wanted(each) && !set.has(each.scene);
        let n = self.found.iter().filter(is_new).count() as u32;
        if n == 0 {
            return None;
        }
        let scene = self.found.iter().filter(is_new).nth(rng.below(n) as usize)?.scene;
        set.push(scene)
    }
}

/// A set of scenes of a window, given by number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ImageSet {
    scenes: [u8; MAX_IMAGES],
    n: usize,
}

impl ImageSet {
    pub fn n(&self) -> usize {
        self.n
    }

    pub fn scenes(&self) -> &[u8] {
        &self.scenes[..self.n]
    }

    pub fn has(&self, scene: u8) -> bool {
        self.scenes().contains(&scene)
    }

    /// Adds a scene; None if it is in the set, or the set is full.
    pub fn push(&mut self, scene: u8) -> Option<()> {
        if self.n == MAX_IMAGES || self.has(scene) {
            return None;
        }
        self.scenes[self.n] = scene;
        self.n += 1;
        Some(())
    }

    /// Shuffles the scenes and returns the new place of the first one.
    pub fn shuffle(&mut self, rng: &mut StreamRng) -> usize {
        let first = self.scenes[0];
        rng.shuffle(&mut self.scenes[..self.n]);
        self.scenes().iter().position(|&scene| scene == first).unwrap_or(0)
    }

    /// Whether the scenes have at most as many objects as a set may have.
    pub fn fits(&self, scenes: WindowScenes<'_>) -> bool {
        let n_objects = self.scenes().iter().map(|&scene| scenes.views[usize::from(scene)].n_objects());
        n_objects.sum::<usize>() <= MAX_SET_OBJECTS
    }
}
