//! Finds rows whose program or words ask for a value, or a pair of values of two types, that no object had.
//!
//! A program asks for values by an alternative of some step, and words by a noun phrase. Alternatives are kept one by
//! one and looked up in the list of seen pairs: a plain implementation of the definition that shares nothing with the
//! generator.

use super::error::AuditError;
use super::token::{MOST_TOKENS, Tokens, tokens};
use super::violation::{Violation, Violations};
use super::walk::{self, Walk};
use super::words::{Word, WordReader};
use crate::vocab::{TYPE_NAMES, Vocabulary};
use rayon::prelude::*;

/// Values of the two types, a bit each: those of the first, then those of the second.
type Values = u64;
const MOST_BITS: usize = Values::BITS as usize;
/// Maximum number of alternatives of a step; questions have fewer.
const MOST_ALTERNATIVES: usize = 256;

/// Reads programs and words, given the pairs of values that were seen together.
#[derive(Clone, Debug)]
pub struct AbsentReader {
    tokens: Tokens,
    words: WordReader,
    /// The pairs of values seen, two bits each.
    seen: Vec<Values>,
    n_first: usize,
}

impl AbsentReader {
    /// `functions` and `names` are the tokens of programs and questions by number; `seen` has each pair of values of
    /// the two `types` that an object had; `words` number the values of the first type, then those of the second.
    ///
    /// # Errors
    /// Types or values that are not in the vocabulary, or too many of them.
    pub fn new(
        vocab: &Vocabulary,
        functions: &[String],
        names: &[String],
        words: &[Word],
        types: [&str; 2],
        seen: &[(String, String)],
    ) -> Result<Self, AuditError> {
        let unknown = |kind: &str, value: &str| AuditError::Value { kind: kind.to_owned(), value: value.to_owned() };
        let kind_of = |name: &str| TYPE_NAMES.iter().position(|known| *known == name);
        let kinds = [kind_of(types[0]), kind_of(types[1])];
        let [Some(first), Some(second)] = kinds else { return Err(unknown("attribute type", &types.join(", "))) };
        let (n_first, n_second) = (vocab.n_values(first), vocab.n_values(second));
        if n_first + n_second > MOST_BITS {
            return Err(AuditError::TooMany(n_first + n_second));
        }
        let bits = |kind: usize, value: usize| -> Values {
            if kind == first {
                1 << value
            } else if kind == second {
                1 << (n_first + value)
            } else {
                0
            }
        };
        let both = |(a, b): &(String, String)| {
            let values = vocab.value(first, a).zip(vocab.value(second, b));
            values
                .map(|(a, b)| bits(first, a) | bits(second, b))
                .ok_or_else(|| unknown(&types.join(" or "), &format!("{a}, {b}")))
        };
        Ok(Self {
            tokens: Tokens::new(vocab, functions, bits),
            words: WordReader::new(names, words, 0)?,
            seen: seen.iter().map(both).collect::<Result<_, _>>()?,
            n_first,
        })
    }

    /// The rows whose program or words ask for something absent; lists at most `most` of each kind. Uses all cores.
    pub fn read_rows(&self, questions: &[i32], programs: &[i32], widths: [usize; 2], most: usize) -> Violations {
        let n_rows = (questions.len() / widths[0].max(1)).min(programs.len() / widths[1].max(1));
        let read = |row: usize| {
            let (question, program) = (tokens(questions, widths[0], row), tokens(programs, widths[1], row));
            let by_program = self.in_program(program).then_some(Violation::ProgramUnseen);
            [by_program, self.in_words(question).then_some(Violation::WordsUnseen)]
        };
        let rows: Vec<_> = (0..n_rows).into_par_iter().with_min_len(256).map(read).collect();
        Violations::collect(rows.into_iter().map(|row| row.into_iter().flatten()), most)
    }

    /// Whether a program asks for something absent.
    ///
    /// Programs with more tokens or alternatives than any question has are assumed to.
    pub fn in_program(&self, program: &[i32]) -> bool {
        let walk = Walk { tokens: &self.tokens, in_chains: false, bits: [0; TYPE_NAMES.len()] };
        let is_found = |alternatives: &[walk::Values]| {
            alternatives.iter().any(|values| self.is_absent(values.0)) || alternatives.len() > MOST_ALTERNATIVES
        };
        program.len() > MOST_TOKENS || walk.any(program, &is_found)
    }

    /// Whether the words of a question ask for something absent.
    pub fn in_words(&self, question: &[i32]) -> bool {
        self.words.any_phrase(question, |values| self.is_absent(values))
    }

    /// Whether no object had one of these values, or two of them of different types together.
    fn is_absent(&self, values: Values) -> bool {
        let is_seen = |wanted: Values| self.seen.iter().any(|seen| seen & wanted == wanted);
        let bits: Vec<usize> = (0..MOST_BITS).filter(|bit| values >> bit & 1 == 1).collect();
        bits.iter().enumerate().any(|(i, a)| {
            let others = bits[..i].iter().filter(|b| (*a < self.n_first) != (**b < self.n_first));
            !is_seen(1 << a) || others.into_iter().any(|b| !is_seen(1 << a | 1 << b))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples::vocabulary;

    /// The names of all tokens of some texts, and the texts as rows of their numbers.
    fn numbered(texts: &[&str]) -> (Vec<String>, Vec<Vec<i32>>) {
        let names: Vec<String> = texts.iter().flat_map(|text| text.split(' ')).map(str::to_owned).collect();
        let number = |token: &str| names.iter().position(|name| name == token).unwrap() as i32;
        let rows = texts.iter().map(|text| text.split(' ').map(number).collect()).collect();
        (names, rows)
    }

    /// Red and blue cubes and red spheres were seen.
    fn reader(functions: &[String], names: &[String]) -> AbsentReader {
        let word = |(text, value, is_noun): (&str, Option<usize>, bool)| Word {
            text: text.to_owned(),
            held_out: value,
            is_value: text != "thing",
            is_noun,
        };
        let words = [
            ("thing", None, true),
            ("small", None, false),
            ("red", Some(0), false),
            ("blue", Some(1), false),
            ("cube", Some(2), true),
            ("sphere", Some(3), true),
            ("cylinder", Some(4), true),
        ]
        .map(word);
        let seen = [("red", "cube"), ("blue", "cube"), ("red", "sphere")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        AbsentReader::new(&vocabulary(), functions, names, &words, ["color", "shape"], &seen).unwrap()
    }

    #[test]
    fn programs_are_judged_by_what_their_alternatives_ask_for() {
        let cases = [
            ("exist filter_shape[cube] filter_color[blue] scene", false),
            ("exist filter_shape[sphere] filter_color[blue] scene", true),
            // No object had this value.
            ("count filter_shape[cylinder] scene", true),
            // Blue things that are cubes or red spheres: the second alternative is blue and a sphere.
            ("count filter_color[blue] union filter_shape[cube] scene filter_shape[sphere] scene", true),
            ("count union filter_color[blue] scene filter_shape[sphere] scene", false),
            ("count intersect filter_color[blue] scene filter_shape[sphere] scene", true),
            ("count intersect filter_color[red] scene filter_shape[sphere] scene", false),
            // A relation starts a new description.
            ("count filter_shape[sphere] relate[left] unique filter_color[blue] scene", false),
            ("equal_integer count filter_shape[sphere] scene count filter_color[blue] scene", false),
        ];
        let (functions, rows) = numbered(&cases.map(|(program, _)| program));
        let reader = reader(&functions, &[]);
        for ((program, expected), row) in cases.into_iter().zip(rows) {
            assert_eq!(reader.in_program(&row), expected, "{program}");
        }
    }

    #[test]
    fn words_are_judged_by_what_their_phrases_name() {
        let cases = [
            ("is there a small red sphere", false),
            ("is there a blue sphere", true),
            ("is there a blue cube left of the red sphere", false),
            ("are there any small cylinders", true),
            ("how many blue things are either cubes or spheres", true),
            ("how many red things are either cubes or spheres", false),
            ("how many things are either blue cubes or spheres", false),
            ("are any of the blue things either cubes or spheres", true),
            ("are any of the spheres red things or blue things", true),
            ("are any of the cubes red things or blue things", false),
            ("are there any blue things the same size as the sphere", false),
        ];
        let (names, rows) = numbered(&cases.map(|(question, _)| question));
        let reader = reader(&[], &names);
        for ((question, expected), row) in cases.into_iter().zip(rows) {
            assert_eq!(reader.in_words(&row), expected, "{question}");
        }
    }

    #[test]
    fn unknown_values_are_refused() {
        let seen = [("red".to_owned(), "cone".to_owned())];
        assert!(AbsentReader::new(&vocabulary(), &[], &[], &[], ["color", "shape"], &seen).is_err());
        assert!(AbsentReader::new(&vocabulary(), &[], &[], &[], ["color", "weight"], &[]).is_err());
    }
}
