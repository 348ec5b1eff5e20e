//! Encodes programs as rows of prefix tokens, and decodes them.
//!
//! The form is that of the HDF5 files of the public CLEVR models (Johnson et al. 2017b, `preprocess_questions`, prefix
//! mode): `<START>`, the last function, the tokens of its first input, those of its second, `<END>`, then `<NULL>` up
//! to the row's width. A token is a function's name, with the argument in square brackets if it takes one:
//! `filter_color[red]`, `count_is[3]`. Each input is written out in full, so a step that two others share is written
//! twice, and an unused step is left out.

use super::{Argument, Fault, Function, MAX_STEPS, Origin, Program, Signature, Step, Type};
use crate::message::shown;
use crate::vocab::Vocabulary;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

pub const NULL: i32 = 0;
pub const START: i32 = 1;
pub const END: i32 = 2;
/// Never written; rows with this token are ill-formed.
pub const UNKNOWN: i32 = 3;
/// Names of the special tokens, by number.
pub const SPECIAL_NAMES: [&str; 4] = ["<NULL>", "<START>", "<END>", "<UNK>"];

/// The program tokens of a dataset, and their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramVocabulary {
    names: Vec<String>,
    /// For each token number, its token; None for special tokens.
    tokens: Vec<Option<Token>>,
    /// Token number by function number, then argument; `UNKNOWN` where there is no token.
    numbers: Vec<Vec<i32>>,
}

/// The function of a token, with its signature at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Token {
    function: Function,
    argument: u8,
    arity: u8,
    signature: Signature,
}

/// What is wrong with a row of tokens, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("programs[{row}][{position}]: {fault}")]
pub struct TokenError {
    pub row: usize,
    pub position: usize,
    pub fault: TokenFault,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenFault {
    #[error("token {0} where <START> (1) belongs")]
    NoStart(i32),
    #[error("the row has no <END> (2)")]
    NoEnd,
    #[error("token {0} after <END>, where <NULL> (0) belongs")]
    AfterEnd(i32),
    #[error("token {token} is not a function; functions are numbered 4 to {largest}")]
    NoFunction { token: i32, largest: usize },
    #[error("no tokens between <START> and <END>")]
    Empty,
    #[error("more than {MAX_STEPS} tokens; a program has at most {MAX_STEPS} steps")]
    TooLong,
    #[error("\"{function}\" takes {expected} inputs, but only {found} follow")]
    InputCount { function: Function, expected: usize, found: usize },
    #[error("\"{function}\" takes {expected} as input {input}, got {found}")]
    InputType { function: Function, input: usize, expected: Type, found: Type },
    #[error("\"{function}\" is left over: the program before it is complete")]
    LeftOver { function: Function },
    #[error("\"{function}\" gives {output}, which is not an answer; a program ends in Integer, Bool or a value")]
    NoAnswer { function: Function, output: Type },
}

/// Why a program cannot be written as a row of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    #[error("the program needs {needed} tokens with <START> and <END>, the row has room for {width}")]
    TooWide { needed: usize, width: usize },
    #[error("\"{0}\" is not in this program vocabulary")]
    NoToken(Function),
}

impl ProgramVocabulary {
    /// The tokens of all functions that CLEVR's questions use: its own 44 for its own vocabulary.
    ///
    /// Other functions are left out: they would shift the numbers of these tokens. `extended` appends them.
    pub fn new(vocab: &Vocabulary) -> Self {
        let is_of_clevr = |function: &Function| function.origin() == Origin::ClevrQuestions;
        Self::of(vocab, Function::all().iter().copied().filter(is_of_clevr))
    }

    /// The special tokens, then those of the functions with every argument they can take, sorted by name.
    pub fn of(vocab: &Vocabulary, functions: impl IntoIterator<Item = Function>) -> Self {
        let tokens: BTreeMap<String, Token> =
            functions.into_iter().flat_map(|function| tokens_of(function, vocab)).collect();
        Self::numbered(tokens.into_iter().map(|(name, token)| (name, Some(token))))
    }

    /// These tokens with the same numbers, then those of `functions` that are missing, as a suite of questions needs
    /// them beside a dataset: function by function in the order given, each with its arguments in their order.
    pub fn extended(&self, vocab: &Vocabulary, functions: impl IntoIterator<Item = Function>) -> Self {
        let mut known: BTreeSet<String> = self.names.iter().cloned().collect();
        let own = self.names.iter().cloned().zip(self.tokens.iter().copied()).skip(SPECIAL_NAMES.len());
        let further = functions.into_iter().flat_map(|function| tokens_of(function, vocab));
        let further = further.filter(|(name, _)| known.insert(name.clone()));
        Self::numbered(own.chain(further.map(|(name, token)| (name, Some(token)))))
    }

    /// The tokens of a `vocab.json` (`program_token_to_idx`), by number.
    ///
    /// # Errors
    /// Names the first token that is not a function with a value of its type, or a misplaced special token.
    pub fn from_names<'a>(vocab: &Vocabulary, names: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let names: Vec<&str> = names.into_iter().collect();
        check_special_names(&names, "program")?;
        let tokens = names.into_iter().enumerate().skip(SPECIAL_NAMES.len()).map(|(number, name)| {
            let token = Token::parse(name, vocab).map_err(|fault| format!("program token {number}: {fault}"))?;
            Ok((name.to_owned(), Some(token)))
        });
        Ok(Self::numbered(tokens.collect::<Result<Vec<_>, String>>()?))
    }

    fn numbered(tokens: impl IntoIterator<Item = (String, Option<Token>)>) -> Self {
        let special = SPECIAL_NAMES.map(|name| (name.to_owned(), None));
        let (names, tokens): (Vec<_>, Vec<_>) = special.into_iter().chain(tokens).unzip();
        let mut numbers = Vec::new();
        for (number, token) in tokens.iter().enumerate() {
            let Some(Token { function, argument, .. }) = token else { continue };
            let arguments: &mut Vec<i32> = grown(&mut numbers, function.number(), Vec::new());
            *grown(arguments, usize::from(*argument), UNKNOWN) = number as i32;
        }
        Self { names, tokens, numbers }
    }

    /// Names by number, special tokens included.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The tokens of a checked program, from `<START>` to `<END>`, without padding.
    ///
    /// # Errors
    /// `TooWide` for more than `MAX_STEPS` functions, `NoToken` for a function that is not in the vocabulary.
    pub fn encode(&self, program: &Program) -> Result<Vec<i32>, EncodeError> {
        let needed = n_tokens(program);
        let mut row = vec![NULL; needed.min(MAX_STEPS + 2)];
        self.encode_into(program, &mut row)?;
        Ok(row)
    }

    /// Writes the program's tokens into a row, padded with `<NULL>`, and returns their number.
    ///
    /// # Errors
    /// As `encode`, and `TooWide` when the row is too narrow.
    pub fn encode_into(&self, program: &Program, row: &mut [i32]) -> Result<usize, EncodeError> {
        let width = row.len();
        let too_wide = || EncodeError::TooWide { needed: n_tokens(program), width };
        let [start, functions @ ..] = row else { return Err(too_wide()) };
        *start = START;
        let mut written = 0;
        let mut pending = vec![program.steps.len().wrapping_sub(1)];
        while let Some(node) = pending.pop() {
            let step = &program.steps[node];
            // The last position is for <END>.
            if written + 1 >= functions.len() || written >= MAX_STEPS {
                return Err(too_wide());
            }
            functions[written] = self.token(step).ok_or(EncodeError::NoToken(step.function))?;
            written += 1;
            pending.extend(step.sources().iter().rev().map(|&source| usize::from(source)));
        }
        functions[written] = END;
        functions[written + 1..].fill(NULL);
        Ok(written + 2)
    }

    /// The program of a row, with steps in CLEVR's order: those of the first input, those of the second, then the
    /// function. `row` is the row's number, for messages.
    ///
    /// # Errors
    /// Names the row and the position of the first fault, counted from the end of the program backwards.
    pub fn decode(&self, tokens: &[i32], row: usize) -> Result<Program, TokenError> {
        let program = self.decode_any(tokens, row)?;
        check_ending(&program.steps).map_err(|(position, fault)| TokenError { row, position, fault })?;
        Ok(program)
    }

    /// The same for a program that may end in objects, groups or images as well.
    ///
    /// # Errors
    /// As `decode`.
    pub fn decode_any(&self, tokens: &[i32], row: usize) -> Result<Program, TokenError> {
        let mut steps = Vec::new();
        match self.decode_backwards(tokens, &mut steps) {
            Ok(()) => Ok(Program { steps: in_listed_order(&steps) }),
            Err((position, fault)) => Err(TokenError { row, position, fault }),
        }
    }

    /// The token of a step.
    fn token(&self, step: &Step) -> Option<i32> {
        let arguments = self.numbers.get(step.function.number())?;
        arguments.get(usize::from(step.argument)).copied().filter(|&token| token != UNKNOWN)
    }

    /// Appends the checked steps of a row in the reverse order of its tokens, so that inputs come first; the last step
    /// may give something other than an answer.
    ///
    /// Read backwards, prefix order needs one stack and no look-ahead. An error is (position, fault).
    #[inline]
    pub(super) fn decode_backwards(&self, row: &[i32], steps: &mut Vec<Step>) -> Result<(), (usize, TokenFault)> {
        steps.clear();
        let end = framed(row)?;
        if end > MAX_STEPS + 1 {
            return Err((MAX_STEPS + 1, TokenFault::TooLong));
        }
        // Steps that no step uses as an input yet, with the position and type of each.
        let mut open = [(0u8, 0u16, Type::Set); MAX_STEPS];
        let mut n_open = 0;
        for (position, &number) in row.iter().enumerate().take(end).skip(1).rev() {
            let token = usize::try_from(number).ok().and_then(|number| *self.tokens.get(number)?);
            let Some(Token { function, argument, arity, signature }) = token else {
                return Err((position, TokenFault::NoFunction { token: number, largest: self.names.len() - 1 }));
            };
            let arity = usize::from(arity);
            if arity > n_open {
                let fault = TokenFault::InputCount { function, expected: arity, found: n_open };
                return Err((position, fault));
            }
            let mut sources = [0; 2];
            for (input, slot) in sources.iter_mut().enumerate().take(arity) {
                n_open -= 1;
                let (source, _, found) = open[n_open];
                *slot = source;
                if let Some(expected) = signature.inputs[input].filter(|&expected| expected != found) {
                    return Err((position, TokenFault::InputType { function, input, expected, found }));
                }
            }
            open[n_open] = (steps.len() as u8, position as u16, signature.output);
            n_open += 1;
            steps.push(Step { function, argument, inputs: sources });
        }
        if steps.is_empty() {
            return Err((end, TokenFault::Empty));
        }
        if n_open > 1 {
            let (source, position, _) = open[n_open - 2];
            return Err((
                usize::from(position),
                TokenFault::LeftOver { function: steps[usize::from(source)].function },
            ));
        }
        Ok(())
    }
}

/// Checks that the last step gives an answer; an error is (position, fault).
#[inline]
pub(super) fn check_ending(steps: &[Step]) -> Result<(), (usize, TokenFault)> {
    match steps.last().map(|last| (last.function, last.function.signature().output)) {
        Some((function, output)) if !output.is_answer() => Err((1, TokenFault::NoAnswer { function, output })),
        _ => Ok(()),
    }
}

impl Token {
    fn new(function: Function, argument: u8) -> Self {
        Self { function, argument, arity: function.arity() as u8, signature: function.signature() }
    }

    /// Reads `count` or `filter_color[red]`.
    fn parse(name: &str, vocab: &Vocabulary) -> Result<Self, Fault> {
        let (stem, value) = match name.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
            Some((stem, value)) => (stem, Some(value)),
            None => (name, None),
        };
        let function = Function::from_name(stem).map_err(Fault::UnknownFunction)?;
        Ok(Self::new(function, function.parse_argument(value.as_slice(), vocab)?))
    }
}

/// Checks that token names, given by number, begin with the special ones; messages speak of a `kind` of token.
///
/// # Errors
/// Names the first token that differs.
pub fn check_special_names(names: &[&str], kind: &str) -> Result<(), String> {
    for (number, expected) in SPECIAL_NAMES.into_iter().enumerate() {
        let found = names.get(number).copied().unwrap_or("nothing");
        if found != expected {
            return Err(format!("{kind} token {number} is \"{}\"; expected \"{expected}\"", shown(found)));
        }
    }
    Ok(())
}

/// The tokens of a function with their names.
fn tokens_of(function: Function, vocab: &Vocabulary) -> Vec<(String, Token)> {
    match function.signature().argument {
        Argument::Nothing => vec![(function.to_string(), Token::new(function, 0))],
        argument @ (Argument::Value(_) | Argument::Relation | Argument::Number) => {
            let names = argument.names(vocab).into_iter().enumerate();
            names.map(|(i, name)| (format!("{function}[{name}]"), Token::new(function, i as u8))).collect()
        }
    }
}

/// The position of `<END>` in a row that special tokens frame correctly.
#[inline]
fn framed(row: &[i32]) -> Result<usize, (usize, TokenFault)> {
    match row.first() {
        Some(&START) => (),
        other => return Err((0, TokenFault::NoStart(other.copied().unwrap_or(NULL)))),
    }
    let end = row.iter().position(|&token| token == END).ok_or((row.len(), TokenFault::NoEnd))?;
    match row[end + 1..].iter().position(|&token| token != NULL) {
        Some(beyond) => Err((end + 1 + beyond, TokenFault::AfterEnd(row[end + 1 + beyond]))),
        None => Ok(end),
    }
}

/// Number of tokens of a program, `<START>` and `<END>` included.
fn n_tokens(program: &Program) -> usize {
    let mut sizes: Vec<usize> = Vec::with_capacity(program.steps.len());
    for step in &program.steps {
        // Each shared step can double the number of tokens, so it may exceed any integer.
        let size = step.sources().iter().fold(1usize, |sum, &source| sum.saturating_add(sizes[usize::from(source)]));
        sizes.push(size);
    }
    sizes.last().map_or(2, |size| size.saturating_add(2))
}

/// Puts the steps of a tree in the order first input, second input, function; `decode_backwards` gives them in
/// the order second input, first input, function.
fn in_listed_order(steps: &[Step]) -> Vec<Step> {
    let mut sizes = vec![1; steps.len()];
    for (node, step) in steps.iter().enumerate() {
        sizes[node] += step.sources().iter().map(|&source| sizes[usize::from(source)]).sum::<usize>();
    }
    // From the root down: a subtree takes consecutive positions, and its root the last of them.
    let mut starts = vec![0; steps.len()];
    let mut listed = steps.to_vec();
    for (node, step) in steps.iter().enumerate().rev() {
        let mut start = starts[node];
        let mut inputs = [0; 2];
        for (input, &source) in inputs.iter_mut().zip(step.sources()) {
            let source = usize::from(source);
            starts[source] = start;
            start += sizes[source];
            *input = (start - 1) as u8;
        }
        listed[start] = Step { inputs, ..*step };
    }
    listed
}

/// The entry of a list at `index`; the list is extended with `filler` first if needed.
fn grown<T: Clone>(list: &mut Vec<T>, index: usize, filler: T) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, filler);
    }
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use super::super::{execute, samples};
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &str) -> String {
        let vocabulary = all_tokens();
        let row = vocabulary.encode(&samples::program(text)).unwrap();
        let names: Vec<&str> = row.iter().map(|&token| vocabulary.names()[token as usize].as_str()).collect();
        names.join(" ")
    }

    fn all_tokens() -> ProgramVocabulary {
        ProgramVocabulary::of(&samples::vocabulary(), Function::all().iter().copied())
    }

    #[test]
    fn clevr_has_its_44_tokens() {
        let properties = r#"{"shapes": {"cube": "", "sphere": "", "cylinder": ""}, "materials": {"rubber": "", "metal": ""},
            "colors": {"gray": [0, 0, 0], "red": [0, 0, 0], "blue": [0, 0, 0], "green": [0, 0, 0], "brown": [0, 0, 0],
            "purple": [0, 0, 0], "cyan": [0, 0, 0], "yellow": [0, 0, 0]}, "sizes": {"large": 2, "small": 1}}"#;
        let vocab = Vocabulary::from_properties_json(properties.as_bytes(), "p.json", 10).unwrap();
        let vocabulary = ProgramVocabulary::new(&vocab);
        assert_eq!(
            vocabulary.names().join(" "),
            "<NULL> <START> <END> <UNK> count equal_color equal_integer equal_material equal_shape equal_size exist \
             filter_color[blue] filter_color[brown] filter_color[cyan] filter_color[gray] filter_color[green] \
             filter_color[purple] filter_color[red] filter_color[yellow] filter_material[metal] \
             filter_material[rubber] filter_shape[cube] filter_shape[cylinder] filter_shape[sphere] \
             filter_size[large] filter_size[small] greater_than intersect less_than query_color query_material \
             query_shape query_size relate[behind] relate[front] relate[left] relate[right] same_color same_material \
             same_shape same_size scene union unique"
        );
        let names = vocabulary.names().iter().map(String::as_str);
        assert_eq!(ProgramVocabulary::from_names(&vocab, names), Ok(vocabulary.clone()));
    }

    #[test]
    fn an_extended_vocabulary_keeps_its_numbers() {
        let vocab = samples::vocabulary();
        let clevr = ProgramVocabulary::new(&vocab);
        let functions = ["count_is", "verify_relation", "not", "count", "verify_shape", "not", "and"];
        let suite = clevr.extended(&vocab, functions.map(|name| Function::from_name(name).unwrap()));
        let (own, further) = suite.names().split_at(clevr.names().len());
        assert_eq!(own, clevr.names());
        assert_eq!(
            further.join(" "),
            "count_is[0] count_is[1] count_is[2] count_is[3] count_is[4] count_is[5] count_is[6] count_is[7] count_is[8] \
             count_is[9] count_is[10] verify_relation[left] verify_relation[right] verify_relation[behind] \
             verify_relation[front] not verify_shape[cube] verify_shape[sphere] verify_shape[cylinder] and"
        );
        // The vocabulary can be read back from its names, and encodes a program of CLEVR's functions as the same row.
        let names = suite.names().iter().map(String::as_str);
        assert_eq!(ProgramVocabulary::from_names(&vocab, names), Ok(suite.clone()));
        let program = samples::program("scene; filter_color[red] 0; count 1");
        assert_eq!(suite.encode(&program), clevr.encode(&program));
        let program = samples::program("scene; count 0; count_is[3] 1; not 2");
        assert_eq!(clevr.encode(&program), Err(EncodeError::NoToken(Function::Not)));
        let row = suite.encode(&program).unwrap();
        assert_eq!(suite.decode(&row, 0), Ok(program));
        // Adding functions that the vocabulary already has changes nothing.
        assert_eq!(suite.extended(&vocab, [Function::Scene, Function::CountIs]), suite);
    }

    #[test]
    fn a_vocabulary_file_that_does_not_fit_is_refused() {
        let vocab = samples::vocabulary();
        let fault = |names: &[&str]| ProgramVocabulary::from_names(&vocab, names.iter().copied()).unwrap_err();
        assert_eq!(fault(&["<NULL>", "<START>"]), "program token 2 is \"nothing\"; expected \"<END>\"");
        assert_eq!(fault(&["count"]), "program token 0 is \"count\"; expected \"<NULL>\"");
        let with = |name| fault(&[&SPECIAL_NAMES[..], &[name]].concat());
        assert_eq!(with("cuont"), "program token 4: unknown function \"cuont\" (did you mean \"count\"?)");
        assert!(with("filter_color[cube]").ends_with("\"cube\" is a shape, not a color"));
        assert_eq!(with("filter_color"), "program token 4: \"filter_color\" takes one value, got 0");
        assert_eq!(with("count[red]"), "program token 4: \"count\" takes no value, got 1");
        assert_eq!(with("count_is[11]"), "program token 4: \"11\" is not a number from 0 to 10");
        assert_eq!(with("count_is"), "program token 4: \"count_is\" takes one value, got 0");
    }

    #[test]
    fn branches_come_in_the_order_of_the_inputs() {
        assert_eq!(
            tokens("scene; filter_color[red] 0; count 1; scene; count 3; less_than 2 4"),
            "<START> less_than count filter_color[red] scene count scene <END>"
        );
        // A step that two others share is written for each; a step that no other needs is left out.
        assert_eq!(
            tokens("scene; count 0; count_is[3] 1; scene; unique 3; verify_size[small] 4; or 2 5; not 6"),
            "<START> not or count_is[3] count scene verify_size[small] unique scene <END>"
        );
        assert_eq!(
            tokens("scene; unique 0; filter_size[small] 0; count 2; count 0; less_than 4 3"),
            "<START> less_than count scene count filter_size[small] scene <END>"
        );
    }

    #[test]
    fn a_row_that_is_too_narrow_or_a_tree_too_large_is_refused() {
        let vocabulary = ProgramVocabulary::new(&samples::vocabulary());
        let program = samples::program("scene; filter_color[red] 0; count 1");
        for width in 0..5 {
            let error = vocabulary.encode_into(&program, &mut vec![7; width]);
            assert_eq!(error, Err(EncodeError::TooWide { needed: 5, width }));
        }
        let mut row = [7; 6];
        assert_eq!(vocabulary.encode_into(&program, &mut row), Ok(5));
        assert_eq!((row[0], &row[4..]), (START, &[END, NULL][..]));

        let doubled: String = (0..70).map(|i| format!("; union {i} {i}")).collect();
        let large = samples::program(&format!("scene{doubled}; count 70"));
        let error = vocabulary.encode(&large).unwrap_err();
        assert_eq!(error, EncodeError::TooWide { needed: usize::MAX, width: MAX_STEPS + 2 });

        let program = samples::program("scene; unique 0; equal_object 1 1");
        assert_eq!(vocabulary.encode(&program), Err(EncodeError::NoToken(Function::EqualObject)));
    }

    #[test]
    fn a_fault_names_row_and_position() {
        let vocabulary = ProgramVocabulary::new(&samples::vocabulary());
        let number = |name: &str| match name.parse() {
            Ok(number) => number,
            Err(_) => vocabulary.names().iter().position(|known| known == name).unwrap() as i32,
        };
        let cases = [
            ("", "programs[3][0]: token 0 where <START> (1) belongs"),
            ("count scene <END>", "programs[3][0]: token 4 where <START>"),
            ("<START> count scene", "programs[3][3]: the row has no <END> (2)"),
            ("<START> <END>", "programs[3][1]: no tokens between"),
            ("<START> count scene <END> <NULL> scene", "programs[3][5]: token 35 after <END>"),
            (
                "<START> count <UNK> scene <END>",
                "programs[3][2]: token 3 is not a function; functions are numbered 4 to 37",
            ),
            ("<START> count 99 <END>", "programs[3][2]: token 99 is not a function"),
            ("<START> count -5 <END>", "programs[3][2]: token -5 is not a function"),
            ("<START> count <END>", "programs[3][1]: \"count\" takes 1 inputs, but only 0 follow"),
            ("<START> count union scene <END>", "programs[3][2]: \"union\" takes 2 inputs, but only 1 follow"),
            ("<START> count scene count scene <END>", "programs[3][3]: \"count\" is left over"),
            ("<START> count unique scene <END>", "programs[3][1]: \"count\" takes ObjectSet as input 0, got Object"),
            ("<START> unique scene <END>", "programs[3][1]: \"unique\" gives Object, which is not an answer"),
        ];
        for (text, message) in cases {
            let row: Vec<i32> = text.split_whitespace().map(number).collect();
            let error = vocabulary.decode(&row, 3).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        let mut long = vec![START, number("count")];
        long.extend(vec![number("filter_color[red]"); 254]);
        long.extend([number("scene"), END]);
        assert_eq!(vocabulary.decode(&long, 0).unwrap().steps.len(), 256);
        long.insert(2, number("filter_color[red]"));
        assert_eq!(vocabulary.decode(&long, 0).unwrap_err().fault, TokenFault::TooLong);
    }

    proptest! {
        #[test]
        fn tokens_come_back_to_themselves(seed in any::<u64>()) {
            let (vocab, vocabulary) = (samples::vocabulary(), all_tokens());
            let program = samples::random_program(&vocab, seed);
            match vocabulary.encode(&program) {
                Err(error) => prop_assert!(matches!(error, EncodeError::TooWide { needed: 259.., .. }), "{}", error),
                Ok(row) => {
                    let tree = vocabulary.decode(&row, 0).unwrap();
                    prop_assert_eq!(tree.check(&vocab, "tree"), Ok(()));
                    prop_assert_eq!(vocabulary.encode(&tree), Ok(row.clone()));
                    // A tree in listed order decodes to itself.
                    prop_assert_eq!(vocabulary.decode(&row, 0).unwrap(), tree.clone());
                    for scene in 0..20 {
                        let scene = samples::random_scene(&vocab, 4, scene);
                        let answer = execute(&program, scene.view(), &vocab);
                        // Steps that no other needs are gone, and so are the failures that they caused.
                        if answer.is_ok() {
                            prop_assert_eq!(execute(&tree, scene.view(), &vocab), answer);
                        }
                    }
                }
            }
        }

        #[test]
        fn any_row_decodes_or_is_refused(row in prop::collection::vec(-2..90i32, 0..20)) {
            let vocabulary = all_tokens();
            for row in [row.clone(), [&[START], row.as_slice(), &[END]].concat()] {
                if let Ok(program) = vocabulary.decode(&row, 0) {
                    prop_assert_eq!(program.check(&samples::vocabulary(), "program"), Ok(()));
                }
            }
        }
    }
}
