//! Look JSON in, what the sampler needs of it out: camera, lights' places, ground, solids by name.
//!
//! Blender reads the same file for everything else (colours, powers, shaders, settings), so keys
//! that are unknown here are no fault.

use super::SceneError;
use super::camera::{Camera, Lens};
use super::geometry::{Vec3, sub};
use super::ground::Ground;
use super::visibility::Solid;
use crate::message::{json_cause, json_message, listed, shown, suggestion};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What of the look decides a scene.
#[derive(Clone, Debug)]
pub struct Look {
    pub camera: CameraSpec,
    /// Lights that have a place, in file order; the sun has none.
    pub lights: Vec<LightSpec>,
    pub ground: Ground,
    shapes: Vec<Asset<Solid>>,
    materials: Vec<Asset<()>>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct CameraSpec {
    pub location: Vec3,
    pub target: Vec3,
    pub lens_mm: f64,
    pub sensor_width_mm: f64,
    /// Nearest and farthest depth.
    pub clip: [f64; 2],
    /// Each coordinate moves by a uniform amount of at most this.
    pub jitter: f64,
}

#[derive(Clone, Debug)]
pub struct LightSpec {
    pub name: String,
    pub location: Vec3,
    pub jitter: f64,
}

#[derive(Clone, Debug)]
struct Asset<T> {
    names: Vec<String>,
    content: T,
}

impl Look {
    /// Reads a look; `file` names it in messages.
    pub fn from_json(bytes: &[u8], file: &str) -> Result<Self, SceneError> {
        let root: Value = serde_json::from_slice(bytes).map_err(|e| SceneError::Json(json_message(file, &e)))?;
        let fault =
            |place: &str, problem: String| SceneError::Look { file: file.to_owned(), place: place.to_owned(), problem };
        let section = |key: &str| {
            root.get(key).and_then(Value::as_object).ok_or_else(|| fault(key, "missing; expected an object".into()))
        };

        let camera: CameraSpec = typed(&Value::Object(section("camera")?.clone())).map_err(|e| fault("camera", e))?;
        camera.check().map_err(|(key, e)| fault(&format!("camera.{key}"), e))?;

        let mut lights = Vec::new();
        for (name, light) in section("lights")? {
            let place = format!("lights.{}", shown(name));
            if let Some(light) = light_spec(name, light).map_err(|e| fault(&place, e))? {
                lights.push(light);
            }
        }
        let ground = typed(&Value::Object(section("ground")?.clone())).map_err(|e| fault("ground", e))?;
        let ground = Ground::new(&ground).map_err(|e| fault("ground", e))?;
        let shapes = assets(section("shapes")?, |shape| Solid::new(&typed(shape)?))
            .map_err(|(name, e)| fault(&format!("shapes.{}", shown(&name)), e))?;
        let materials = assets(section("materials")?, |_| Ok(()))
            .map_err(|(name, e)| fault(&format!("materials.{}", shown(&name)), e))?;
        Ok(Self { camera, lights, ground, shapes, materials })
    }

    /// The solid of a shape's asset, by name or alias; else a sentence's end that says what is known.
    pub fn solid(&self, name: &str) -> Result<&Solid, String> {
        find(&self.shapes, name, "shape")
    }

    /// Checks that a material's asset is known, by name or alias.
    pub fn material(&self, name: &str) -> Result<(), String> {
        find(&self.materials, name, "material").copied()
    }
}

impl CameraSpec {
    pub fn lens(&self, width_px: u32, height_px: u32) -> Lens {
        Lens::new(self.lens_mm, self.sensor_width_mm, width_px, height_px, self.clip[0])
    }

    pub fn at(&self, location: Vec3, lens: Lens) -> Camera {
        Camera::looking_at(location, self.target, lens)
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !positive(self.lens_mm) {
            return Err(("lens_mm", format!("{} has to be above 0", self.lens_mm)));
        }
        if !positive(self.sensor_width_mm) {
            return Err(("sensor_width_mm", format!("{} has to be above 0", self.sensor_width_mm)));
        }
        if !positive(self.clip[0]) {
            return Err(("clip", format!("{:?} has to begin above 0", self.clip)));
        }
        let aside = sub(self.location, self.target);
        let aside = (aside[0] * aside[0] + aside[1] * aside[1]).sqrt();
        if !(self.jitter >= 0.0 && aside > 2.0 * self.jitter) {
            return Err((
                "jitter",
                format!("{} has to be 0 or more and too small to bring the camera above its target", self.jitter),
            ));
        }
        Ok(())
    }
}

fn light_spec(name: &str, light: &Value) -> Result<Option<LightSpec>, String> {
    #[derive(Deserialize)]
    struct Placed {
        location: Vec3,
        jitter: f64,
    }
    if light.get("location").is_none() {
        return Ok(None);
    }
    let Placed { location, jitter } = typed(light)?;
    if !(jitter >= 0.0 && jitter.is_finite()) {
        return Err(format!("jitter: {jitter} has to be 0 or more"));
    }
    Ok(Some(LightSpec { name: name.to_owned(), location, jitter }))
}

fn typed<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|e| json_cause(&e))
}

fn assets<T>(
    section: &Map<String, Value>,
    build: impl Fn(&Value) -> Result<T, String>,
) -> Result<Vec<Asset<T>>, (String, String)> {
    #[derive(Deserialize)]
    struct Names {
        #[serde(default)]
        aliases: Vec<String>,
    }
    let mut assets = Vec::with_capacity(section.len());
    for (name, value) in section {
        let Names { aliases } = typed(value).map_err(|e| (name.clone(), e))?;
        let content = build(value).map_err(|e| (name.clone(), e))?;
        assets.push(Asset { names: std::iter::once(name.clone()).chain(aliases).collect(), content });
    }
    Ok(assets)
}

fn find<'a, T>(assets: &'a [Asset<T>], name: &str, kind: &str) -> Result<&'a T, String> {
    let found = assets.iter().find(|asset| asset.names.iter().any(|known| known == name));
    found.map(|asset| &asset.content).ok_or_else(|| {
        let known = assets.iter().flat_map(|asset| asset.names.iter().map(String::as_str));
        let first: Vec<&str> = assets.iter().filter_map(|asset| asset.names.first().map(String::as_str)).collect();
        format!("the look has no {kind} \"{}\"{}; it has {}", shown(name), suggestion(name, known), listed(&first))
    })
}
