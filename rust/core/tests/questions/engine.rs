//! The engine's search for a question of one family on one scene, with results in the form of the plain search.

use crate::plain::Found;
use crate::world::TestScene;
use clevrhope_core::Vocabulary;
use clevrhope_core::holdout::Holdout;
use clevrhope_core::question::plan::{AnswerSet, Plan};
use clevrhope_core::question::search::{QuestionRule, Searcher, Task, Verdict, chosen_values};
use clevrhope_core::question::template::NodeKind;
use clevrhope_core::rng::StreamRng;

/// More options than any search here examines: a search that reaches this bound is a failure.
const MAX_OPTIONS: u64 = 10_000_000;

/// A search loaded with a scene.
pub struct Engine<'a> {
    vocab: &'a Vocabulary,
    plan: &'a Plan,
    scene: &'a TestScene,
    holdout: Option<&'a Holdout>,
    searcher: Searcher,
}

impl<'a> Engine<'a> {
    pub fn new(vocab: &'a Vocabulary, plan: &'a Plan, scene: &'a TestScene, holdout: Option<&'a Holdout>) -> Self {
        let mut searcher = Searcher::new(vocab, holdout);
        searcher.options.load(scene.graph.view());
        Self { vocab, plan, scene, holdout, searcher }
    }

    /// Makes one attempt.
    pub fn search(&mut self, accept: AnswerSet, rule: QuestionRule, rng: &mut StreamRng) -> Option<Found> {
        let task = Task::new(self.scene.graph.view(), self.vocab, self.plan, accept, rule, self.holdout, MAX_OPTIONS);
        match self.searcher.attempt(&task, rng) {
            Verdict::Found => Some(self.found()),
            Verdict::None => None,
            Verdict::Exhausted => panic!("a search on a small scene gave up"),
        }
    }

    fn found(&self) -> Found {
        let choices = self.plan.nodes.iter().zip(self.searcher.choices()).filter(|(node, _)| node.is_choice);
        let choices = choices
            .map(|(node, choice)| {
                let values = chosen_values(node.kind, *choice, self.searcher.options.combinations());
                let first = match node.kind {
                    NodeKind::Filter(_) => 1,
                    NodeKind::Apply(function) => function.attribute_type().map_or(0, |kind| 1 + usize::from(kind)),
                    _ => 0,
                };
                let mut all = [None; 5];
                all[first..].iter_mut().zip(&*values).for_each(|(to, &value)| *to = value);
                all
            })
            .collect();
        Found { answer: self.searcher.answer(self.plan), choices }
    }
}

/// The set of the answers in a list.
pub fn answers(list: impl IntoIterator<Item = u32>) -> AnswerSet {
    let mut set = AnswerSet::EMPTY;
    list.into_iter().for_each(|answer| set.insert(answer as usize));
    set
}
