//! Violations of a split's rules by the questions of a finished file, counted by kind.

use super::program::{NO_ANSWER, NO_PROGRAM, NO_SCENE, UNKNOWN_ANSWER};
use super::rows::Finding;
use std::collections::BTreeMap;

/// Whether the questions of a split may or must ask for the held-out values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The questions are not restricted.
    Anywhere,
    Always,
    Never,
    /// Never, not even through likenesses.
    NeverImplied,
}

/// A violation of the rules of a question's split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// The program's answer differs from the answer in the file.
    WrongAnswer,
    /// The program has no answer.
    NoAnswer,
    ProgramMentions,
    WordsMention,
    /// The program asks for the held-out values only through likenesses.
    Implies,
    ProgramLacksMention,
    WordsLackMention,
    /// The program asks for a combination of values that is not in the palette.
    ProgramUnseen,
    WordsUnseen,
}

/// The violations in a list of questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    /// The first few violations of each kind with the rows of their questions, in the order of the rows.
    pub first: Vec<(usize, Violation)>,
    /// The number of violations of each kind that occurs.
    pub counts: BTreeMap<Violation, usize>,
}

impl Violations {
    /// Collects the violations of each row, and lists at most `most` of a kind.
    pub(super) fn collect<I: IntoIterator<Item = Violation>>(rows: impl Iterator<Item = I>, most: usize) -> Self {
        let mut all = Self::default();
        for (row, violations) in rows.enumerate() {
            for violation in violations {
                let count = all.counts.entry(violation).or_default();
                *count += 1;
                if *count <= most {
                    all.first.push((row, violation));
                }
            }
        }
        all
    }

    /// The violations of the questions with these findings; `answers` are the file's answers, one for each finding.
    pub fn of_findings(findings: &[Finding], answers: &[i32], asked: Asked, most: usize) -> Self {
        Self::collect(findings.iter().zip(answers).map(|(finding, &answer)| finding.violations(asked, answer)), most)
    }
}

impl Finding {
    /// The violations of the question, given the answer in the file.
    fn violations(&self, asked: Asked, stored: i32) -> impl Iterator<Item = Violation> {
        let answer = match self.answer {
            // Missing scenes are reported elsewhere.
            NO_SCENE => None,
            NO_ANSWER | NO_PROGRAM | UNKNOWN_ANSWER => Some(Violation::NoAnswer),
            given => (given != stored).then_some(Violation::WrongAnswer),
        };
        let by_relation_alone = self.implied && !self.by_program;
        let mentions = match asked {
            Asked::Anywhere => [None; 3],
            Asked::Always => [
                (!self.by_program).then_some(Violation::ProgramLacksMention),
                (!self.by_words).then_some(Violation::WordsLackMention),
                None,
            ],
            Asked::Never | Asked::NeverImplied => [
                self.by_program.then_some(Violation::ProgramMentions),
                self.by_words.then_some(Violation::WordsMention),
                (asked == Asked::NeverImplied && by_relation_alone).then_some(Violation::Implies),
            ],
        };
        mentions.into_iter().chain([answer]).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Finding = Finding { by_program: false, by_words: false, implied: false, answer: 4 };

    fn of(finding: Finding, asked: Asked) -> Vec<Violation> {
        finding.violations(asked, 4).collect()
    }

    #[test]
    fn each_rule_forbids_its_own() {
        use Violation::*;
        let speaks = Finding { by_program: true, by_words: true, implied: true, ..QUIET };
        let hints = Finding { implied: true, ..QUIET };
        for (finding, anywhere, always, never, never_implied) in [
            (QUIET, vec![], vec![ProgramLacksMention, WordsLackMention], vec![], vec![]),
            (speaks, vec![], vec![], vec![ProgramMentions, WordsMention], vec![ProgramMentions, WordsMention]),
            (hints, vec![], vec![ProgramLacksMention, WordsLackMention], vec![], vec![Implies]),
        ] {
            assert_eq!(of(finding, Asked::Anywhere), anywhere);
            assert_eq!(of(finding, Asked::Always), always);
            assert_eq!(of(finding, Asked::Never), never);
            assert_eq!(of(finding, Asked::NeverImplied), never_implied);
        }
    }

    #[test]
    fn answers_are_compared_where_there_is_a_scene() {
        let with = |answer| of(Finding { answer, ..QUIET }, Asked::Never);
        assert_eq!(with(5), [Violation::WrongAnswer]);
        for answer in [NO_ANSWER, NO_PROGRAM, UNKNOWN_ANSWER] {
            assert_eq!(with(answer), [Violation::NoAnswer]);
        }
        assert_eq!(with(NO_SCENE), []);
    }

    #[test]
    fn all_are_counted_and_the_first_of_each_kind_listed() {
        let mention = Finding { by_words: true, ..QUIET };
        let findings = [mention, QUIET, mention, Finding { answer: 5, ..mention }];
        let found = Violations::of_findings(&findings, &[4; 4], Asked::Never, 2);
        assert_eq!(
            found.first,
            [(0, Violation::WordsMention), (2, Violation::WordsMention), (3, Violation::WrongAnswer)]
        );
        assert_eq!(found.counts, [(Violation::WrongAnswer, 1), (Violation::WordsMention, 3)].into());
    }
}
