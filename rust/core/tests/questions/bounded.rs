//! A search ends at its bound on options, every time in the same way, and leaves no state behind.

use crate::world::{Templates, TestScene, clevr, rng};
use clevrhope_core::question::plan::AnswerSet;
use clevrhope_core::question::search::{QuestionRule, Searcher, Task, Verdict};

#[test]
fn a_search_ends_at_its_bound_and_the_next_one_does_not_know() {
    let vocab = clevr();
    let templates = Templates::own(&vocab);
    let plan = templates.plan(&vocab, templates.family("three_hop", 0));
    let scene = TestScene::random(&vocab, 7, &mut rng("bounded", 0));
    let accept = AnswerSet::first(plan.n_answers);
    let task = |most| Task::new(scene.graph.view(), &vocab, &plan, accept, QuestionRule::Any, None, most);
    let fresh = || {
        let mut searcher = Searcher::new(&vocab, None);
        searcher.options.load(scene.graph.view());
        searcher
    };
    let mut searcher = fresh();
    let mut n_exhausted = 0;
    for attempt in 0..50 {
        let verdict = searcher.attempt(&task(0), &mut rng("bounded", attempt));
        assert_eq!(verdict, fresh().attempt(&task(0), &mut rng("bounded", attempt)));
        n_exhausted += u32::from(verdict == Verdict::Exhausted);
        assert_eq!(searcher.last_attempt().exhausted, u64::from(verdict == Verdict::Exhausted));

        // With a sufficient bound, it finds the same as a searcher that never met a bound.
        let mut other = fresh();
        let verdict = searcher.attempt(&task(u64::MAX), &mut rng("bounded", attempt));
        assert_eq!(verdict, other.attempt(&task(u64::MAX), &mut rng("bounded", attempt)));
        assert_eq!(verdict, Verdict::Found);
        assert_eq!(searcher.choices(), other.choices());
    }
    // A three-hop question has four choices, and the search meets the bound at the second.
    assert_eq!(n_exhausted, 50);
}
