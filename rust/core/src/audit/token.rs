//! The tokens of a row, of a text and of a program (each a function with its argument), as the audit reads them.

use crate::program::{Argument, Function};
use crate::vocab::{RELATION_NAMES, Vocabulary};

/// A row with more tokens than this is not a program: CLEVR's longest has some 25.
pub(super) const MOST_TOKENS: usize = 512;

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub function: Function,
    /// The row of a value among a scene's sets, the number of a relation, a number itself, or 0.
    pub argument: usize,
    /// The bits of its value, if that is among the values searched for.
    pub values: u64,
}

/// Tokens by number; None for tokens that are not a function with its argument.
#[derive(Clone, Debug)]
pub(super) struct Tokens(Vec<Option<Token>>);

impl Tokens {
    /// The tokens of names such as `filter_color[red]`; `bits` returns the bits of a value, by type and number.
    pub fn new(vocab: &Vocabulary, names: &[String], bits: impl Fn(usize, usize) -> u64) -> Self {
        let read = |name: &String| {
            let (function, argument) = name.split_once('[').unwrap_or((name, ""));
            let argument = argument.trim_end_matches(']');
            let function = Function::from_name(function).ok()?;
            let (argument, values) = match function.signature().argument {
                Argument::Nothing => (0, 0),
                Argument::Relation => (RELATION_NAMES.iter().position(|name| *name == argument)?, 0),
                Argument::Number => ((0..=vocab.largest_count()).position(|n| n.to_string() == argument)?, 0),
                Argument::Value(kind) => {
                    let kind = usize::from(kind);
                    let value = vocab.value(kind, argument)?;
                    (vocab.value_row(kind, value), bits(kind, value))
                }
            };
            Some(Token { function, argument, values })
        };
        Self(names.iter().map(read).collect())
    }

    pub fn get(&self, number: i32) -> Option<Token> {
        usize::try_from(number).ok().and_then(|i| self.0.get(i).copied().flatten())
    }

    /// Takes the first remaining token; None if there is none, or it is not a function.
    pub fn next(&self, rest: &mut &[i32]) -> Option<Token> {
        let (&first, others) = rest.split_first()?;
        *rest = others;
        self.get(first)
    }

    /// The number of a function that takes no argument.
    pub fn number_of(&self, function: Function) -> Option<i32> {
        self.0.iter().position(|token| token.is_some_and(|token| token.function == function)).map(|i| i as i32)
    }
}

/// The tokens of a row between `<START>` and `<END>`; `rows` has rows of `width` tokens, end to end.
pub(super) fn tokens(rows: &[i32], width: usize, row: usize) -> &[i32] {
    const END: i32 = 2;
    let row = rows[row * width..][..width].get(1..).unwrap_or(&[]);
    &row[..row.iter().position(|&token| token == END).unwrap_or(row.len())]
}

/// The tokens of a text, separated by white space, `?` and `.`; `;` and `,` are tokens of their own.
pub(super) fn split_text(text: &str) -> impl Iterator<Item = &str> {
    let is_mark = |c: char| matches!(c, ';' | ',' | '?' | '.');
    let pieces = text.split_whitespace().flat_map(move |word| word.split_inclusive(is_mark));
    let tokens = pieces.flat_map(move |piece| {
        let (word, mark) = piece.split_at(piece.trim_end_matches(is_mark).len());
        [word, mark.trim_end_matches(['?', '.'])]
    });
    tokens.filter(|token| !token.is_empty())
}
