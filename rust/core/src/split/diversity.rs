//! The palette that a train set of a given diversity sees.
//!
//! Diversity K is the number of combinations of the pair's two types that are used, including the pair itself
//! (Berlot-Attwell et al., section 4.4), so K - 1 are seen. Whatever K is, each of the pair's values is seen with one
//! partner, and so are the two partners together: with the pair, these are the four corners of a grid of two values by
//! two, which minimal sets are made of. So the lowest diversity is 4.

use super::error::SplitError;
use crate::holdout::Holdout;
use crate::rng::StreamKey;
use crate::scene::Palette;
use crate::vocab::{N_TYPES, TYPE_NAMES, Vocabulary, type_names};

/// Which combinations are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiversityMode {
    /// The first ones in a seeded order, so that a higher diversity sees everything that a lower one sees.
    Nested,
    /// All combinations in a grid of some values of one type by some of the other.
    Grid,
}

/// The pair, and its partners in a seeded order.
struct Chooser<'a> {
    vocab: &'a Vocabulary,
    name: String,
    /// The pair's types, ascending.
    kinds: [usize; 2],
    /// For each type, its values: the pair's first, then all others in a seeded order.
    values: [Vec<u8>; 2],
    key: StreamKey,
}

/// The palette that a train set of this diversity sees: `diversity - 1` combinations, all equally likely.
///
/// # Errors
/// `Diversity` unless exactly two values are held out, and for a number that is too low, higher than the number of
/// combinations, or (`Grid`) that no grid has.
pub fn seen_palette(
    vocab: &Vocabulary,
    holdout: &Holdout,
    diversity: usize,
    mode: DiversityMode,
    seed: u64,
    name: &str,
) -> Result<Palette, SplitError> {
    let chooser = Chooser::new(vocab, holdout, seed)?;
    let n_all = chooser.values[0].len() * chooser.values[1].len();
    if diversity < LEAST {
        return Err(chooser.fault(format!(
            "diversity {diversity} is too low: it needs {LEAST} at least, the pair, each of its values with another \
             partner, and these partners together"
        )));
    }
    if diversity > n_all {
        return Err(chooser.fault(format!(
            "diversity {diversity} is too high: {} have {n_all} combinations",
            type_names(&chooser.kinds)
        )));
    }
    let seen = match mode {
        DiversityMode::Nested => chooser.nested(diversity),
        DiversityMode::Grid => chooser.grid(diversity)?,
    };
    Ok(Palette::of_combinations(name, &chooser.kinds, seen)?)
}

/// Refuses a palette under which a pair could not be held out: one of types other than the pair's, one that contains
/// the pair, or one that does not show each of its values with a partner, and two of these partners together.
///
/// # Errors
/// `Diversity`, with what is missing.
pub fn check_seen(vocab: &Vocabulary, holdout: &Holdout, palette: &Palette) -> Result<(), SplitError> {
    let chooser = Chooser::new(vocab, holdout, 0)?;
    let fault = |problem: String| Err(chooser.fault(format!("palette {}: {problem}", palette.name())));
    if palette.kinds() != chooser.kinds {
        return fault(format!(
            "is of {}, but the pair is of {}",
            type_names(palette.kinds()),
            type_names(&chooser.kinds)
        ));
    }
    let [first, second] = [0, 1].map(|i| chooser.values[i][0]);
    if palette.allows(chooser.combination(first, second)) {
        return fault("has the held-out pair among what is seen".into());
    }
    let partners = |i: usize| -> Vec<u8> {
        let others = chooser.values[1 - i][1..].iter().copied();
        let shown = |&other: &u8| {
            let (a, b) = if i == 0 { (first, other) } else { (other, second) };
            palette.allows(chooser.combination(a, b))
        };
        others.filter(shown).collect()
    };
    let of = [partners(0), partners(1)];
    for (i, partners) in of.iter().enumerate() {
        if partners.is_empty() {
            let value = vocab.value_name(chooser.kinds[i], usize::from(chooser.values[i][0]));
            return fault(format!(
                "forbids {value} but with what it is held out with, so the value would never be seen"
            ));
        }
    }
    let has_grid = of[1].iter().any(|&a| of[0].iter().any(|&b| palette.allows(chooser.combination(a, b))));
    if !has_grid {
        return fault(
            "has no partner of the one value with a partner of the other, so no group of one-object images could be seen"
                .into(),
        );
    }
    Ok(())
}

/// The pair and the other three corners of a grid.
const LEAST: usize = 4;

impl<'a> Chooser<'a> {
    fn new(vocab: &'a Vocabulary, holdout: &Holdout, seed: u64) -> Result<Self, SplitError> {
        let name = holdout.describe(vocab);
        let held: Vec<(usize, u8)> =
            holdout.values().iter().enumerate().filter_map(|(kind, value)| Some((kind, (*value)?))).collect();
        let &[(first, a), (second, b)] = held.as_slice() else {
            let problem = format!("{} values are held out together, but diversity counts pairs", held.len());
            return Err(SplitError::Diversity { pair: name, problem });
        };
        let key = StreamKey::new(&[b"diversity", name.as_bytes(), &seed.to_le_bytes()]);
        let order = |place: u64, kind: usize, held: u8| {
            let mut others: Vec<u8> = (0..vocab.n_values(kind) as u8).filter(|&value| value != held).collect();
            key.at(place).shuffle(&mut others);
            others.insert(0, held);
            others
        };
        let chooser =
            Self { vocab, name, kinds: [first, second], values: [order(0, first, a), order(1, second, b)], key };
        match chooser.values.iter().position(|values| values.len() < 2) {
            Some(i) => {
                let problem = format!("{} has one value, so the other's has no partner", TYPE_NAMES[chooser.kinds[i]]);
                Err(chooser.fault(problem))
            }
            None => Ok(chooser),
        }
    }

    fn fault(&self, problem: String) -> SplitError {
        SplitError::Diversity { pair: self.name.clone(), problem }
    }

    fn combination(&self, first: u8, second: u8) -> [u8; N_TYPES] {
        let mut values = [0; N_TYPES];
        (values[self.kinds[0]], values[self.kinds[1]]) = (first, second);
        values
    }

    /// The combinations of the first values of each type, without the pair.
    fn sub_grid(&self, n_first: usize, n_second: usize) -> impl Iterator<Item = [u8; N_TYPES]> {
        let seconds = &self.values[1][..n_second];
        let all =
            self.values[0][..n_first].iter().flat_map(move |&a| seconds.iter().map(move |&b| self.combination(a, b)));
        all.skip(1)
    }

    fn nested(&self, diversity: usize) -> Vec<[u8; N_TYPES]> {
        let mut seen: Vec<[u8; N_TYPES]> = self.sub_grid(2, 2).collect();
        let all = self.sub_grid(self.values[0].len(), self.values[1].len());
        let mut others: Vec<[u8; N_TYPES]> = all.filter(|combination| !seen.contains(combination)).collect();
        self.key.at(2).shuffle(&mut others);
        seen.extend(others);
        seen.truncate(diversity - 1);
        seen
    }

    /// The grid of a size with the fewest values of the type that has fewer: 4 x 2 of colour and shape rather than
    /// 2 x 4, as in the series 2 x 2, 4 x 2, 8 x 2, 8 x 3.
    fn grid(&self, diversity: usize) -> Result<Vec<[u8; N_TYPES]>, SplitError> {
        let sizes = [self.values[0].len(), self.values[1].len()];
        let (more, fewer) = if sizes[0] >= sizes[1] { (0, 1) } else { (1, 0) };
        let fits =
            |n_fewer: &usize| diversity.is_multiple_of(*n_fewer) && (2..=sizes[more]).contains(&(diversity / n_fewer));
        let Some(n_fewer) = (2..=sizes[fewer]).find(fits) else {
            let mut known: Vec<usize> = (2..=sizes[0]).flat_map(|a| (2..=sizes[1]).map(move |b| a * b)).collect();
            known.sort_unstable();
            known.dedup();
            let known: Vec<String> = known.iter().map(usize::to_string).collect();
            let kinds = self.kinds.map(|kind| self.vocab.types()[kind].name);
            return Err(self.fault(format!(
                "no grid of {} by {} has {diversity} combinations; those there are have {}",
                kinds[more],
                kinds[fewer],
                known.join(", ")
            )));
        };
        let mut n = [0; 2];
        (n[more], n[fewer]) = (diversity / n_fewer, n_fewer);
        Ok(self.sub_grid(n[0], n[1]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROPERTIES: &str = r#"{"sizes": {"small": 0.35, "large": 0.7},
        "colors": {"gray": [1,1,1], "red": [1,1,2], "blue": [1,1,3], "green": [1,1,4], "brown": [1,1,5],
        "purple": [1,1,6], "cyan": [1,1,7], "yellow": [1,1,8]},
        "materials": {"rubber": "r", "metal": "m"}, "shapes": {"cube": "c", "sphere": "s", "cylinder": "y"}}"#;

    fn vocab() -> Vocabulary {
        Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "p", 10).unwrap()
    }

    fn seen(pair: &[&str; 2], diversity: usize, mode: DiversityMode, seed: u64) -> Result<Palette, SplitError> {
        let vocab = vocab();
        seen_palette(&vocab, &Holdout::new(&vocab, pair).unwrap(), diversity, mode, seed, "x")
    }

    /// Every pair of values of two types, with every diversity that it can have.
    fn cases() -> Vec<([String; 2], usize)> {
        let vocab = vocab();
        let values: Vec<(usize, &String)> =
            vocab.types().iter().enumerate().flat_map(|(kind, t)| t.values.iter().map(move |v| (kind, v))).collect();
        let mut cases = Vec::new();
        for (i, (first, a)) in values.iter().enumerate() {
            for (second, b) in &values[i..] {
                let n = if first == second { 0 } else { vocab.n_values(*first) * vocab.n_values(*second) };
                cases.extend((LEAST..=n).map(|diversity| ([(*a).clone(), (*b).clone()], diversity)));
            }
        }
        cases
    }

    #[test]
    fn every_pair_has_a_palette_of_every_diversity_and_higher_ones_hold_the_lower() {
        let vocab = vocab();
        let cases = cases();
        assert!(cases.len() > 500, "{}", cases.len());
        for ([a, b], diversity) in &cases {
            let holdout = Holdout::new(&vocab, &[a, b]).unwrap();
            let palette = seen(&[a, b], *diversity, DiversityMode::Nested, 5).unwrap();
            assert_eq!(palette.combinations().count(), diversity - 1, "{a} {b}");
            check_seen(&vocab, &holdout, &palette).unwrap();
            if *diversity > LEAST {
                let lower = seen(&[a, b], diversity - 1, DiversityMode::Nested, 5).unwrap();
                assert!(lower.combinations().all(|combination| palette.allows(combination)), "{a} {b} {diversity}");
            }
            if let Ok(grid) = seen(&[a, b], *diversity, DiversityMode::Grid, 5) {
                assert_eq!(grid.combinations().count(), diversity - 1, "{a} {b}");
                check_seen(&vocab, &holdout, &grid).unwrap();
            }
        }
    }

    #[test]
    fn grids_are_those_of_the_series_and_hold_each_other() {
        let sizes = |palette: &Palette| {
            let of = |kind: usize| {
                let mut values: Vec<u8> = palette.combinations().map(|values| values[kind]).collect();
                values.sort_unstable();
                values.dedup();
                values.len()
            };
            [of(1), of(3)]
        };
        let series = [(4, [2, 2]), (8, [4, 2]), (16, [8, 2]), (24, [8, 3])];
        let palettes: Vec<Palette> =
            series.iter().map(|(k, _)| seen(&["cyan", "cylinder"], *k, DiversityMode::Grid, 1).unwrap()).collect();
        for (palette, (_, expected)) in palettes.iter().zip(series) {
            assert_eq!(sizes(palette), expected);
        }
        for (lower, higher) in palettes.iter().zip(&palettes[1..]) {
            assert!(lower.combinations().all(|combination| higher.allows(combination)));
        }
        let error = seen(&["cyan", "cylinder"], 7, DiversityMode::Grid, 1).unwrap_err().to_string();
        assert!(error.ends_with("those there are have 4, 6, 8, 9, 10, 12, 14, 15, 16, 18, 21, 24"), "{error}");
    }

    #[test]
    fn seeds_decide_what_is_seen() {
        let palettes: Vec<Palette> =
            (0..20).map(|seed| seen(&["cyan", "cylinder"], 8, DiversityMode::Nested, seed).unwrap()).collect();
        assert_eq!(palettes[3], seen(&["cylinder", "cyan"], 8, DiversityMode::Nested, 3).unwrap());
        let different = palettes.iter().enumerate().filter(|(i, palette)| !palettes[..*i].contains(palette)).count();
        assert!(different > 15, "{different}");
    }

    #[test]
    fn what_a_pair_cannot_have_is_refused_in_a_sentence() {
        let message = |pair: &[&str; 2], k| seen(pair, k, DiversityMode::Nested, 0).unwrap_err().to_string();
        assert!(message(&["cyan", "cylinder"], 3).contains("diversity 3 is too low: it needs 4 at least"));
        assert!(message(&["cyan", "cylinder"], 25).contains("color and shape have 24 combinations"));
        assert!(message(&["large", "rubber"], 5).contains("size and material have 4 combinations"));
        let vocab = vocab();
        let wide = Holdout::new(&vocab, &["red", "cube", "metal"]).unwrap();
        let error = seen_palette(&vocab, &wide, 8, DiversityMode::Nested, 0, "x").unwrap_err().to_string();
        assert_eq!(error, "red metal cube: 3 values are held out together, but diversity counts pairs");
    }

    #[test]
    fn palettes_that_hide_the_pairs_values_are_refused() {
        let vocab = vocab();
        let holdout = Holdout::new(&vocab, &["cyan", "cylinder"]).unwrap();
        let cases = [
            (r#"{"large": ["rubber"]}"#, "palette P: is of size and material, but the pair is of color and shape"),
            (r#"{"cylinder": ["cyan", "red"]}"#, "has the held-out pair among what is seen"),
            (r#"{"cylinder": ["red"], "cube": ["red"]}"#, "forbids cyan but with what it is held out with"),
            (r#"{"cube": ["cyan", "red"]}"#, "forbids cylinder but with"),
            (r#"{"cylinder": ["red"], "cube": ["cyan", "blue"]}"#, "no group of one-object images could be seen"),
        ];
        for (text, message) in cases {
            let palette = Palette::from_json(&vocab, "P", text.as_bytes(), "P.json").unwrap();
            let error = check_seen(&vocab, &holdout, &palette).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let good = r#"{"cylinder": ["red"], "cube": ["cyan", "red"]}"#;
        let palette = Palette::from_json(&vocab, "P", good.as_bytes(), "P.json").unwrap();
        check_seen(&vocab, &holdout, &palette).unwrap();
    }
}
