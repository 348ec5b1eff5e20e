//! The Python binding of the engine: converts arguments, runs without the GIL, wraps results and maps errors.

mod absent_reader;
mod audit;
mod audit_scenes;
mod audit_sets;
mod choice;
mod chunks;
mod conversion;
mod counting_pool;
mod covr;
mod covr_properties;
mod errors;
mod findings;
mod interrupt;
mod levels;
mod machine;
mod programs;
mod questions;
mod scenes;
mod splits;
mod streams;
mod studio;
mod suites;
mod templates;
mod text_reader;
mod visual;
mod vocabulary;
mod world;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// All threads allocate millions of small strings and programs at once.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The binding of the engine; private: use the modules of `clevrhope` that wrap it.
///
/// Handles are opaque, frozen and safe to share between threads. Calls that can take long release the GIL, use all
/// cores and stop at Ctrl-C. Errors are those of `clevrhope.errors`. Arrays have exactly the types in the stub.
#[pymodule]
mod _core {
    use numpy::PyArray1;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::absent_reader::PyAbsentReader;
    #[pymodule_export]
    use super::audit::PyAuditReader;
    #[pymodule_export]
    use super::audit_scenes::PyAuditScenes;
    #[pymodule_export]
    use super::chunks::{deflate_chunks, inflate_chunks};
    #[pymodule_export]
    use super::findings::{PyAuditFindings, PyAuditViolation};
    /// Replaces an answer's number if the program has no answer on the scene.
    #[pymodule_export]
    const NO_ANSWER: i32 = super::conversion::NO_ANSWER;
    /// Replaces an answer's number if the tokens are not a program.
    #[pymodule_export]
    const NO_PROGRAM: i32 = super::conversion::NO_PROGRAM;
    #[pymodule_export]
    use super::audit_sets::{PyAuditSetFindings, PyAuditSetRows};
    #[pymodule_export]
    use super::counting_pool::PyCountingPool;
    #[pymodule_export]
    use super::covr::PyPhrasings;
    #[pymodule_export]
    use super::covr_properties::{covr_properties, covr_property_names, covr_template_names, covr_term_names};
    #[pymodule_export]
    use super::levels::{plan_levels, plan_runs, program_arities};
    #[pymodule_export]
    use super::machine::{engine_version, vector_instructions};
    #[pymodule_export]
    use super::programs::{PyProgramTokens, PyPrograms, execute, execute_batch, execute_tokens, trace, write_steps};
    #[pymodule_export]
    use super::questions::{PyQuestionBatch, instantiate_questions};
    #[pymodule_export]
    use super::scenes::{PySceneBatch, PySceneGraphs, PySceneSets, object_ids, sample_scenes};
    #[pymodule_export]
    use super::splits::{PyMinimalPool, PyPoolScenes};
    #[pymodule_export]
    use super::streams::PyQuestionStream;
    #[pymodule_export]
    use super::studio::{PyNativeStudio, PyRenderStop, encode_png};
    #[pymodule_export]
    use super::suites::{PyPairs, PySuite};
    #[pymodule_export]
    use super::templates::PyTemplates;
    #[pymodule_export]
    use super::text_reader::{PyTextReader, find_windows, number_texts};
    #[pymodule_export]
    use super::visual::{PySplitQuestions, edit_scenes};
    #[pymodule_export]
    use super::vocabulary::{PyVocabulary, takes_an};
    #[pymodule_export]
    use super::world::PyWorld;

    /// Fetches numpy's functions now. Their first use would panic if Ctrl-C were handled in the middle of it.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        py.import("numpy.lib")?;
        py.check_signals()?;
        PyArray1::<u8>::zeros(py, 0, false);
        Ok(())
    }
}
