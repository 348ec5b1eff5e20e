//! The binding: converts arguments, runs the core without the GIL, wraps results, maps errors.

mod absent;
mod audit;
mod chunks;
mod convert;
mod counting;
mod errors;
mod interrupt;
mod levels;
mod parse;
mod programs;
mod questions;
mod render;
mod scenes;
mod splits;
mod templates;
mod vocabulary;
mod world;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// Millions of small strings and programs are made by all threads at once.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The native module `clevrhope._core`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::absent::PyAbsentReader;
    #[pymodule_export]
    use super::audit::{PyAuditReader, PyAuditScenes};
    #[pymodule_export]
    use super::chunks::{deflate_chunks, inflate_chunks};
    #[pymodule_export]
    use super::counting::PyCountingPool;
    #[pymodule_export]
    use super::levels::{plan_levels, plan_runs, program_arities};
    #[pymodule_export]
    use super::parse::{PyTextReader, find_windows};
    #[pymodule_export]
    use super::programs::{PyProgramTokens, PyPrograms, execute, execute_batch, execute_tokens, trace};
    #[pymodule_export]
    use super::questions::{PyQuestionBatch, instantiate_questions};
    #[pymodule_export]
    use super::render::{PyNativeStudio, encode_png};
    #[pymodule_export]
    use super::scenes::{PySceneBatch, PySceneGraphs, object_ids, sample_scenes};
    #[pymodule_export]
    use super::splits::{PyMinimalPool, PyPoolScan, PySplitStream};
    #[pymodule_export]
    use super::templates::PyTemplates;
    #[pymodule_export]
    use super::vocabulary::PyVocabulary;
    #[pymodule_export]
    use super::world::PyWorld;
}
