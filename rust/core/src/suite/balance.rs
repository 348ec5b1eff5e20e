//! Chooses the values that partners ask for, so that neither a constant answer nor the value predicts the answer.
//!
//! In each group of originals, a coin picks those whose partners are answered yes: they ask for the answer itself. The
//! others ask for values taken from the answers of the former, so each value is asked for as often with yes as with no.
//! Originals without a counterpart are left out.

use crate::rng::StreamRng;

/// An original of a group.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Whether the partner is to be answered yes.
    pub yes: bool,
    pub answer: u8,
    /// Values that the partner can ask for with the answer no.
    pub foils: Vec<u8>,
}

/// The value that each candidate asks for; None for one that is left out.
pub(super) fn assign(candidates: &[Candidate], rng: &mut StreamRng) -> Vec<Option<u8>> {
    let mut asked: Vec<u8> = candidates.iter().filter(|each| each.yes).map(|each| each.answer).collect();
    rng.shuffle(&mut asked);
    let mut left = [0u32; 256];
    asked.iter().for_each(|&value| left[usize::from(value)] += 1);
    let mut values: Vec<Option<u8>> = vec![None; candidates.len()];
    for (value, candidate) in values.iter_mut().zip(candidates).filter(|(_, candidate)| !candidate.yes) {
        // A value is drawn with its frequency among those that are left.
        let total: u32 = candidate.foils.iter().map(|&foil| left[usize::from(foil)]).sum();
        let mut drawn = rng.below(total);
        for &foil in candidate.foils.iter().filter(|_| total > 0) {
            let n = left[usize::from(foil)];
            if drawn < n {
                *value = Some(foil);
                left[usize::from(foil)] -= 1;
                break;
            }
            drawn -= n;
        }
    }
    // An answer that no partner asks for with no is not asked for with yes either; which originals go is drawn.
    let mut yes: Vec<usize> = (0..candidates.len()).filter(|&place| candidates[place].yes).collect();
    rng.shuffle(&mut yes);
    for place in yes {
        let unmatched = &mut left[usize::from(candidates[place].answer)];
        if *unmatched > 0 {
            *unmatched -= 1;
        } else {
            values[place] = Some(candidates[place].answer);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamKey;

    #[test]
    fn each_value_is_asked_for_as_often_with_yes_as_with_no() {
        for seed in 0..50 {
            let mut rng = StreamKey::new(&[b"assign"]).at(seed);
            let candidates: Vec<Candidate> = (0..200)
                .map(|_| {
                    // One value is far more frequent than the others.
                    let answer = rng.below(5).saturating_sub(2) as u8;
                    let foils = (0..3).filter(|&foil| foil != answer).collect();
                    Candidate { yes: rng.coin(), answer, foils }
                })
                .collect();
            let values = assign(&candidates, &mut rng);
            let count = |yes: bool, value: u8| {
                let asks =
                    candidates.iter().zip(&values).filter(|(each, asked)| each.yes == yes && **asked == Some(value));
                asks.count()
            };
            assert!((0..3).all(|value| count(true, value) == count(false, value)));
            assert!(values.iter().flatten().count() > 60);
            for (candidate, value) in candidates.iter().zip(&values) {
                assert!(value.is_none_or(|value| (value == candidate.answer) == candidate.yes));
            }
        }
    }

    #[test]
    fn who_has_no_counterpart_is_left_out() {
        let mut rng = StreamKey::new(&[b"assign"]).at(0);
        let alone = Candidate { yes: true, answer: 3, foils: vec![1] };
        assert_eq!(assign(std::slice::from_ref(&alone), &mut rng), [None]);
        let other = Candidate { yes: false, answer: 1, foils: vec![3, 4] };
        assert_eq!(assign(&[alone.clone(), other.clone()], &mut rng), [Some(3), Some(3)]);
        let third = Candidate { yes: false, answer: 3, foils: vec![1] };
        assert_eq!(assign(&[alone, other, third], &mut rng), [Some(3), Some(3), None]);
        assert_eq!(assign(&[], &mut rng), []);
    }
}
