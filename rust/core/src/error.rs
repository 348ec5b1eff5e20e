//! One error type over all domains, and the "did you mean" that their messages share.

use thiserror::Error;

/// Any error of the engine; each domain keeps its own enum.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Vocab(#[from] crate::vocab::VocabError),
    #[error(transparent)]
    Program(#[from] crate::program::ProgramError),
    #[error(transparent)]
    Tokens(#[from] crate::program::TokenError),
    #[error(transparent)]
    Encode(#[from] crate::program::EncodeError),
    #[error(transparent)]
    Batch(#[from] crate::program::BatchError),
    #[error(transparent)]
    Scene(#[from] crate::scene::SceneError),
    #[error(transparent)]
    Template(#[from] crate::question::TemplateError),
    #[error(transparent)]
    QuestionTokens(#[from] crate::question::tokens::QuestionTokenError),
    #[error(transparent)]
    Split(#[from] crate::split::SplitError),
}

/// ` (did you mean "x"?)` when a candidate is near `name`, else nothing; made to end a sentence.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| format!(" (did you mean \"{candidate}\"?)"))
        .unwrap_or_default()
}

/// The same sentence for every JSON file that does not parse: file, line, column, cause.
pub fn json_message(file: &str, error: &serde_json::Error) -> String {
    let cause = error.to_string();
    let cause = cause.split(" at line ").next().unwrap_or(&cause);
    format!("{file}:{}:{}: {cause}", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["rubber_cylinder", "metal_cube"];
        assert_eq!(suggestion("rubber_cilinder", names), " (did you mean \"rubber_cylinder\"?)");
        assert_eq!(suggestion("banana", names), "");
    }
}
