//! Everything that determines a scene except its seed, pool and index, with a fingerprint.

use super::SceneError;
use super::clevr::ClevrImport;
use super::config::SceneConfig;
use super::look::Look;
use super::palette::Palette;
use super::visibility::Solid;
use crate::message::json_message;
use crate::vocab::Vocabulary;
use serde_json::{Value, json};

/// Attribute types by number, as `Vocabulary` numbers them.
pub const SIZE: usize = 0;
pub const COLOR: usize = 1;
pub const MATERIAL: usize = 2;
pub const SHAPE: usize = 3;
/// CLEVR's largest integer answer; a world with more objects can count further.
const CLEVR_LARGEST_COUNT: u32 = 10;

/// A file's bytes, and its name for messages.
#[derive(Clone, Copy, Debug)]
pub struct Asset<'a> {
    pub file: &'a str,
    pub bytes: &'a [u8],
}

/// Everything that determines a scene except seed, pool and index.
#[derive(Clone, Debug)]
pub struct World {
    vocab: Vocabulary,
    look: Look,
    config: SceneConfig,
    /// Radius of each size.
    radii: Vec<f64>,
    /// Solid of each shape.
    solids: Vec<Solid>,
    /// The combinations of values that objects can have; all of them if None.
    palette: Option<Palette>,
    /// Scenes from elsewhere that the train pool holds.
    import: Option<ClevrImport>,
    fingerprint: String,
}

impl World {
    /// Combines the three; fails if a constraint is impossible or an asset is not in the look.
    pub fn new(properties: Asset<'_>, look: Asset<'_>, config: SceneConfig) -> Result<Self, SceneError> {
        config.validate()?;
        let largest_count = config.max_objects.max(CLEVR_LARGEST_COUNT) as u8;
        let vocab = Vocabulary::from_properties_json(properties.bytes, properties.file, largest_count)?;
        let fingerprint = fingerprint(&vocab, look, &config)?;
        let look = Look::from_json(look.bytes, look.file)?;

        let named = |kind: usize, section: &'static str| {
            let attribute = &vocab.types()[kind];
            attribute
                .values
                .iter()
                .zip(&attribute.definitions)
                .map(move |(value, definition)| (format!("{section}.{value}"), definition.as_str()))
        };
        let fault = |(place, problem): (String, String)| SceneError::Invalid {
            file: properties.file.to_owned(),
            place,
            problem,
        };
        let solids = named(SHAPE, "shapes")
            .map(|(place, asset)| look.solid(asset.unwrap_or_default()).cloned().map_err(|e| (place, e)))
            .collect::<Result<_, _>>()
            .map_err(fault)?;
        // A material that is given by numbers is not in the look.
        for (place, asset) in named(MATERIAL, "materials") {
            asset.map_or(Ok(()), |asset| look.material(asset)).map_err(|e| fault((place, e)))?;
        }
        let radii = vocab.types()[SIZE].definitions.iter().filter_map(Value::as_f64).collect();
        Ok(Self { vocab, look, config, radii, solids, palette: None, import: None, fingerprint })
    }

    /// The same world with objects of this palette only: a different world, with its own fingerprint.
    pub fn with_palette(&self, palette: Palette) -> Self {
        let json = palette.to_json(&self.vocab).to_string();
        let parts = [self.fingerprint.as_bytes(), json.as_bytes()];
        let fingerprint = digest("clevrhope world with a palette v1", &parts);
        Self { palette: Some(palette), fingerprint, ..self.clone() }
    }

    /// The same world with published scenes in its train pool: a different world, with its own fingerprint.
    pub fn with_import(&self, import: ClevrImport) -> Self {
        let parts =
            [self.fingerprint.as_bytes(), import.scenes().digest().as_bytes(), &import.share_ppm().to_le_bytes()];
        let fingerprint = digest("clevrhope world with CLEVR's scenes v1", &parts);
        Self { import: Some(import), fingerprint, ..self.clone() }
    }

    pub fn vocab(&self) -> &Vocabulary {
        &self.vocab
    }

    pub fn look(&self) -> &Look {
        &self.look
    }

    /// The palette of objects; None if all combinations of values are allowed.
    pub fn palette(&self) -> Option<&Palette> {
        self.palette.as_ref()
    }

    /// Published scenes that the train pool holds.
    pub fn import(&self) -> Option<&ClevrImport> {
        self.import.as_ref()
    }

    pub fn config(&self) -> &SceneConfig {
        &self.config
    }

    /// Radius of a size, in Blender units.
    #[inline]
    pub fn radius(&self, size: u8) -> f64 {
        self.radii[usize::from(size)]
    }

    #[inline]
    pub fn solid(&self, shape: u8) -> &Solid {
        &self.solids[usize::from(shape)]
    }

    /// BLAKE3 of vocabulary, look and constraints, in hex: the same for files with the same content.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

/// Hashes content rather than bytes: white space and the spelling of numbers do not count.
fn fingerprint(vocab: &Vocabulary, look: Asset<'_>, config: &SceneConfig) -> Result<String, SceneError> {
    let look: Value = serde_json::from_slice(look.bytes).map_err(|e| SceneError::Json(json_message(look.file, &e)))?;
    let types: Vec<Value> = vocab.types().iter().map(|t| json!([t.name, t.values, t.definitions.clone()])).collect();
    let content = canonical(json!({"properties": types, "look": look, "constraints": config}));
    Ok(digest("clevrhope world v1", &[content.to_string().as_bytes()]))
}

/// BLAKE3 of some bytes, in hex.
fn digest(context: &str, parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    parts.iter().for_each(|part| {
        hasher.update(part);
    });
    hasher.finalize().to_hex().to_string()
}

/// The same content with every number as a float, so that 1 and 1.0 are one number.
fn canonical(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, |x| json!(x)),
        Value::Array(items) => items.into_iter().map(canonical).collect(),
        Value::Object(entries) => entries.into_iter().map(|(key, item)| (key, canonical(item))).collect(),
        other => other,
    }
}
