//! The scene that is rendered: the look, with a scene's objects, camera and lights in place.

use super::lanes::{Mask, Real};
use super::light::{Light, LightSpec};
use super::material::Lobes;
use super::nearest::nearest;
use super::shader_graph::Shader;
use super::shape::{Shape, ShapeSpec};
use super::sheet::{Sheet, SheetSpec};
use super::surface::Surface;
use super::vector::{V3, v3};
use crate::message::json_message;
use crate::scene::SceneError;
use crate::scene::camera::Camera;
use crate::scene::config::MAX_SIDE;
use crate::scene::look::{Assets, CameraSpec, LookFile, typed};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Most bodies, and most lights, of a stage.
pub const MAX_BODIES: usize = 64;
pub const MAX_LIGHTS: usize = 8;

/// Largest number in a look or a placement; its square is far below the largest 32-bit float.
const MAX_NUMBER: f64 = 1e6;
/// Smallest radius of an object; rays are scaled by its inverse.
const MIN_RADIUS: f64 = 1e-3;

/// The parts of a look that affect an image.
#[derive(Clone, Debug)]
pub struct Studio {
    camera: CameraSpec,
    lights: BTreeMap<String, LightSpec>,
    ground: Sheet,
    background: V3,
    shapes: Assets<Shape>,
    materials: Assets<Shader>,
    /// Name of the look's file, for messages.
    file: String,
    /// See `Stage::blur_glossy`.
    blur_glossy: f32,
}

/// The background, which also illuminates the scene.
#[derive(Clone, Debug, Deserialize)]
struct BackgroundSpec {
    background_strength: f64,
    #[serde(default = "white")]
    background_color: [f64; 3],
}

fn white() -> [f64; 3] {
    [1.0; 3]
}

/// A scene as a renderer needs it, with names resolved: the JSON that images/placement.py writes.
#[derive(Clone, Debug, Deserialize)]
pub struct Placement {
    pub camera: [f64; 3],
    pub lights: BTreeMap<String, [f64; 3]>,
    pub things: Vec<Thing>,
}

/// An object in the world.
#[derive(Clone, Debug, Deserialize)]
pub struct Thing {
    pub shape: String,
    pub material: String,
    /// Linear RGB.
    pub color: [f64; 3],
    pub radius: f64,
    pub location: [f64; 3],
    pub rotation_z_rad: f64,
}

/// A scene ready to be rendered.
#[derive(Clone, Debug)]
pub struct Stage<'a> {
    pub camera: Camera,
    pub lights: Vec<Light>,
    pub ground: &'a Sheet,
    /// Radiance of the background.
    pub background: V3,
    pub bodies: Vec<Body<'a>>,
    /// Strength of Cycles' "filter glossy", which widens lobes after bounces of low pdf; 0 turns it off.
    pub blur_glossy: f32,
}

/// An object, ready to be intersected.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    pub shape: &'a Shape,
    pub shader: &'a Shader,
    pub color: V3,
    pub location: V3,
    pub radius: f32,
    inverse_radius: f32,
    /// Radius of the bounding sphere about the location.
    pub bound: f32,
    cos: f32,
    sin: f32,
}

/// The nearest hit of a ray.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    pub t: f32,
    pub point: V3,
    pub normal: V3,
    /// Index of the body; None for the ground.
    pub body: Option<usize>,
}

impl Studio {
    /// Parses a look; `file` is its name in messages.
    pub fn from_json(bytes: &[u8], file: &str) -> Result<Self, SceneError> {
        let look = LookFile::parse(bytes, file)?;
        for key in ["camera", "lights", "world", "ground", "shapes", "materials", "render"] {
            if let Some(number) = look.root.get(key).and_then(too_large) {
                return Err(look.fault(key, format!("{number} is too large a number; expected at most {MAX_NUMBER}")));
            }
        }
        let lights = look.entries("lights", |name, light| Ok((name.to_owned(), typed(light)?)))?;
        if lights.len() > MAX_LIGHTS {
            let problem = format!("{} of them; the native renderer supports up to {MAX_LIGHTS}", lights.len());
            return Err(look.fault("lights", problem));
        }
        let ground: SheetSpec = look.value("ground")?;
        let background: BackgroundSpec = look.value("world")?;
        let shader = |material: &Value| {
            let shader: Shader = typed(material.get("shader").ok_or("shader: missing")?)?;
            let count = shader.count();
            if count > Lobes::MAX {
                return Err(format!("shader: {count} lobes; the native renderer supports up to {}", Lobes::MAX));
            }
            Ok(shader)
        };
        let blur_glossy = look.section("render")?.get("blur_glossy").and_then(Value::as_f64).unwrap_or(0.0);
        Ok(Self {
            camera: look.value("camera")?,
            lights: lights.into_iter().collect(),
            ground: Sheet::new(&ground).map_err(|e| look.fault("ground", e))?,
            background: V3::from_f64(background.background_color) * background.background_strength as f32,
            shapes: look.assets("shapes", |shape| Shape::new(&typed::<ShapeSpec>(shape)?))?,
            materials: look.assets("materials", shader)?,
            file: file.to_owned(),
            blur_glossy: blur_glossy as f32,
        })
    }

    pub fn ground(&self) -> &Sheet {
        &self.ground
    }

    /// The names of the shapes and of the materials, without aliases.
    pub fn names(&self) -> [Vec<&str>; 2] {
        [self.shapes.names(), self.materials.names()]
    }

    /// Parses a placement.
    pub fn placement(bytes: &[u8]) -> Result<Placement, SceneError> {
        serde_json::from_slice(bytes).map_err(|e| SceneError::Json(json_message("placement", &e)))
    }

    /// The stage of a placement, for an image of this size in pixels.
    pub fn stage(&self, placement: &Placement, width: u32, height: u32) -> Result<Stage<'_>, SceneError> {
        for (key, value) in [("width", width), ("height", height)] {
            if !(1..=MAX_SIDE).contains(&value) {
                let expected = format!("from 1 to {MAX_SIDE} pixels");
                return Err(SceneError::Config { key, value: value.to_string(), expected });
            }
        }
        let lens = self.camera.lens(width, height);
        let light = |(name, light): (&String, &LightSpec)| light.at(placement.lights.get(name).copied());
        if let Some(number) = placement.numbers().find(|x| x.abs() > MAX_NUMBER) {
            return Err(self.fault(format!("{number:e} is too large a number; expected at most {MAX_NUMBER}")));
        }
        if let Some(thing) = placement.things.iter().find(|thing| thing.radius < MIN_RADIUS) {
            return Err(self.fault(format!("a radius of {:e}; expected at least {MIN_RADIUS}", thing.radius)));
        }
        let bodies: Vec<Body<'_>> = placement.things.iter().map(|thing| self.body(thing)).collect::<Result<_, _>>()?;
        if bodies.len() > MAX_BODIES {
            return Err(
                self.fault(format!("{} objects; the native renderer supports up to {MAX_BODIES}", bodies.len()))
            );
        }
        Ok(Stage {
            camera: self.camera.at(placement.camera, lens),
            lights: self.lights.iter().map(light).collect(),
            ground: &self.ground,
            background: self.background,
            bodies,
            blur_glossy: self.blur_glossy,
        })
    }

    fn fault(&self, problem: String) -> SceneError {
        SceneError::Invalid { file: self.file.clone(), place: "a scene".into(), problem }
    }

    fn body(&self, thing: &Thing) -> Result<Body<'_>, SceneError> {
        let shape = self.shapes.find(&thing.shape, "shape").map_err(|e| self.fault(e))?;
        let shader = self.materials.find(&thing.material, "material").map_err(|e| self.fault(e))?;
        let (sin, cos) = libm::sincos(thing.rotation_z_rad);
        let radius = thing.radius as f32;
        Ok(Body {
            shape,
            shader,
            color: V3::from_f64(thing.color),
            location: V3::from_f64(thing.location),
            radius,
            inverse_radius: 1.0 / radius,
            bound: shape.bound() * radius,
            cos: cos as f32,
            sin: sin as f32,
        })
    }
}

impl Placement {
    /// All numbers in it.
    fn numbers(&self) -> impl Iterator<Item = f64> {
        let things = self.things.iter().flat_map(|thing| {
            thing.color.into_iter().chain(thing.location).chain([thing.radius, thing.rotation_z_rad])
        });
        self.camera.into_iter().chain(self.lights.values().flatten().copied()).chain(things)
    }
}

/// The first number in a JSON value that is larger than `MAX_NUMBER`.
fn too_large(value: &Value) -> Option<&serde_json::Number> {
    match value {
        Value::Number(number) => number.as_f64().is_none_or(|x| x.abs() > MAX_NUMBER).then_some(number),
        Value::Array(items) => items.iter().find_map(too_large),
        Value::Object(entries) => entries.values().find_map(too_large),
        _ => None,
    }
}

impl Stage<'_> {
    /// The nearest hit; `direction` has length 1.
    pub fn hit(&self, origin: V3, direction: V3) -> Option<Hit> {
        let hits = self.bodies.iter().enumerate().map(|(index, body)| (body.hit(origin, direction), index));
        let body = nearest(hits, f32::INFINITY);
        let ground = self.ground.hit(origin, direction);
        match (body, ground) {
            (Some((t, index)), ground) if ground.is_none_or(|(below, _)| t < below) => {
                let point = origin + direction * t;
                Some(Hit { t, point, normal: self.bodies[index].normal(point, direction), body: Some(index) })
            }
            (_, Some((t, normal))) => Some(Hit { t, point: origin + direction * t, normal, body: None }),
            _ => None,
        }
    }

    /// Whether a shadow ray of this length is blocked.
    pub fn blocked(&self, origin: V3, direction: V3, distance: f32) -> bool {
        self.bodies.iter().any(|body| body.blocks(origin, direction, distance))
            || self.ground.hit(origin, direction).is_some_and(|(t, _)| t < distance)
    }
}

impl Body<'_> {
    /// As `hit`, for rays that are known to meet the bounding sphere.
    #[inline(always)]
    pub fn hit_in_bound<F: Real>(&self, origin: V3<F>, direction: V3<F>) -> F {
        self.shape.hit(self.to_local(origin), self.rotate_to_local(direction)) * F::splat(self.radius)
    }

    /// The distance at which a ray from outside enters; infinite if it misses.
    #[inline(always)]
    pub fn hit<F: Real>(&self, origin: V3<F>, direction: V3<F>) -> F {
        let (hits_bound, miss) = (self.hits_bound(origin, direction), F::splat(f32::INFINITY));
        if hits_bound.any() { F::select(hits_bound, self.hit_in_bound(origin, direction), miss) } else { miss }
    }

    /// Whether a ray from outside enters within `distance`.
    #[inline(always)]
    pub fn blocks<F: Real>(&self, origin: V3<F>, direction: V3<F>, distance: F) -> F::Mask {
        let Shape::Mesh(mesh) = self.shape else {
            return self.hit(origin, direction).is_less(distance);
        };
        let (o, d, limit) = (self.to_local(origin), self.rotate_to_local(direction), distance / F::splat(self.radius));
        let hits_bound = self.hits_bound(origin, direction);
        let within = F::select(hits_bound, limit, F::default());
        let blocked = |lane: usize| {
            let limit = within.lane(lane);
            if limit > 0.0 && mesh.blocks(o.lane(lane), d.lane(lane), limit) { 1.0 } else { 0.0 }
        };
        F::from_lanes(blocked).is_positive()
    }

    /// Whether a ray meets the bounding sphere.
    #[inline(always)]
    fn hits_bound<F: Real>(&self, origin: V3<F>, direction: V3<F>) -> F::Mask {
        let offset = origin - V3::splat(self.location);
        let b = offset.dot(direction);
        let aside2 = offset.dot(offset) - b * b;
        aside2.is_less(F::splat(self.bound * self.bound)) & b.is_less(F::splat(self.bound))
    }

    /// Whether a point is inside.
    pub fn contains(&self, point: V3) -> bool {
        let offset = point - self.location;
        // A little more than the bound, to allow for rounding. An open mesh may contain points beyond it.
        let is_near = offset.dot(offset) < 1.01 * self.bound * self.bound || matches!(self.shape, Shape::Mesh(_));
        is_near && self.shape.contains(self.to_local(point))
    }

    /// The shading normal at the point where a ray of this direction hits the surface.
    pub fn normal(&self, point: V3, direction: V3) -> V3 {
        self.rotate_to_world(self.shape.normal(self.to_local(point), self.rotate_to_local(direction)))
    }

    /// The shading point, as the body's material needs it.
    #[inline(always)]
    pub fn surface<F: Real>(&self, point: V3<F>, normal: V3<F>, min_alpha: f32) -> Surface<F> {
        let aside = point - V3::splat(self.location);
        let tangent = match self.shape {
            Shape::Mesh(mesh) => {
                let own = self.to_local(point);
                V3::from_lanes(|lane| self.rotate_to_world(mesh.tangent(own.lane(lane))))
            }
            _ => v3(-aside.y, aside.x, F::default()),
        };
        let has_side = F::splat(1e-12).is_less(tangent.dot(tangent));
        let tangent = V3::select(has_side, tangent, V3::splat(v3(1.0, 0.0, 0.0)));
        Surface { normal, tangent, color: self.color, min_alpha }
    }

    /// From world space to the shape's space, in which it has unit size.
    #[inline(always)]
    fn to_local<F: Real>(&self, point: V3<F>) -> V3<F> {
        self.rotate_to_local(point - V3::splat(self.location)) * F::splat(self.inverse_radius)
    }

    #[inline(always)]
    fn rotate_to_local<F: Real>(&self, d: V3<F>) -> V3<F> {
        let (cos, sin) = (F::splat(self.cos), F::splat(self.sin));
        v3(cos * d.x + sin * d.y, cos * d.y - sin * d.x, d.z)
    }

    #[inline]
    fn rotate_to_world(&self, d: V3) -> V3 {
        v3(self.cos * d.x - self.sin * d.y, self.cos * d.y + self.sin * d.x, d.z)
    }
}
