//! Whether "a" or "an" comes before a word: its sound decides, so "an hourglass" and "a unicorn" are right.

/// Beginnings of words that do not sound as their first letter suggests, and whether "an" comes before them. The longest
/// that a word begins with decides; without one, its first letter does.
const BEGINNINGS: [(&str, bool); 43] = [
    ("hour", true),
    ("honest", true),
    ("honor", true),
    ("honour", true),
    ("heir", true),
    // Letters and numbers that are spoken, as in "L-shaped" and "8-sided".
    ("f-", true),
    ("h-", true),
    ("l-", true),
    ("m-", true),
    ("n-", true),
    ("r-", true),
    ("s-", true),
    ("x-", true),
    ("8", true),
    ("11-", true),
    ("18-", true),
    ("u-", false),
    // "You", as in "uniform", "used" and "European".
    ("uni", false),
    ("unid", true),
    ("unil", true),
    ("unim", true),
    ("unin", true),
    ("ubi", false),
    ("uka", false),
    ("uke", false),
    ("uku", false),
    ("ura", false),
    ("ure", false),
    ("uri", false),
    ("uro", false),
    ("usa", false),
    ("use", false),
    ("usu", false),
    ("uint", false),
    ("ute", false),
    ("uti", false),
    ("uto", false),
    ("eu", false),
    ("ewe", false),
    // "Won".
    ("once", false),
    ("one", false),
    ("onei", true),
    ("oner", true),
];

/// Vowels at the beginning of words, with those of names from other languages.
const VOWELS: &str = "aeiouàáâäåæèéêëíîïóôöøúûü";

/// Whether the article of these words is "an".
pub fn takes_an(words: &str) -> bool {
    let word = words.split_whitespace().next().unwrap_or("");
    let has = |beginning: &str| word.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning));
    let longest =
        BEGINNINGS.iter().filter(|(beginning, _)| has(beginning)).max_by_key(|(beginning, _)| beginning.len());
    match longest {
        Some(&(_, takes_an)) => takes_an,
        None => word.chars().flat_map(char::to_lowercase).next().is_some_and(|first| VOWELS.contains(first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sound_of_a_word_decides() {
        let an = "orange Ultramarine ellipsoid unusual unlit unidentified uninteresting umbrella urn usher hourglass honest heirloom \
                  L-shaped 8-sided 11-sided octagon onyx onerous Ébène";
        let a = "uniform used European one-eyed one u-shaped unicorn hollow yellow house 12-sided ukulele once uranium";
        assert_eq!(an.split_whitespace().find(|word| !takes_an(word)), None);
        assert_eq!(a.split_whitespace().find(|word| takes_an(word)), None);
        assert!(takes_an("orange unicorn") && !takes_an("unicorn orange") && !takes_an(""));
    }
}
