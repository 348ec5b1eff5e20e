//! The project's own world and templates, for the benchmarks.

#![allow(clippy::expect_used)]

use clevrhope_core::Vocabulary;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::scene::{Asset, SceneConfig, World};

pub fn world() -> World {
    let properties = Asset { file: "properties.json", bytes: include_bytes!("../../blender_assets/properties.json") };
    let look = Asset { file: "look.json", bytes: include_bytes!("../../blender_assets/look.json") };
    World::new(properties, look, SceneConfig::default()).expect("the project's own assets are valid")
}

/// The question templates as files.
pub struct TemplateFiles {
    /// The name without suffix and the content of each file, in the order in which families are numbered.
    pub files: Vec<(String, Vec<u8>)>,
    pub synonyms: Vec<u8>,
}

impl TemplateFiles {
    pub fn read() -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../question_templates");
        let read =
            |file: &str| std::fs::read(format!("{folder}/{file}")).expect("the project's own templates are there");
        let order: serde_json::Value = serde_json::from_slice(&read("families.json")).expect("it is JSON");
        let names = order["files"].as_array().expect("a list of files").iter();
        let stems = names.filter_map(|file| file.as_str()?.strip_suffix(".json").map(str::to_owned));
        let files = stems.map(|stem| (stem.clone(), read(&format!("{stem}.json")))).collect();
        Self { files, synonyms: read("synonyms.json") }
    }

    pub fn set(&self, vocab: &Vocabulary) -> TemplateSet {
        let order: Vec<String> = self.files.iter().map(|(stem, _)| stem.clone()).collect();
        TemplateSet::from_files(vocab, &self.files, &order, ("synonyms.json", &self.synonyms))
            .expect("the project's own templates are valid")
    }
}
