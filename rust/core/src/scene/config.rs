//! Constraints on scenes, read from JSON and checked.

use super::SceneError;
use crate::vocab::MAX_OBJECTS;
use serde::{Deserialize, Serialize};

/// Which camera the `directions` of a scene, and so its relations, are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectionsFrom {
    /// The camera that takes the image, jitter included.
    Camera,
    /// The camera before its jitter, as in every published CLEVR scene.
    Clevr,
}

/// What a sampled scene has to satisfy. The defaults are CLEVR-HOPE's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SceneConfig {
    /// The number of objects is uniform in `min_objects..=max_objects`: each occurs once in a run of scenes.
    pub min_objects: u32,
    pub max_objects: u32,
    /// Minimum gap between two objects: the distance of their centres on the ground minus both radii.
    pub min_distance: f64,
    /// Along each direction, two objects are either exactly level or at least this far apart.
    pub margin: f64,
    /// Positions tried for an object before the scene is restarted.
    pub tries_per_object: u32,
    /// x and y are uniform in `-position_range..position_range`.
    pub position_range: f64,
    /// Minimum number of visible pixels of each object in an image of `width` x `height`.
    pub min_pixels: u32,
    pub width: u32,
    pub height: u32,
    pub directions: DirectionsFrom,
    /// How often a scene may be restarted before it fails with an error.
    pub max_restarts: u32,
}

impl Default for SceneConfig {
    fn default() -> Self {
        Self {
            min_objects: 3,
            max_objects: 10,
            min_distance: 0.25,
            margin: 0.4,
            tries_per_object: 50,
            position_range: 3.0,
            min_pixels: 100,
            width: 480,
            height: 320,
            directions: DirectionsFrom::Camera,
            max_restarts: 10_000,
        }
    }
}

/// Maximum number of pixels along a side of an image, so that a pixel's place fits in 16 bits.
pub const MAX_SIDE: u32 = 8192;

impl SceneConfig {
    /// Reads constraints from JSON; those that are left out have their defaults. `file` names it in messages.
    pub fn from_json(bytes: &[u8], file: &str) -> Result<Self, SceneError> {
        let config: Self =
            serde_json::from_slice(bytes).map_err(|e| SceneError::Json(crate::message::json_message(file, &e)))?;
        config.validate()?;
        Ok(config)
    }

    /// How many scenes follow each other before a number of objects comes again in a drawn order.
    pub fn run_length(&self) -> u64 {
        u64::from(self.max_objects - self.min_objects) + 1
    }

    /// Fails with the first constraint that no scene could be sampled under, and its remedy.
    pub fn validate(&self) -> Result<(), SceneError> {
        let most = MAX_OBJECTS as u32;
        let n_pixels = self.width.saturating_mul(self.height);
        let from_0 = |value: f64| value.is_finite() && value >= 0.0;
        let is_side = |pixels: u32| (1..=MAX_SIDE).contains(&pixels);
        let check = |key: &'static str, value: &dyn ToString, holds: bool, expected: String| {
            if holds { Ok(()) } else { Err(SceneError::Config { key, value: value.to_string(), expected }) }
        };
        let expected = format!("at most {most}, since a set of objects is a {most}-bit mask");
        check("max_objects", &self.max_objects, self.max_objects <= most, expected)?;
        let expected = format!("from 1 to max_objects, which is {}", self.max_objects);
        check("min_objects", &self.min_objects, (1..=self.max_objects).contains(&self.min_objects), expected)?;
        check("min_distance", &self.min_distance, from_0(self.min_distance), "0 or more".into())?;
        check("margin", &self.margin, from_0(self.margin), "0 or more".into())?;
        let is_valid = (1..=10_000).contains(&self.tries_per_object);
        check("tries_per_object", &self.tries_per_object, is_valid, "from 1 to 10000".into())?;
        let is_valid = (0.0..=1000.0).contains(&self.position_range);
        check("position_range", &self.position_range, is_valid, "from 0 to 1000 Blender units".into())?;
        check("width", &self.width, is_side(self.width), format!("from 1 to {MAX_SIDE}"))?;
        check("height", &self.height, is_side(self.height), format!("from 1 to {MAX_SIDE}"))?;
        let expected = format!("from 1 to the {n_pixels} pixels of a {} x {} image", self.width, self.height);
        check("min_pixels", &self.min_pixels, (1..=n_pixels).contains(&self.min_pixels), expected)?;
        let is_valid = (1..=1_000_000).contains(&self.max_restarts);
        check("max_restarts", &self.max_restarts, is_valid, "from 1 to 1000000".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_survive_json() {
        let config = SceneConfig::default();
        let json = serde_json::to_vec(&config).unwrap();
        assert_eq!(SceneConfig::from_json(&json, "c.json").unwrap(), config);
        assert_eq!(SceneConfig::from_json(b"{}", "c.json").unwrap(), config);
    }

    #[test]
    fn faults_name_key_value_and_remedy() {
        let cases = [
            (
                r#"{"max_objects": 40}"#,
                "max_objects is 40, but has to be at most 32, since a set of objects is a 32-bit mask",
            ),
            (r#"{"min_objects": 0}"#, "min_objects is 0, but has to be from 1 to max_objects, which is 10"),
            (r#"{"min_objects": 11}"#, "min_objects is 11, but"),
            (r#"{"margin": -0.1}"#, "margin is -0.1, but has to be 0 or more"),
            (r#"{"min_pixels": 0}"#, "min_pixels is 0, but has to be from 1 to the 153600 pixels"),
            (r#"{"min_pixels": 200000}"#, "min_pixels is 200000, but"),
            (r#"{"minimum_pixels": 3}"#, "c.json:1:17: unknown field `minimum_pixels`"),
            (r#"{"directions": "left"}"#, "c.json:1:21: unknown variant `left`"),
        ];
        for (json, message) in cases {
            let error = SceneConfig::from_json(json.as_bytes(), "c.json").unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
