//! The parts of a look file that determine scenes: camera, positions of lights, ground, and solids by name.
//!
//! Blender and the native renderer read the same file for everything else (colours, powers, shaders, settings), so keys
//! that are unknown here are not an error.

use super::SceneError;
use super::camera::{Camera, Lens};
use super::geometry::{Vec3, sub};
use super::ground::Ground;
use super::visibility::Solid;
use crate::message::{json_cause, json_message, listed, shown, suggestion};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The parts of a look that determine a scene.
#[derive(Clone, Debug)]
pub struct Look {
    pub camera: CameraSpec,
    /// Lights that have a position, in file order; the sun has none.
    pub lights: Vec<LightSpec>,
    pub ground: Ground,
    shapes: Assets<Solid>,
    materials: Assets<()>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct CameraSpec {
    pub location: Vec3,
    pub target: Vec3,
    pub lens_mm: f64,
    pub sensor_width_mm: f64,
    /// Nearest and farthest depth.
    pub clip: [f64; 2],
    /// Each coordinate moves by a uniform amount of at most this much.
    pub jitter: f64,
}

#[derive(Clone, Debug)]
pub struct LightSpec {
    pub name: String,
    pub location: Vec3,
    pub jitter: f64,
}

/// A look file, read section by section; every fault names the file and the place in it.
pub struct LookFile<'a> {
    file: &'a str,
    pub root: Value,
}

impl<'a> LookFile<'a> {
    /// Parses the JSON; `file` names it in messages.
    pub fn parse(bytes: &[u8], file: &'a str) -> Result<Self, SceneError> {
        let root = serde_json::from_slice(bytes).map_err(|e| SceneError::Json(json_message(file, &e)))?;
        Ok(Self { file, root })
    }

    pub fn fault(&self, place: impl Into<String>, problem: impl Into<String>) -> SceneError {
        SceneError::Invalid { file: self.file.to_owned(), place: place.into(), problem: problem.into() }
    }

    pub fn section(&self, key: &str) -> Result<&Map<String, Value>, SceneError> {
        let section = self.root.get(key).and_then(Value::as_object);
        section.ok_or_else(|| self.fault(key, "missing; expected an object"))
    }

    /// A section that is one value.
    pub fn value<T: DeserializeOwned>(&self, key: &str) -> Result<T, SceneError> {
        self.section(key).and_then(|_| typed(&self.root[key]).map_err(|e| self.fault(key, e)))
    }

    /// The results of `build` for all entries of a section.
    pub fn entries<T>(
        &self,
        key: &str,
        build: impl Fn(&str, &Value) -> Result<T, String>,
    ) -> Result<Vec<T>, SceneError> {
        let entry = |(name, value): (&String, &Value)| {
            build(name, value).map_err(|e| self.fault(format!("{key}.{}", shown(name)), e))
        };
        self.section(key)?.iter().map(entry).collect()
    }

    /// The entries of a section, with the aliases that they list.
    pub fn assets<T>(&self, key: &str, build: impl Fn(&Value) -> Result<T, String>) -> Result<Assets<T>, SceneError> {
        #[derive(Deserialize)]
        struct Names {
            #[serde(default)]
            aliases: Vec<String>,
        }
        let entry = |name: &str, value: &Value| {
            let Names { aliases } = typed(value)?;
            Ok((std::iter::once(name.to_owned()).chain(aliases).collect(), build(value)?))
        };
        self.entries(key, entry).map(Assets)
    }
}

/// Shapes or materials by name and alias.
#[derive(Clone, Debug)]
pub struct Assets<T>(Vec<(Vec<String>, T)>);

impl<T> Assets<T> {
    /// Their names, without aliases.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(names, _)| names[0].as_str()).collect()
    }

    /// The asset with this name or alias; otherwise the end of a sentence that lists the known ones.
    pub fn find(&self, name: &str, kind: &str) -> Result<&T, String> {
        let found = self.0.iter().find(|(names, _)| names.iter().any(|known| known == name));
        found.map(|(_, asset)| asset).ok_or_else(|| {
            let hint = suggestion(name, self.0.iter().flat_map(|(names, _)| names.iter().map(String::as_str)));
            format!("the look has no {kind} \"{}\"{hint}; it has {}", shown(name), listed(&self.names()))
        })
    }
}

impl Look {
    /// Reads a look; `file` names it in messages.
    pub fn from_json(bytes: &[u8], file: &str) -> Result<Self, SceneError> {
        let look = LookFile::parse(bytes, file)?;
        let camera: CameraSpec = look.value("camera")?;
        camera.check().map_err(|(key, e)| look.fault(format!("camera.{key}"), e))?;
        let lights = look.entries("lights", light_spec)?.into_iter().flatten().collect();
        let ground = Ground::new(&look.value("ground")?).map_err(|e| look.fault("ground", e))?;
        let shapes = look.assets("shapes", |shape| Solid::new(&typed(shape)?))?;
        let materials = look.assets("materials", |_| Ok(()))?;
        Ok(Self { camera, lights, ground, shapes, materials })
    }

    /// The solid of a shape's asset, by name or alias; otherwise the end of a sentence that lists the known ones.
    pub fn solid(&self, name: &str) -> Result<&Solid, String> {
        self.shapes.find(name, "shape")
    }

    /// Checks that a material's asset is known, by name or alias.
    pub fn material(&self, name: &str) -> Result<(), String> {
        self.materials.find(name, "material").copied()
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
        for (key, value) in [("lens_mm", self.lens_mm), ("sensor_width_mm", self.sensor_width_mm)] {
            if !positive(value) {
                return Err((key, format!("{value} has to be above 0")));
            }
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

/// Converts a value of a look to a type.
pub fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|e| json_cause(&e))
}
