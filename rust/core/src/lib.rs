//! The engine of clevrhope: scenes, programs, questions and splits of compositional VQA data.
//!
//! Data flows one way: `vocab` -> `scene` -> `program` -> `question` -> `split`. Everything random
//! is a function of (key, stream, index), so any part can be made alone, anywhere, in any order.

pub mod article;
pub mod audit;
pub mod chunk;
pub mod covr;
pub mod error;
pub mod holdout;
pub mod json;
pub mod machine;
pub mod message;
pub mod png_file;
pub mod program;
pub mod question;
pub mod render;
pub mod rng;
pub mod scene;
pub mod split;
pub mod suite;
pub mod vocab;

pub use error::Error;
pub use program::Program;
pub use scene::{Pool, Scene, SceneConfig, SceneError, SceneGraph, World};
pub use vocab::Vocabulary;
