//! Samples the scenes of a pool so that each meets every constraint.
//!
//! A scene is a function of its index alone, so any scene can be made anywhere, in any order. How many objects it has
//! and what they are is drawn before any of them is placed, and stays when a placement fails. Constraints are tested on
//! what the file will say: every number is rounded before it decides anything.

use super::clevr::{self, Places};
use super::config::DirectionsFrom;
use super::geometry::{Vec3, nearest, round6};
use super::rejections::Rejections;
use super::relation::Directions;
use super::view::turn;
use super::visibility::{Body, Viewer};
use super::world::{SIZE, World};
use super::{Object, Origin, Scene, SceneError, Seen, Staging, StreamId};
use crate::rng::{StreamKey, StreamRng};
use crate::scene::camera::{Camera, Lens};
use crate::vocab::N_TYPES;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A named, endless, seeded stream of scenes.
#[derive(Clone, Debug)]
pub struct Pool<'w> {
    pub(super) world: &'w World,
    seed: u64,
    pub(super) origin: Arc<Origin>,
    scenes: StreamKey,
    /// Orders the numbers of objects within each run.
    runs: StreamKey,
    places: StreamKey,
    /// Which indices have scenes from elsewhere, in a pool that has some.
    imported: Option<Places<'w>>,
    pub(super) lens: Lens,
}

/// A scene's camera and lights, and what follows from them.
pub(super) struct Stage {
    pub(super) camera: Camera,
    pub(super) directions: Directions,
    pub(super) staging: Staging,
}

/// An object before its visibility is known.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    attributes: [u8; N_TYPES],
    position: Vec3,
    rotation_deg: f64,
    turn: [f64; 2],
}

/// Buffers, one set per thread.
#[derive(Default)]
pub(super) struct Workspace<'w> {
    pub(super) placed: Vec<Placed>,
    bodies: Vec<Body<'w>>,
    viewer: Viewer,
}

impl<'w> Pool<'w> {
    pub fn new(world: &'w World, seed: u64, name: &str) -> Self {
        let stream =
            |kind: &[u8]| StreamKey::new(&[kind, world.fingerprint().as_bytes(), &seed.to_le_bytes(), name.as_bytes()]);
        let origin = Arc::new(Origin {
            pool: name.to_owned(),
            stream: Some(StreamId { world: world.fingerprint().to_owned(), seed }),
            lights: world.look().lights.iter().map(|light| light.name.clone()).collect(),
        });
        let lens = world.look().camera.lens(world.config().width, world.config().height);
        // Only the pool that is trained on takes scenes from CLEVR.
        let import = world.import().filter(|_| name == clevr::POOL);
        let imported = import.map(|import| Places::new(import, &stream(b"imported scene"), name));
        let (scenes, runs, places) = (stream(b"scene"), stream(b"numbers of objects"), stream(b"place"));
        Self { world, seed, origin, scenes, runs, places, imported, lens }
    }

    /// What its scenes are made of.
    pub fn world(&self) -> &World {
        self.world
    }

    /// The number of objects of the scene at an index. Each number that the world allows occurs once in a run of as
    /// many scenes, in a drawn order.
    pub fn n_objects(&self, index: u64) -> u32 {
        let length = self.world.config().run_length();
        self.numbers(index / length)[(index % length) as usize]
    }

    /// The index of the scene in a run that has this many objects.
    pub fn index_of(&self, run: u64, n_objects: u32) -> u64 {
        let place = self.numbers(run).iter().position(|&number| number == n_objects).unwrap_or(0);
        run * self.world.config().run_length() + place as u64
    }

    /// The number of objects of each scene of a run.
    fn numbers(&self, run: u64) -> Vec<u32> {
        let config = self.world.config();
        let mut numbers: Vec<u32> = (config.min_objects..=config.max_objects).collect();
        self.runs.at(run).shuffle(&mut numbers);
        numbers
    }

    /// The attribute values of the objects of the scene at an index, which needs no placement.
    pub fn attributes(&self, index: u64) -> Vec<[u8; N_TYPES]> {
        match self.imported_number(index) {
            Some((places, number)) => places.attributes(number),
            None => self.draw_objects(index, &mut self.scenes.at(index)),
        }
    }

    /// The published index of the CLEVR scene at this index of the pool; None for a scene of the pool's own.
    pub fn published_index(&self, index: u64) -> Option<u32> {
        self.imported_number(index).map(|(places, number)| places.published_index(number))
    }

    fn imported_number(&self, index: u64) -> Option<(&Places<'w>, usize)> {
        let places = self.imported.as_ref()?;
        let run = index / self.world.config().run_length();
        Some((places, places.number_at(run, self.n_objects(index))?))
    }

    /// One scene.
    pub fn scene(&self, index: u64) -> Result<Scene, SceneError> {
        self.sample(index, &mut Workspace::default())
    }

    /// Many scenes, in the order of the given indices, on all cores.
    ///
    /// Fails with the error of the first scene that cannot be sampled.
    pub fn scenes(&self, indices: impl IntoIterator<Item = u64>) -> Result<Vec<Scene>, SceneError> {
        self.map_scenes(indices, |scene| scene)
    }

    /// Applies `look_at` to each of many scenes, on all cores, so that the scenes need not be kept.
    pub fn map_scenes<T: Send>(
        &self,
        indices: impl IntoIterator<Item = u64>,
        look_at: impl Fn(Scene) -> T + Sync,
    ) -> Result<Vec<T>, SceneError> {
        let indices: Vec<u64> = indices.into_iter().collect();
        // Scenes after a failed one need not be made, but those before it must be, so that the first error is the same
        // with any number of threads.
        let first_failed = AtomicUsize::new(usize::MAX);
        let results: Vec<Option<Result<T, SceneError>>> = indices
            .par_iter()
            .enumerate()
            .map_init(Workspace::default, |workspace, (place, &index)| {
                if place > first_failed.load(Ordering::Relaxed) {
                    return None;
                }
                let result = self.sample(index, workspace).map(&look_at);
                if result.is_err() {
                    first_failed.fetch_min(place, Ordering::Relaxed);
                }
                Some(result)
            })
            .collect();
        results.into_iter().flatten().collect()
    }

    /// Images by index, `n_images` for each place: objects at the same positions on the ground, with one draw of
    /// rotations, camera and lights. `ground` draws the positions, `draw` the objects' values in each image of a place.
    ///
    /// A place keeps its values, and all else is drawn again until all its images satisfy every constraint.
    pub fn arranged(
        &self,
        indices: &[u64],
        n_images: u64,
        ground: impl Fn(&mut StreamRng) -> Vec<[f64; 2]> + Sync,
        draw: impl Fn(u64, &mut StreamRng) -> Vec<Vec<[u8; N_TYPES]>> + Sync,
    ) -> Result<Vec<Scene>, SceneError> {
        // Consecutive images of one place share a single draw of it.
        let runs: Vec<&[u64]> = indices.chunk_by(|a, b| a / n_images == b / n_images).collect();
        let scenes = runs.par_iter().map(|run| {
            let place = run[0] / n_images;
            let drawn = self.draw_place(place, n_images, &ground, |rng| draw(place, rng))?;
            Ok(run.iter().map(|index| drawn[(index % n_images) as usize].clone()).collect())
        });
        Ok(scenes.collect::<Result<Vec<Vec<Scene>>, SceneError>>()?.concat())
    }

    /// All images of a place.
    fn draw_place(
        &self,
        place: u64,
        n_images: u64,
        ground: impl Fn(&mut StreamRng) -> Vec<[f64; 2]>,
        draw: impl Fn(&mut StreamRng) -> Vec<Vec<[u8; N_TYPES]>>,
    ) -> Result<Vec<Scene>, SceneError> {
        let mut rng = self.places.at(place);
        let mut workspace = Workspace::default();
        let mut rejections = Rejections::default();
        let images = draw(&mut rng);
        while rejections.restarts() <= u64::from(self.world.config().max_restarts) {
            let stage = self.draw_stage(&mut rng);
            let ground = ground(&mut rng);
            let rotations_deg: Vec<f64> = ground.iter().map(|_| draw_rotation(&mut rng)).collect();
            let mut scenes = Vec::with_capacity(images.len());
            for (image, objects) in (0..).zip(&images) {
                let standing = objects.iter().zip(&ground).zip(&rotations_deg);
                if !self.stand(standing, &stage.directions, &mut workspace.placed, &mut rejections) {
                    rejections.placement += 1;
                    break;
                }
                let Some(scene) = self.finish(place * n_images + image, &stage, &mut workspace) else {
                    rejections.visibility += 1;
                    break;
                };
                scenes.push(scene);
            }
            if scenes.len() == images.len() {
                return Ok(scenes);
            }
        }
        Err(self.exhausted(place, images.first().map_or(0, Vec::len), rejections))
    }

    /// Puts objects at given positions; returns false if two of them are too near, or nearly level.
    pub(super) fn stand<'a>(
        &self,
        standing: impl Iterator<Item = ((&'a [u8; N_TYPES], &'a [f64; 2]), &'a f64)>,
        directions: &Directions,
        placed: &mut Vec<Placed>,
        rejections: &mut Rejections,
    ) -> bool {
        placed.clear();
        for ((attributes, ground), rotation_deg) in standing {
            let radius = self.world.radius(attributes[SIZE]);
            if !self.fits(*ground, radius, placed, directions, rejections) {
                return false;
            }
            placed.push(self.placed(*attributes, *ground, *rotation_deg));
        }
        true
    }

    fn sample(&self, index: u64, workspace: &mut Workspace<'w>) -> Result<Scene, SceneError> {
        if let Some((places, number)) = self.imported_number(index) {
            return Ok(places.scene(number, index));
        }
        let mut rng = self.scenes.at(index);
        // Objects and stage stay when a scene is restarted, so that hard scenes are not replaced by easier ones.
        let objects = self.draw_objects(index, &mut rng);
        let stage = self.draw_stage(&mut rng);
        let mut rejections = Rejections::default();
        while rejections.restarts() <= u64::from(self.world.config().max_restarts) {
            if !self.place(&objects, &stage.directions, &mut rng, &mut workspace.placed, &mut rejections) {
                rejections.placement += 1;
                continue;
            }
            match self.finish(index, &stage, workspace) {
                Some(scene) => return Ok(scene),
                None => rejections.visibility += 1,
            }
        }
        Err(self.exhausted(index, objects.len(), rejections))
    }

    fn exhausted(&self, index: u64, n_objects: usize, rejections: Rejections) -> SceneError {
        let (pool, seed) = (self.origin.pool.clone(), self.seed);
        SceneError::Exhausted { pool, seed, index, n_objects, rejections }
    }

    fn draw_stage(&self, rng: &mut StreamRng) -> Stage {
        let look = self.world.look();
        let mut jittered = |location: Vec3, jitter: f64| location.map(|x| round6(x + rng.uniform(-jitter, jitter)));
        let camera = jittered(look.camera.location, look.camera.jitter);
        let lights = look.lights.iter().map(|light| jittered(light.location, light.jitter)).collect();
        let seen_from = match self.world.config().directions {
            DirectionsFrom::Camera => camera,
            DirectionsFrom::Clevr => look.camera.location,
        };
        Stage {
            camera: look.camera.at(camera, self.lens),
            directions: Directions::from_camera(seen_from, look.camera.target),
            staging: Staging { camera, lights },
        }
    }

    /// The attribute values of all objects of a scene, the first draws of its stream.
    fn draw_objects(&self, index: u64, rng: &mut StreamRng) -> Vec<[u8; N_TYPES]> {
        (0..self.n_objects(index)).map(|_| self.draw_attributes(rng)).collect()
    }

    /// Size, colour, material and shape of an object: each uniform over the vocabulary, or drawn from the palette.
    fn draw_attributes(&self, rng: &mut StreamRng) -> [u8; N_TYPES] {
        if let Some(palette) = self.world.palette() {
            return palette.draw(self.world.vocab(), rng);
        }
        std::array::from_fn(|kind| rng.below(self.world.vocab().n_values(kind) as u32) as u8)
    }

    /// A position on the ground, uniform in the world's range.
    pub fn draw_position(&self, rng: &mut StreamRng) -> [f64; 2] {
        let range = self.world.config().position_range;
        [round6(rng.uniform(-range, range)), round6(rng.uniform(-range, range))]
    }

    /// Places all objects of a scene; returns false if one of them finds no position.
    fn place(
        &self,
        objects: &[[u8; N_TYPES]],
        directions: &Directions,
        rng: &mut StreamRng,
        placed: &mut Vec<Placed>,
        rejections: &mut Rejections,
    ) -> bool {
        placed.clear();
        for &attributes in objects {
            let radius = self.world.radius(attributes[SIZE]);
            let found = (0..self.world.config().tries_per_object).find_map(|_| {
                let ground = self.draw_position(rng);
                self.fits(ground, radius, placed, directions, rejections).then_some(ground)
            });
            let Some(ground) = found else { return false };
            let rotation_deg = draw_rotation(rng);
            placed.push(self.placed(attributes, ground, rotation_deg));
        }
        true
    }

    fn placed(&self, attributes: [u8; N_TYPES], [x, y]: [f64; 2], rotation_deg: f64) -> Placed {
        let position = [x, y, self.world.radius(attributes[SIZE])];
        Placed { attributes, position, rotation_deg, turn: turn(rotation_deg) }
    }

    /// Whether a new object keeps its distance and its margin to all objects placed so far.
    fn fits(
        &self,
        [x, y]: [f64; 2],
        radius: f64,
        placed: &[Placed],
        directions: &Directions,
        rejections: &mut Rejections,
    ) -> bool {
        let config = self.world.config();
        let (right, behind) = (directions.right(), directions.behind());
        for other in placed {
            let (dx, dy) = (x - other.position[0], y - other.position[1]);
            // Left and front are right and behind with the opposite sign.
            let level = |along: Vec3| {
                let offset = (dx * along[0] + dy * along[1]).abs();
                0.0 < offset && offset < config.margin
            };
            if level(right) || level(behind) {
                rejections.margin += 1;
                return false;
            }
            let other_radius = self.world.radius(other.attributes[SIZE]);
            if (dx * dx + dy * dy).sqrt() - radius - other_radius < config.min_distance {
                rejections.distance += 1;
                return false;
            }
        }
        true
    }

    /// Finds what is seen of the placed objects; None if too little is seen of one.
    pub(super) fn finish(&self, index: u64, stage: &Stage, workspace: &mut Workspace<'w>) -> Option<Scene> {
        let Workspace { placed, bodies, viewer } = workspace;
        bodies.clear();
        bodies.extend(placed.iter().map(|o| self.world.body(o.attributes, o.position, o.turn)));
        let ground = &self.world.look().ground;
        let sights = viewer.view(bodies, &stage.camera, ground, self.world.config().min_pixels)?;
        let objects: Vec<Object> = placed
            .iter()
            .zip(sights)
            .map(|(object, sight)| {
                let centre = stage.camera.project(object.position);
                Object {
                    attributes: object.attributes,
                    position: object.position,
                    rotation_deg: object.rotation_deg,
                    pixel: [nearest(centre.u_px) as i32, nearest(centre.v_px) as i32],
                    depth: round6(centre.depth),
                    sight: Some(Seen {
                        visible_px: sight.visible_px,
                        visible_fraction: round6(f64::from(sight.visible_px) / f64::from(sight.total_px)),
                        bbox: sight.bbox,
                    }),
                }
            })
            .collect();
        let positions: Vec<Vec3> = objects.iter().map(|object| object.position).collect();
        Some(Scene {
            origin: Arc::clone(&self.origin),
            index,
            image_filename: None,
            source: None,
            related: stage.directions.related(&positions),
            objects,
            directions: stage.directions,
            staging: Some(stage.staging.clone()),
        })
    }
}

/// Degrees in `[0, 360)`.
fn draw_rotation(rng: &mut StreamRng) -> f64 {
    let rotation_deg = round6(rng.uniform(0.0, 360.0));
    if rotation_deg < 360.0 { rotation_deg } else { 0.0 }
}
