//! Vocabularies, random scenes and template folders that the tests share.

use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::plan::Plan;
use clevrhope_core::rng::{StreamKey, StreamRng};
use clevrhope_core::scene::{Asset, SceneConfig, World};
use clevrhope_core::split::{SplitError, SplitStream, Windows};
use clevrhope_core::{SceneGraph, Vocabulary};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// CLEVR's values, in our own order.
const CLEVR: &str = r#"{"sizes": {"small": 0.35, "large": 0.7},
    "colors": {"gray": [87, 87, 87], "red": [173, 35, 35], "blue": [42, 75, 215], "green": [29, 105, 20],
        "brown": [129, 74, 25], "purple": [129, 38, 192], "cyan": [41, 208, 208], "yellow": [255, 238, 51]},
    "materials": {"rubber": "rubber", "metal": "metal"},
    "shapes": {"cube": "cube", "sphere": "sphere", "cylinder": "cylinder"}}"#;

/// A vocabulary with few enough values to list every question.
const TINY: &str = r#"{"sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [173, 35, 35], "blue": [42, 75, 215]},
    "materials": {"rubber": "rubber"}, "shapes": {"cube": "cube", "cylinder": "cylinder"}}"#;

pub fn clevr() -> Vocabulary {
    Vocabulary::from_properties_json(CLEVR.as_bytes(), "properties.json", 10).unwrap()
}

pub fn tiny() -> Vocabulary {
    Vocabulary::from_properties_json(TINY.as_bytes(), "properties.json", 10).unwrap()
}

/// Finds the scenes of a split's next `count` windows.
pub fn look_for(stream: &mut SplitStream, count: usize) -> Result<(), SplitError> {
    while stream.scenes.waiting_windows() < count {
        stream.scenes.find_window()?;
    }
    Ok(())
}

/// A split's next windows.
pub fn next_windows(stream: &mut SplitStream, count: usize) -> Result<Windows, SplitError> {
    look_for(stream, count)?;
    stream.ask(count)
}

/// A scene as plain lists, and in the engine's form.
#[derive(Clone, Debug)]
pub struct TestScene {
    /// By object, the number of its value of each type.
    pub objects: Vec<[u8; 4]>,
    /// By relation and object, the objects that have this relation to it, ascending.
    pub related: Vec<Vec<Vec<u8>>>,
    pub graph: SceneGraph,
}

impl TestScene {
    pub fn new(vocab: &Vocabulary, objects: Vec<[u8; 4]>, related: Vec<Vec<Vec<u8>>>) -> Self {
        let graph = SceneGraph::new(vocab, objects.clone(), &related);
        Self { objects, related, graph }
    }

    /// `n` objects with uniform values at uniform places, related as CLEVR relates them.
    pub fn random(vocab: &Vocabulary, n: usize, rng: &mut StreamRng) -> Self {
        let objects: Vec<[u8; 4]> =
            (0..n).map(|_| std::array::from_fn(|kind| rng.below(vocab.n_values(kind) as u32) as u8)).collect();
        Self::placed(vocab, objects, rng)
    }

    /// Objects at uniform places.
    pub fn placed(vocab: &Vocabulary, objects: Vec<[u8; 4]>, rng: &mut StreamRng) -> Self {
        let places: Vec<[f64; 2]> = objects.iter().map(|_| [rng.uniform(-3.0, 3.0), rng.uniform(-3.0, 3.0)]).collect();
        // Left, right, behind, front: CLEVR's directions on the ground.
        let directions = [[-0.6563, -0.7545], [0.6563, 0.7545], [-0.7545, 0.6563], [0.7545, -0.6563]];
        let stands =
            |d: [f64; 2], from: [f64; 2], to: [f64; 2]| (to[0] - from[0]) * d[0] + (to[1] - from[1]) * d[1] > 0.2;
        let related = directions
            .iter()
            .map(|&d| {
                let list =
                    |from| (0..places.len() as u8).filter(|&to| stands(d, from, places[usize::from(to)])).collect();
                places.iter().map(|&from| list(from)).collect()
            })
            .collect();
        Self::new(vocab, objects, related)
    }
}

/// The random number generator of a test's case.
pub fn rng(test: &str, case: u64) -> StreamRng {
    StreamKey::new(&[b"tests/questions", test.as_bytes()]).at(case)
}

/// A template as in its file, for code that reads it without the engine.
#[derive(Clone, Debug, Deserialize)]
pub struct RawTemplate {
    pub nodes: Vec<RawNode>,
    pub params: Vec<RawParam>,
    #[serde(default)]
    pub constraints: Vec<RawConstraint>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RawNode {
    #[serde(rename = "type")]
    pub kind: String,
    pub inputs: Vec<usize>,
    #[serde(default)]
    pub side_inputs: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RawParam {
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RawConstraint {
    #[serde(rename = "type")]
    pub kind: String,
    pub params: Vec<Value>,
}

/// A folder of templates, read by the engine and as plain JSON, in the same order.
pub struct Templates {
    pub set: TemplateSet,
    pub raw: Vec<RawTemplate>,
}

impl Templates {
    /// Reads a folder of template files; the files in `order` come first.
    pub fn read(vocab: &Vocabulary, folder: &Path, order: &[String], synonyms: &[u8]) -> Self {
        let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
            .filter(|(name, _)| !["families", "synonyms", "covr", "nonce"].contains(&name.as_str()))
            .collect();
        files.sort();
        let set = TemplateSet::from_files(vocab, &files, order, ("synonyms.json", synonyms)).unwrap();
        let raw = set
            .families()
            .iter()
            .map(|family| {
                let (_, bytes) = files.iter().find(|(name, _)| *name == family.file).unwrap();
                let mut all: Vec<RawTemplate> = serde_json::from_slice(bytes).unwrap();
                all.swap_remove(family.index_in_file as usize)
            })
            .collect();
        Self { set, raw }
    }

    /// The project's own templates.
    pub fn own(vocab: &Vocabulary) -> Self {
        let folder = own_folder();
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
        let order: Value = serde_json::from_slice(&read("families.json")).unwrap();
        let order: Vec<String> = serde_json::from_value(order["files"].clone()).unwrap();
        let order: Vec<String> = order.iter().map(|name| name.trim_end_matches(".json").to_owned()).collect();
        Self::read(vocab, &folder, &order, &read("synonyms.json"))
    }

    pub fn plan(&self, vocab: &Vocabulary, family: usize) -> Plan {
        Plan::new(&self.set.families()[family], vocab)
    }

    pub fn plans(&self, vocab: &Vocabulary) -> Vec<Plan> {
        (0..self.raw.len()).map(|family| self.plan(vocab, family)).collect()
    }

    /// The number of a family, given its file and its place there.
    pub fn family(&self, file: &str, index: u32) -> usize {
        let found = |f: &clevrhope_core::question::Family| f.file == file && f.index_in_file == index;
        self.set.families().iter().position(found).unwrap()
    }

    /// A family's name for messages, such as `same_relate[3]`.
    pub fn name(&self, family: usize) -> String {
        let family = &self.set.families()[family];
        format!("{}[{}]", family.file, family.index_in_file)
    }
}

/// The project's template folder.
pub fn own_folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../question_templates"))
}

/// The project's world, its images small so that scenes are quick to sample.
pub fn project_world() -> World {
    world_of(include_bytes!("../../../../blender_assets/properties.json"))
}

/// The same with CLEVR's values, but one size.
pub fn world_of_one_size() -> World {
    world_of(CLEVR.replace(r#""small": 0.35, "#, "").as_bytes())
}

fn world_of(properties: &[u8]) -> World {
    let properties = Asset { file: "properties.json", bytes: properties };
    let look = Asset { file: "look.json", bytes: include_bytes!("../../../../blender_assets/look.json") };
    World::new(properties, look, SceneConfig { width: 120, height: 80, min_pixels: 6, ..SceneConfig::default() })
        .unwrap()
}

/// The folder of third-party data, or None if it is missing.
pub fn test_data() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("CLEVRHOPE_TEST_DATA").map_or_else(beside, PathBuf::from);
    folder.join("clevr_v1").is_dir().then_some(folder)
}
