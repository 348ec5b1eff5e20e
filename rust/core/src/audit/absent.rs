//! Rows that ask for a combination of values that was not seen, in program or in words.
//!
//! A value, or two of two types, that no object had: asked for by an alternative of some step of the program, or
//! by a noun phrase. Alternatives are kept as they are, one by one, and the list of what was seen is looked up
//! for each: the plain reading of the definition, and no part of what made the questions.

use super::token::Tokens;
use super::words::{Word, WordReader};
use super::{AuditError, MOST_TOKENS, between_marks};
use crate::program::Effect;
use crate::vocab::{TYPE_NAMES, Vocabulary};
use rayon::prelude::*;

/// Values of the two types, a bit each: those of the first, then those of the second.
type Values = u64;
const MOST_BITS: usize = Values::BITS as usize;
/// A step of a question has fewer alternatives.
const MOST_ALTERNATIVES: usize = 256;

/// Knows which values were seen together.
#[derive(Clone, Debug)]
pub struct AbsentReader {
    tokens: Tokens,
    words: WordReader,
    /// Each combination seen, two bits.
    seen: Vec<Values>,
    n_first: usize,
}

impl AbsentReader {
    /// `functions` and `names` are the tokens of programs and of questions by number; `types` are two, `seen` their
    /// values seen in one object; `words` number the values of the first type, then those of the second.
    ///
    /// # Errors
    /// Types or values that the vocabulary has not, or too many of them.
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

    /// By row, whether the program asks for what was not seen, and whether the words do; uses all cores.
    pub fn read_rows(&self, questions: &[i32], programs: &[i32], widths: [usize; 2]) -> Vec<(bool, bool)> {
        let questions = questions.par_chunks_exact(widths[0].max(1));
        let programs = programs.par_chunks_exact(widths[1].max(1));
        let look = |(question, program)| {
            let (question, program) = (between_marks(question), between_marks(program));
            (self.in_program(program), self.in_words(question))
        };
        questions.zip(programs).with_min_len(256).map(look).collect()
    }

    /// Whether a program asks for what was not seen.
    ///
    /// One with more tokens or alternatives than any question has counts as one that does.
    pub fn in_program(&self, program: &[i32]) -> bool {
        let mut found = program.len() > MOST_TOKENS;
        let mut rest = program;
        while !rest.is_empty() && !found {
            self.asked(&mut rest, &mut found);
        }
        found
    }

    /// Whether a question's words do.
    pub fn in_words(&self, question: &[i32]) -> bool {
        self.words.any_phrase(question, |asked| self.is_absent(asked))
    }

    /// Whether no object was seen that has one of these values, or two of them, of two types.
    fn is_absent(&self, values: Values) -> bool {
        let is_seen = |wanted: Values| self.seen.iter().any(|seen| seen & wanted == wanted);
        let bits: Vec<usize> = (0..MOST_BITS).filter(|bit| values >> bit & 1 == 1).collect();
        bits.iter().enumerate().any(|(i, a)| {
            let others = bits[..i].iter().filter(|b| (*a < self.n_first) != (**b < self.n_first));
            !is_seen(1 << a) || others.into_iter().any(|b| !is_seen(1 << a | 1 << b))
        })
    }

    /// The alternatives of the step that comes next; takes its tokens, and notes what it finds on the way.
    fn asked(&self, rest: &mut &[i32], found: &mut bool) -> Vec<Values> {
        let Some(token) = self.tokens.next(rest) else { return vec![0] };
        let mut alternatives = match token.function.effect() {
            Effect::Keeps => return self.asked(rest, found),
            Effect::Adds => self.asked(rest, found).into_iter().map(|asked| asked | token.values).collect(),
            Effect::TakesEither => [self.asked(rest, found), self.asked(rest, found)].concat(),
            Effect::Joins => {
                let (some, others) = (self.asked(rest, found), self.asked(rest, found));
                some.iter().flat_map(|a| others.iter().map(move |b| a | b)).collect()
            }
            Effect::StartsAnew | Effect::Likens(_) | Effect::Compares(_) | Effect::Identifies => {
                (0..token.function.arity()).for_each(|_| drop(self.asked(rest, found)));
                vec![0]
            }
        };
        alternatives.sort_unstable();
        alternatives.dedup();
        *found |= alternatives.iter().any(|&asked| self.is_absent(asked)) || alternatives.len() > MOST_ALTERNATIVES;
        // What was found stays found, so nothing further is looked at.
        if *found { vec![0] } else { alternatives }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROPERTIES: &str = r#"{"sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [1, 2, 3], "blue": [1, 2, 4]},
        "materials": {"rubber": "r"}, "shapes": {"cube": "c", "sphere": "s", "cylinder": "y"}}"#;

    fn numbered(tokens: &[&str]) -> Vec<String> {
        tokens.iter().map(|token| (*token).to_owned()).collect()
    }

    /// Red and blue cubes and red spheres were seen.
    fn reader(functions: &[String], names: &[String]) -> AbsentReader {
        let vocab = Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "p", 10).unwrap();
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
        AbsentReader::new(&vocab, functions, names, &words, ["color", "shape"], &seen).unwrap()
    }

    #[test]
    fn programs_are_told_by_what_their_alternatives_ask_for() {
        let cases = [
            ("exist filter_shape[cube] filter_color[blue] scene", false),
            ("exist filter_shape[sphere] filter_color[blue] scene", true),
            // A value that met none.
            ("count filter_shape[cylinder] scene", true),
            // Blue things that are cubes or red spheres: the second alternative is blue and a sphere.
            ("count filter_color[blue] union filter_shape[cube] scene filter_shape[sphere] scene", true),
            ("count union filter_color[blue] scene filter_shape[sphere] scene", false),
            ("count intersect filter_color[blue] scene filter_shape[sphere] scene", true),
            ("count intersect filter_color[red] scene filter_shape[sphere] scene", false),
            // What follows a relation starts anew.
            ("count filter_shape[sphere] relate[left] unique filter_color[blue] scene", false),
            ("equal_integer count filter_shape[sphere] scene count filter_color[blue] scene", false),
        ];
        let mut functions = vec!["<NULL>".to_owned()];
        for (program, _) in cases {
            functions.extend(program.split(' ').map(str::to_owned));
        }
        let reader = reader(&functions, &[]);
        for (program, expected) in cases {
            let number = |name: &str| functions.iter().position(|known| known == name).unwrap() as i32;
            let tokens: Vec<i32> = program.split(' ').map(number).collect();
            assert_eq!(reader.in_program(&tokens), expected, "{program}");
        }
    }

    #[test]
    fn words_are_told_by_what_their_phrases_name() {
        let cases = [
            ("is there a small red sphere", false),
            ("is there a blue sphere", true),
            ("is there a blue cube left of the red sphere", false),
            ("are there any small cylinders", true),
            ("how many blue things are either cubes or spheres", true),
            ("how many red things are either cubes or spheres", false),
            ("how many things are either blue cubes or spheres", false),
        ];
        let mut names: Vec<String> = Vec::new();
        for (question, _) in cases {
            names.extend(numbered(&question.split(' ').collect::<Vec<_>>()));
        }
        let reader = reader(&[], &names);
        for (question, expected) in cases {
            let number = |name: &str| names.iter().position(|known| known == name).unwrap() as i32;
            let tokens: Vec<i32> = question.split(' ').map(number).collect();
            assert_eq!(reader.in_words(&tokens), expected, "{question}");
        }
    }

    #[test]
    fn unknown_values_are_refused() {
        let vocab = Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "p", 10).unwrap();
        let seen = [("red".to_owned(), "cone".to_owned())];
        assert!(AbsentReader::new(&vocab, &[], &[], &[], ["color", "shape"], &seen).is_err());
        assert!(AbsentReader::new(&vocab, &[], &[], &[], ["color", "weight"], &[]).is_err());
    }
}
