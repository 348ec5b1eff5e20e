//! Rows of tokens, names of tokens and chunks of arrays, as in files.

use crate::{VOCAB, checked};
use clevrhope_core::audit::{
    AbsentReader, FinishedScenes, ProgramReader, QuestionColumns, Rows, Word, WordReader, check_balance, needed_rows,
    read_rows,
};
use clevrhope_core::chunk::{Cut, deflate_chunks, inflate_chunks};
use clevrhope_core::program::encode::ProgramVocabulary;
use clevrhope_core::program::{Function, IllFormed, SceneTable, execute_tokens, levels, plan_levels, plan_runs};
use clevrhope_core::question::tokens::QuestionVocabulary;
use proptest::prelude::*;
use std::sync::LazyLock;

const WIDTH: usize = 12;

static SCENES: LazyLock<FinishedScenes> = LazyLock::new(|| {
    FinishedScenes::from_json(crate::scenes::SCENES.to_string().as_bytes(), "s.json", &VOCAB).unwrap()
});
static TOKENS: LazyLock<ProgramVocabulary> =
    LazyLock::new(|| ProgramVocabulary::new(&VOCAB).extended(&VOCAB, Function::all().iter().copied()));

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn pair() -> Vec<(String, String)> {
    [("color", "red"), ("shape", "cube")].map(|(kind, value)| (kind.to_owned(), value.to_owned())).to_vec()
}

/// Numbers that are mostly tokens.
fn token() -> impl Strategy<Value = i32> {
    prop_oneof![8 => 0i32..100, 1 => any::<i32>(), 1 => prop::sample::select(vec![-1, i32::MIN, i32::MAX, 1 << 16])]
}

fn rows() -> impl Strategy<Value = Vec<i32>> {
    let framed = prop::collection::vec(token(), WIDTH - 2).prop_map(|body| [&[1], &body[..], &[2]].concat());
    let row = prop_oneof![3 => framed, 1 => prop::collection::vec(token(), WIDTH)];
    prop::collection::vec(row, 0..6).prop_map(|rows| rows.concat())
}

/// The names of tokens, and names that are similar.
fn token_name() -> impl Strategy<Value = String> {
    let known = [
        "<NULL>",
        "scene",
        "filter_color[red]",
        "filter_color[",
        "filter_[red]",
        "count_is[3]",
        "count_is[03]",
        "relate[left]",
        "relate",
        "[",
        "]",
    ];
    prop_oneof![prop::sample::select(known.map(str::to_owned).to_vec()), any::<String>(), Just("x".repeat(100_000))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn rows_of_tokens(rows in rows(), scenes in prop::collection::vec(-2i64..4, 6)) {
        let n = rows.len() / WIDTH;
        for (number, row) in rows.chunks_exact(WIDTH).enumerate() {
            checked(TOKENS.decode(row, number));
        }
        let views: Vec<_> = (0..SCENES.0.len()).filter_map(|scene| SCENES.view(scene)).collect();
        let table = SceneTable::new(&VOCAB, &views);
        let numbers: Vec<u32> = scenes[..n].iter().map(|&scene| scene as u32).collect();
        for ill_formed in [IllFormed::Refuse, IllFormed::Mark] {
            checked(execute_tokens(&TOKENS, &rows, WIDTH, &table, &numbers, &VOCAB, ill_formed));
        }
        let wide: Vec<i64> = rows.iter().map(|&token| i64::from(token)).collect();
        let arities = levels::arities(TOKENS.names().iter().map(String::as_str)).unwrap();
        for arities in [&arities[..], &[], &[i8::MAX; 50], &[i8::MIN; 50]] {
            plan_levels(&wide, WIDTH, arities);
            plan_runs(&wide, WIDTH, arities);
        }
        let reader = ProgramReader::new(&VOCAB, TOKENS.names(), &names(&["no", "yes", "0", "red"]), &pair()).unwrap();
        let words = [Word { text: "red".into(), held_out: Some(0), is_value: true, is_noun: false }];
        let spoken = WordReader::new(&names(&["<NULL>", "<START>", "<END>", "red", "or"]), &words, 2).unwrap();
        let audited =
            Rows { questions: &rows, question_width: WIDTH, programs: &rows, program_width: WIDTH, scenes: &scenes[..n], scenes_width: 1 };
        checked(read_rows(&reader, Some(&spoken), audited, &SCENES));
        checked(needed_rows(&reader, &rows, WIDTH, &scenes[..n], &SCENES, 3));
        let seen = [("red".to_owned(), "cube".to_owned())];
        let absent = AbsentReader::new(&VOCAB, TOKENS.names(), &names(&["red"]), &words, ["color", "shape"], &seen).unwrap();
        absent.read_rows(&rows, &rows, [WIDTH, WIDTH], 1);
        let columns = QuestionColumns { families: &rows, answers: &rows, images: &rows };
        check_balance(columns, &[vec![], vec![1], vec![1, 2, 3]], usize::MAX, usize::MAX);
    }

    #[test]
    fn names_of_tokens(names in prop::collection::vec(token_name(), 0..8)) {
        let special = ["<NULL>", "<START>", "<END>", "<UNK>"].map(str::to_owned);
        let framed = [&special[..], &names].concat();
        for names in [&names, &framed] {
            checked(ProgramVocabulary::from_names(&VOCAB, names.iter().map(String::as_str)));
            checked(levels::arities(names.iter().map(String::as_str)));
            if let Some(words) = checked(QuestionVocabulary::new(names.iter().map(String::as_str))) {
                checked(words.encode_into("Is [ there; x?", &mut [0; 5]));
                checked(words.encode_into(&"x ".repeat(100_000), &mut [0; 5]));
            }
            checked(ProgramReader::new(&VOCAB, names, names, &pair()));
            let words: Vec<Word> = names
                .iter()
                .enumerate()
                .map(|(i, name)| Word { text: name.clone(), held_out: Some(i * 20), is_value: true, is_noun: true })
                .collect();
            checked(WordReader::new(names, &words, 2));
        }
    }

    #[test]
    fn chunks(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0usize..200,
        item in 0usize..9,
        size in prop_oneof![0usize..2_000, any::<usize>()],
        rows in prop_oneof![0usize..9, any::<usize>()],
    ) {
        if let Some(whole) = checked(inflate_chunks(&[&bytes[..]], item, size)) {
            assert_eq!(whole.len(), size);
        }
        let width = item * 3;
        let even = &bytes[..bytes.len() - bytes.len() % width.max(1)];
        let packed = checked(deflate_chunks(even, Cut { item, row: width, rows: rows.min(1_000), level: 1 }));
        let mut chunks = packed.unwrap_or_default();
        chunks.iter_mut().for_each(|chunk| chunk.truncate(cut));
        if let Some(whole) = checked(inflate_chunks(&chunks, item, size)) {
            assert_eq!(whole.len(), size * chunks.len());
        }
        checked(deflate_chunks(even, Cut { item, row: width, rows: rows.max(1 << 40), level: 1 }));
    }
}
