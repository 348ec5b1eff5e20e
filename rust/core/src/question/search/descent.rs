//! The descent: at each choice, options are tried in random order until one leads to a question.

use super::choice::{Candidate, Choice, chosen_values};
use super::searcher::{LiveOutcomes, OWN, Searcher, State, numbers};
use super::source::{Criteria, Source};
use super::task::{QuestionRule, SearchStats, Task, Verdict};
use crate::holdout::{Holdout, Implications, Mentions};
use crate::program::catalogue::Type;
use crate::question::memo::Memo;
use crate::question::param::MAX_PARAMS;
use crate::question::plan::PlanNode;
use crate::question::template::NodeKind;
use crate::rng::StreamRng;

/// Number of slots drawn at random before options are listed.
const DRAWS: u32 = 24;
/// The same for a last choice after a raw `relate`, where most options degenerate.
const DRAWS_AFTER_RELATE: u32 = 4;

/// An attempt under way.
struct Attempt<'t, 'r> {
    task: &'t Task<'t>,
    rng: &'r mut StreamRng,
}

impl Searcher {
    /// Runs an attempt on the scene loaded in `options`. After `Found`, the choices are in `choices`.
    pub fn attempt(&mut self, task: &Task<'_>, rng: &mut StreamRng) -> Verdict {
        self.attempt_seed = rng.word();
        self.stats = SearchStats { attempts: 1, ..SearchStats::default() };
        let verdict = match task.holdout.filter(|_| task.rule == QuestionRule::With) {
            Some(holdout) => self.try_slots(task, holdout, rng),
            None => self.begin(task, rng),
        };
        self.stats.found += u64::from(verdict == Verdict::Found);
        self.stats.exhausted += u64::from(verdict == Verdict::Exhausted);
        verdict
    }

    /// Tries the slots of the mention in random order until one leads to a question.
    fn try_slots(&mut self, task: &Task<'_>, holdout: &Holdout, rng: &mut StreamRng) -> Verdict {
        let mut slots = std::mem::take(&mut self.slots);
        task.plan.list_slots(holdout, &mut slots);
        rng.shuffle(&mut slots);
        let mut verdict = Verdict::None;
        for &slot in &slots {
            verdict = self.begin(&Task { slot: Some(slot), ..*task }, rng);
            if verdict != Verdict::None {
                break;
            }
        }
        self.slots = slots;
        verdict
    }

    fn begin(&mut self, task: &Task<'_>, rng: &mut StreamRng) -> Verdict {
        self.memo.clear();
        self.params = [None; MAX_PARAMS];
        let rows = (1u32 << (1 + task.plan.relates.len())) - 1;
        self.enter(&mut Attempt { task, rng }, State { at: 0, rows, mentioned: false })
    }

    /// Evaluates the nodes from the state up to the next choice, then makes that choice.
    fn enter(&mut self, attempt: &mut Attempt<'_, '_>, state: State) -> Verdict {
        let task = attempt.task;
        let State { mut at, mut rows, mut mentioned } = state;
        while let Some(node) = task.plan.nodes.get(at) {
            if node.is_choice {
                return self.choose(attempt, State { at, rows, mentioned });
            }
            if !self.evaluate(task, node, at, &mut rows) {
                return Verdict::None;
            }
            match self.describe(task, node, at) {
                Some(mentions) => mentioned |= mentions,
                None => return Verdict::None,
            }
            at += 1;
        }
        if self.is_acceptable(task, State { at, rows, mentioned }) { Verdict::Found } else { Verdict::None }
    }

    fn is_acceptable(&self, task: &Task<'_>, state: State) -> bool {
        let last = task.plan.nodes.len() - 1;
        let answer = self.outputs[0][last];
        let degenerate = numbers(state.rows & !OWN).any(|row| self.outputs[row][last] == answer);
        task.accept.contains(answer) && !degenerate && (task.rule != QuestionRule::With || state.mentioned)
    }

    /// Evaluates a node without a choice; returns false when the template's own evaluation fails.
    fn evaluate(&mut self, task: &Task<'_>, node: &PlanNode, at: usize, rows: &mut u32) -> bool {
        let NodeKind::Plain(function) = node.kind else { return false };
        for row in numbers(*rows) {
            let outputs = &mut self.outputs[row];
            let inputs = node.inputs.map(|input| outputs[usize::from(input)]);
            match function.meaning((task.scene, task.vocab), 0, inputs) {
                Ok(word) => outputs[at] = word,
                Err(_) => *rows &= !(1 << row),
            }
        }
        *rows & OWN != 0 && self.differs(node, at)
    }

    /// Whether the node's output differs from all those that it must differ from.
    fn differs(&self, node: &PlanNode, at: usize) -> bool {
        let outputs = &self.outputs[0];
        node.differs_from.iter().all(|&other| outputs[usize::from(other)] != outputs[at])
    }

    /// A choice: tries options in random order until one leads to a question.
    fn choose(&mut self, attempt: &mut Attempt<'_, '_>, state: State) -> Verdict {
        let task = attempt.task;
        if task.rule == QuestionRule::With && !state.mentioned && !self.can_still_mention(task, state.at) {
            return Verdict::None;
        }
        if self.degenerates(task, state) {
            return Verdict::None;
        }
        // Only one path leads to the first choice.
        let is_shared = task.plan.equal_params.is_empty() && state.at != task.plan.first_choice;
        let key = is_shared.then(|| self.state_key(task, state));
        if key.is_some_and(|key| self.memo.contains(key)) {
            return Verdict::None;
        }
        if self.stats.options > task.max_options {
            return Verdict::Exhausted;
        }
        let verdict = self.try_options(attempt, state);
        if let (Verdict::None, Some(key)) = (verdict, key) {
            self.memo.insert(key);
        }
        verdict
    }

    /// Whether every question from here on degenerates: without one of the relations chosen so far, everything that the
    /// rest depends on would be the same.
    fn degenerates(&self, task: &Task<'_>, state: State) -> bool {
        let live = &task.plan.nodes[state.at].live;
        numbers(state.rows & !OWN).any(|row| {
            let is_the_same = |&i: &u8| self.outputs[row][usize::from(i)] == self.outputs[0][usize::from(i)];
            usize::from(task.plan.relates[row - 1]) < state.at && live.iter().all(is_the_same)
        })
    }

    /// A hash of everything that the rest of the search depends on.
    fn state_key(&self, task: &Task<'_>, state: State) -> u64 {
        let mut key = Memo::key(state.at as u64, u64::from(state.rows) << 1 | u64::from(state.mentioned));
        let live = &task.plan.nodes[state.at].live;
        for &live in live {
            let i = usize::from(live);
            for row in 0..=task.plan.relates.len() {
                key = Memo::extend(key, u64::from(self.outputs[row][i]));
            }
            if task.holdout.is_some() && task.plan.nodes[i].is_described {
                key = Memo::extend(key, u64::from(self.descriptions[i].0));
            }
            if task.absent.is_some() && task.plan.nodes[i].is_described {
                key = Memo::extend(key, self.named[i]);
            }
        }
        if task.implied.is_some() {
            // Objects, and values queried from them, have knowledge too.
            let known = live.iter().flat_map(|&i| self.known[usize::from(i)].words());
            key = known.fold(key, Memo::extend);
        }
        key
    }

    fn try_options(&mut self, attempt: &mut Attempt<'_, '_>, state: State) -> Verdict {
        let task = attempt.task;
        let node = &task.plan.nodes[state.at];
        let source = self.source(task, state.at);
        let by_outcome = task.plan.judges_by_outcome(state.at);
        let mut live = !0;
        if by_outcome {
            live = self.possible_outcomes(task, source);
            if node.is_last_choice {
                live &= self.acceptable_outcomes(task, state.at, live);
            }
        }
        if source.is_empty || live == 0 {
            return Verdict::None;
        }
        // For implications, the rest depends not only on which object it is, but also on what is known about it.
        let is_described = node.is_described || node.output == Type::Object && task.implied.is_some();
        let tells_all = by_outcome && !node.after_relate && !is_described;
        let live = LiveOutcomes::new(live, tells_all, task.rule);
        let mention = task.rule == QuestionRule::With && !state.mentioned && self.must_mention_at(task, state.at);
        let mut wanted = Criteria::new(task, state.at, mention, state.mentioned, live);
        if let Some(holdout) = task.holdout {
            wanted.base = node.before(&Mentions(holdout), &self.descriptions).0;
        }
        wanted.absent = task.absent.map(|absent| (absent, node.before(absent, &self.named).0));
        wanted.known = task.implied.map(|holdout| (holdout, node.before(&Implications(holdout), &self.known).0));
        if !mention {
            let mut draws = if node.after_relate && node.is_last_choice { DRAWS_AFTER_RELATE } else { DRAWS };
            draws = draws.min(2 * source.slots());
            while let Some(candidate) = self.draw(attempt.rng, source, &wanted, &mut draws) {
                match self.try_candidate(attempt, state, candidate, &mut wanted.live) {
                    Verdict::None => {}
                    verdict => return verdict,
                }
                if task.rule != QuestionRule::With && wanted.live.are_none(state.mentioned) {
                    return Verdict::None;
                }
            }
        }
        self.try_listed(attempt, state, source, &mut wanted)
    }

    /// Lists the options and tries them in random order. Lists only those with a mention of the conjunction if no
    /// others can succeed.
    fn try_listed(
        &mut self,
        attempt: &mut Attempt<'_, '_>,
        state: State,
        source: Source,
        wanted: &mut Criteria<'_>,
    ) -> Verdict {
        let mut listed = std::mem::take(&mut self.levels[state.at].listed);
        self.list(source, wanted, &mut listed);
        let mut verdict = Verdict::None;
        while verdict == Verdict::None && !listed.is_empty() {
            let candidate = listed.swap_remove(attempt.rng.below(listed.len() as u32) as usize);
            verdict = self.try_candidate(attempt, state, candidate, &mut wanted.live);
        }
        self.levels[state.at].listed = listed;
        verdict
    }

    /// Takes an option, unless its outcome is known to fail, and continues from there.
    fn try_candidate(
        &mut self,
        attempt: &mut Attempt<'_, '_>,
        state: State,
        candidate: Candidate,
        live: &mut LiveOutcomes,
    ) -> Verdict {
        let mentioned = state.mentioned || candidate.mentions;
        if !live.has(candidate.output, mentioned) {
            return Verdict::None;
        }
        self.stats.states += 1;
        let verdict = match self.set(attempt.task, state, candidate) {
            Some(rows) => self.enter(attempt, State { at: state.at + 1, rows, mentioned }),
            None => Verdict::None,
        };
        if verdict == Verdict::None && live.counts {
            live.outcomes[usize::from(mentioned)] &= !(1 << candidate.output);
        }
        verdict
    }

    /// The outcomes of a last choice for which the template's own evaluation ends in an acceptable answer.
    fn acceptable_outcomes(&mut self, task: &Task<'_>, at: usize, possible: u64) -> u64 {
        let nodes = &task.plan.nodes;
        let mut own = OWN;
        if let Some(ending) = &task.plan.ending {
            for i in ending.beside.iter().map(|&i| usize::from(i)) {
                if !self.evaluate(task, &nodes[i], i, &mut own) {
                    return 0;
                }
            }
            return ending.outcomes(nodes, at, task.accept, &self.outputs[0], (task.scene, task.vocab));
        }
        let mut acceptable = possible;
        let mut left = possible;
        while left != 0 {
            let output = left.trailing_zeros();
            left &= left - 1;
            self.outputs[0][at] = output;
            self.stats.states += 1;
            let ends = self.differs(&nodes[at], at)
                && (at + 1..nodes.len()).all(|i| self.evaluate(task, &nodes[i], i, &mut own))
                && task.accept.contains(self.outputs[0][nodes.len() - 1]);
            if !ends {
                acceptable &= !(1 << output);
            }
        }
        acceptable
    }

    /// Writes an option's output into every evaluation. Returns the evaluations that still have a value, or None if a
    /// constraint forbids the option.
    fn set(&mut self, task: &Task<'_>, state: State, candidate: Candidate) -> Option<u32> {
        let at = state.at;
        let node = &task.plan.nodes[at];
        self.outputs[0][at] = candidate.output;
        self.choices[at] = candidate.choice;
        self.describe_choice(task, at, candidate.choice, candidate.description);
        if !self.differs(node, at) {
            return None;
        }
        if !task.plan.equal_params.is_empty() && !self.params_are_equal(task, at, candidate.choice) {
            return None;
        }
        let mut rows = state.rows;
        for row in numbers(state.rows & !OWN) {
            let input = self.outputs[row][usize::from(node.inputs[0])];
            let related = || task.scene.related(usize::from(candidate.choice.relation), input as usize);
            let set = match node.kind {
                NodeKind::Relate if usize::from(task.plan.relates[row - 1]) == at => Some(task.scene.everything()),
                NodeKind::Relate => Some(related()),
                NodeKind::RelateFilter(_) => Some(candidate.key_objects & related()),
                // This is the output itself, since no tail follows.
                NodeKind::Apply(function) => {
                    let inputs = node.inputs.map(|input| self.outputs[row][usize::from(input)]);
                    task.output(function, candidate.choice.combination, inputs)
                }
                // The others are not listed by name, since so few cases are compared one by one, which is faster than a
                // jump table.
                _ => {
                    debug_assert!(matches!(node.kind, NodeKind::Filter(_) | NodeKind::Plain(_)));
                    Some(candidate.key_objects & input)
                }
            };
            match set.and_then(|set| node.kind.tail().of(set)) {
                Some(output) => self.outputs[row][at] = output,
                None => rows &= !(1 << row),
            }
        }
        Some(rows)
    }

    /// CLEVR's "NEQ" as its code implements it: if both parameters have been given values, these must be equal.
    fn params_are_equal(&mut self, task: &Task<'_>, at: usize, choice: Choice) -> bool {
        for later in &task.plan.params_of[at..] {
            later.iter().for_each(|&p| self.params[usize::from(p)] = None);
        }
        let values = chosen_values(task.plan.nodes[at].kind, choice, self.options.combinations());
        for (&param, &value) in task.plan.params_of[at].iter().zip(&*values) {
            self.params[usize::from(param)] = Some(value);
        }
        task.plan.equal_params.iter().all(|&(a, b)| match (self.params[usize::from(a)], self.params[usize::from(b)]) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        })
    }
}
