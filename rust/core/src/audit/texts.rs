//! Texts from elsewhere as numbers: the words of each, and what they mean by the templates.

use super::parse::{Reading, TextParser};
use super::token::split_text;
use rayon::prelude::*;
use std::collections::HashMap;

/// Numbers the words of texts. Words that `words` does not have follow it, in the order in which they first occur.
///
/// Returns the numbers of each text's words, and the new words.
pub fn number_words<T: AsRef<str> + Sync>(texts: &[T], words: &[String]) -> (Vec<Vec<i32>>, Vec<String>) {
    let known: HashMap<&str, i32> = words.iter().enumerate().map(|(i, word)| (word.as_str(), i as i32)).collect();
    let numbers = |text: &T| split_text(text.as_ref()).map(|word| known.get(word).copied().unwrap_or(-1)).collect();
    let mut rows: Vec<Vec<i32>> = texts.par_iter().with_min_len(256).map(numbers).collect();
    let mut new: HashMap<&str, i32> = HashMap::new();
    let mut names = Vec::new();
    for (row, text) in rows.iter_mut().zip(texts).filter(|(row, _)| row.contains(&-1)) {
        for (number, word) in row.iter_mut().zip(split_text(text.as_ref())) {
            if *number < 0 {
                *number = *new.entry(word).or_insert_with(|| {
                    names.push(word.to_owned());
                    (words.len() + names.len() - 1) as i32
                });
            }
        }
    }
    (rows, names)
}

/// What each text means by the templates: its first meaning, and the number of its meanings. Uses all cores.
///
/// `texts` are rows of `width` tokens, end to end.
pub fn read_texts(parser: &TextParser, texts: &[i32], width: usize) -> Vec<(Option<Reading>, usize)> {
    let read = |row: &[i32]| {
        let mut readings = parser.read(super::token::tokens(row, width, 0));
        let n = readings.len();
        readings.truncate(1);
        (readings.pop(), n)
    };
    texts.par_chunks_exact(width.max(1)).with_min_len(256).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::number_words;

    #[test]
    fn new_words_follow_the_known_ones_in_the_order_of_their_first_occurrence() {
        let words = ["<NULL>", "a", "cube"].map(String::from);
        let (rows, new) = number_words(&["Is a cube red?", "red, a ball; Is."], &words);
        assert_eq!(rows, [vec![3, 1, 2, 4], vec![4, 5, 1, 6, 7, 3]]);
        assert_eq!(new, ["Is", "red", ",", "ball", ";"]);
        assert_eq!(number_words(&["a ? cube", ""], &words), (vec![vec![1, 2], vec![]], vec![]));
    }
}
