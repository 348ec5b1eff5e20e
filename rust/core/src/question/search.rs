//! A family made ready, a scene and the answers wanted in; one uniformly drawn question, or none, out.
//!
//! Depth first in random order, as in the CLEVR generator: at each node that has a choice, one of its
//! options that lead to an acceptable question, each equally likely. What makes it fast removes
//! nothing that the plain search could find:
//!
//! - a few options are drawn at random before all are listed;
//! - what an option leads to is remembered by what the rest of the search can see of it (an object, a
//!   count, a truth value), so that no outcome is tried twice;
//! - at the last choice the outcomes that any option can have are judged first;
//! - states that failed are remembered over different ways to reach them;
//! - a choice that cannot mention what must be mentioned, or that mentions what must not be, is never
//!   entered.
//!
//! What is drawn for a state (which trivial relations and which absent combinations are offered) is a
//! function of the attempt and the state, so that a state is the same each time it is reached.

use super::memo::Memo;
use super::options::SceneOptions;
use super::plan::{AnswerSet, MAX_RELATES, Plan, PlanNode};
use super::template::{MAX_NODES, NodeKind, Tail};
use crate::program::execute::Facts;
use crate::program::function::{Function, Type};
use crate::rng::{StateRng, StreamRng};
use crate::scene::SceneView;
use crate::split::{Description, Holdout};
use crate::vocab::Vocabulary;

/// Options drawn at random before they are listed.
const DRAWS: u32 = 24;
/// The same at a last choice after a raw `relate`, where most options degenerate.
const DRAWS_AFTER_RELATE: u32 = 4;
/// One evaluation of the template as it is, and one for each raw `relate` left out.
const ROWS: usize = 1 + MAX_RELATES;

/// What a question must say of the held-out conjunction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionRule {
    Any,
    Without,
    With,
}

/// What was chosen at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Choice {
    pub relation: u8,
    /// The combination of values, or the one value of a plain filter.
    pub combination: u32,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Found,
    /// No acceptable question exists.
    None,
    /// The bound on states was reached first.
    Exhausted,
}

/// Counts of work, over any number of attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchStats {
    pub attempts: u64,
    /// Partial assignments of values from which options were tried, and complete ones that were kept.
    pub states: u64,
    /// Options that were drawn or listed, to be taken or ruled out by what they lead to.
    pub options: u64,
    pub found: u64,
    pub exhausted: u64,
}

impl SearchStats {
    /// What was done since an earlier count.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            attempts: self.attempts - earlier.attempts,
            states: self.states - earlier.states,
            options: self.options - earlier.options,
            found: self.found - earlier.found,
            exhausted: self.exhausted - earlier.exhausted,
        }
    }

    pub fn add(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.states += other.states;
        self.options += other.options;
        self.found += other.found;
        self.exhausted += other.exhausted;
    }
}

/// The scene, the rules and the bound of a search.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub scene: SceneView<'a>,
    pub vocab: &'a Vocabulary,
    pub plan: &'a Plan,
    pub accept: AnswerSet,
    pub rule: QuestionRule,
    pub holdout: Option<&'a Holdout>,
    pub max_options: u64,
}

/// Buffers of the search, kept from one attempt to the next.
pub struct Searcher {
    pub options: SceneOptions,
    stats: SearchStats,
    memo: Memo,
    outputs: [[u32; MAX_NODES]; ROWS],
    descriptions: [Description; MAX_NODES],
    choices: [Choice; MAX_NODES],
    params: [Option<Option<u8>>; super::template::MAX_PARAMS],
    levels: Vec<Level>,
    attempt_seed: u64,
    max_options: u64,
}

/// Buffers of one choice.
#[derive(Default)]
struct Level {
    /// Trivial options offered, or absent combinations, once drawn.
    extra: Vec<u32>,
    extra_is_drawn: bool,
    listed: Vec<Pick>,
    indices: Vec<u32>,
}

/// One option of a choice, and what it does.
#[derive(Clone, Copy, Debug)]
struct Pick {
    choice: Choice,
    /// Objects of the whole scene that the combination fits.
    key_objects: u32,
    /// The node's output.
    output: u32,
    description: Description,
    mentions: bool,
}

/// Where a choice takes its options from.
#[derive(Clone, Copy)]
enum Source {
    /// Keys on a set; absent combinations after them (as many as `extra`).
    Keys {
        set: u32,
        tail: Tail,
        keys: u32,
        extra: u32,
    },
    /// An object's options that change the key's set, then trivial ones (as many as `extra`).
    Relations {
        object: u32,
        tail: Tail,
        options: u32,
        extra: u32,
    },
    Relation {
        object: u32,
    },
    Values {
        set: u32,
        kind: u8,
        count: u32,
    },
}

impl Source {
    fn count(&self) -> u32 {
        match *self {
            Self::Keys { keys, extra, .. } => keys + extra,
            Self::Relations { options, extra, .. } => options + extra,
            Self::Relation { .. } => crate::vocab::RELATION_NAMES.len() as u32,
            Self::Values { count, .. } => count,
        }
    }
}

/// Which outcomes of a choice may still lead to a question, by whether the conjunction was mentioned.
#[derive(Clone, Copy)]
struct Living {
    outcomes: [u64; 2],
    /// Whether outcomes tell all, so that one that failed need not be tried again.
    counts: bool,
}

impl Searcher {
    pub fn new(vocab: &Vocabulary) -> Self {
        Self {
            options: SceneOptions::new(vocab),
            stats: SearchStats::default(),
            memo: Memo::default(),
            outputs: [[0; MAX_NODES]; ROWS],
            descriptions: [Description::ANYTHING; MAX_NODES],
            choices: [Choice::default(); MAX_NODES],
            params: [None; super::template::MAX_PARAMS],
            levels: (0..MAX_NODES).map(|_| Level::default()).collect(),
            attempt_seed: 0,
            max_options: 0,
        }
    }

    /// One attempt; `options` has been loaded with the scene. The choices are in `choices` after `Found`.
    pub fn attempt(&mut self, task: &Task<'_>, rng: &mut StreamRng) -> Verdict {
        self.attempt_seed = rng.word();
        self.max_options = task.max_options;
        self.memo.clear();
        self.params = [None; super::template::MAX_PARAMS];
        self.stats = SearchStats { attempts: 1, ..SearchStats::default() };
        let rows = (1u32 << (1 + task.plan.relates.len())) - 1;
        let verdict = self.enter(task, rng, 0, rows, false);
        self.stats.found += u64::from(verdict == Verdict::Found);
        self.stats.exhausted += u64::from(verdict == Verdict::Exhausted);
        verdict
    }

    /// The work of the last attempt.
    pub fn last_attempt(&self) -> SearchStats {
        self.stats
    }

    /// What was chosen at each node of the template.
    pub fn choices(&self) -> &[Choice; MAX_NODES] {
        &self.choices
    }

    /// The answer found, within the family's own answers.
    pub fn answer(&self, plan: &Plan) -> u32 {
        self.outputs[0][plan.nodes.len() - 1]
    }

    /// Evaluates the nodes from `at` on, up to the next choice, which it enters.
    ///
    /// `rows` has a bit for each evaluation that still has a value, the template's own being the first.
    fn enter(
        &mut self,
        task: &Task<'_>,
        rng: &mut StreamRng,
        at: usize,
        mut rows: u32,
        mut mentioned: bool,
    ) -> Verdict {
        let nodes = &task.plan.nodes;
        let mut at = at;
        while let Some(node) = nodes.get(at) {
            if node.is_choice {
                return self.choose(task, rng, at, rows, mentioned);
            }
            if !self.evaluate(task, node, at, &mut rows) {
                return Verdict::None;
            }
            if let Some(holdout) = task.holdout {
                let description = self.describe(node);
                self.descriptions[at] = description;
                if holdout.is_mentioned_by(description) {
                    if task.rule == QuestionRule::Without {
                        return Verdict::None;
                    }
                    mentioned = true;
                }
            }
            at += 1;
        }
        if !self.is_acceptable(task, rows, mentioned) {
            return Verdict::None;
        }
        self.stats.states += 1;
        Verdict::Found
    }

    fn is_acceptable(&self, task: &Task<'_>, rows: u32, mentioned: bool) -> bool {
        let last = task.plan.nodes.len() - 1;
        let answer = self.outputs[0][last];
        let degenerate =
            (1..=task.plan.relates.len()).any(|row| rows >> row & 1 == 1 && self.outputs[row][last] == answer);
        task.accept.contains(answer) && !degenerate && (task.rule != QuestionRule::With || mentioned)
    }

    /// A node without a choice; false when the template's own evaluation fails.
    fn evaluate(&mut self, task: &Task<'_>, node: &PlanNode, at: usize, rows: &mut u32) -> bool {
        let NodeKind::Plain(function) = node.kind else { return false };
        for row in 0..=task.plan.relates.len() {
            if *rows >> row & 1 == 0 {
                continue;
            }
            let inputs = node.inputs.map(|input| self.outputs[row][usize::from(input)]);
            match function.meaning((task.scene, task.vocab), 0, inputs) {
                Ok(word) => self.outputs[row][at] = word,
                Err(_) if row == 0 => return false,
                Err(_) => *rows &= !(1 << row),
            }
        }
        self.differs(node, at)
    }

    /// Whether the node's output differs from those that it must differ from.
    fn differs(&self, node: &PlanNode, at: usize) -> bool {
        let outputs = &self.outputs[0];
        node.differs_from.iter().all(|&other| outputs[usize::from(other)] != outputs[at])
    }

    fn describe(&self, node: &PlanNode) -> Description {
        let input = |i: usize| self.descriptions[usize::from(node.inputs[i])];
        match node.kind {
            NodeKind::Plain(Function::Union) => input(0).or(input(1)),
            NodeKind::Plain(Function::Intersect) => input(0).join(input(1)),
            _ => Description::ANYTHING,
        }
    }

    /// A choice: tries options in random order until one leads to a question.
    fn choose(&mut self, task: &Task<'_>, rng: &mut StreamRng, at: usize, rows: u32, mentioned: bool) -> Verdict {
        let node = &task.plan.nodes[at];
        if task.rule == QuestionRule::With && !mentioned && !self.can_still_mention(task, at) {
            return Verdict::None;
        }
        if self.degenerates(task, node, at, rows) {
            return Verdict::None;
        }
        // The first choice is reached in one way only.
        let key = (task.plan.equal_params.is_empty() && at != task.plan.first_choice)
            .then(|| self.state_key(task, node, at, rows, mentioned));
        if key.is_some_and(|key| self.memo.contains(key)) {
            return Verdict::None;
        }
        if self.stats.options > self.max_options {
            return Verdict::Exhausted;
        }
        let verdict = self.try_options(task, rng, at, rows, mentioned);
        if let (Verdict::None, Some(key)) = (verdict, key) {
            self.memo.insert(key);
        }
        verdict
    }

    /// Whether every question from here on degenerates: with a relation left out that has been chosen
    /// already, all that the rest depends on is as it was.
    fn degenerates(&self, task: &Task<'_>, node: &PlanNode, at: usize, rows: u32) -> bool {
        task.plan.relates.iter().enumerate().any(|(i, &relate)| {
            let row = i + 1;
            usize::from(relate) < at
                && rows >> row & 1 == 1
                && node
                    .live
                    .iter()
                    .all(|&live| self.outputs[row][usize::from(live)] == self.outputs[0][usize::from(live)])
        })
    }

    fn can_still_mention(&self, task: &Task<'_>, at: usize) -> bool {
        let mut descriptions = self.descriptions;
        task.holdout.is_some_and(|holdout| task.plan.can_mention_from(at, &mut descriptions, holdout))
    }

    /// Everything that the rest of the search depends on, hashed.
    fn state_key(&self, task: &Task<'_>, node: &PlanNode, at: usize, rows: u32, mentioned: bool) -> u128 {
        let mut key = Memo::key(at as u64, u64::from(rows) << 1 | u64::from(mentioned));
        for &live in &node.live {
            let i = usize::from(live);
            for row in 0..=task.plan.relates.len() {
                key = Memo::extend(key, u64::from(self.outputs[row][i]));
            }
            if task.holdout.is_some() && task.plan.nodes[i].output == Type::Set {
                key = Memo::extend(key, u64::from(self.descriptions[i].0));
            }
        }
        key
    }

    fn try_options(&mut self, task: &Task<'_>, rng: &mut StreamRng, at: usize, rows: u32, mentioned: bool) -> Verdict {
        let node = &task.plan.nodes[at];
        let source = self.source(task, node, at);
        let count = source.count();
        let mut living = !0;
        if task.plan.judges_by_outcome(at) {
            living = self.possible_outcomes(task, source);
            if node.is_last_choice {
                living = self.acceptable_outcomes(task, at, living);
            }
        }
        if count == 0 || living == 0 {
            return Verdict::None;
        }
        self.stats.states += 1;
        let mut living =
            Living { outcomes: [living; 2], counts: task.plan.judges_by_outcome(at) && !node.after_relate };
        if task.rule == QuestionRule::With && !mentioned && self.must_mention_at(task, at) {
            return self.try_mentioning(task, rng, at, rows, source, &mut living);
        }
        let draws = if node.after_relate && node.is_last_choice { DRAWS_AFTER_RELATE } else { DRAWS };
        for _ in 0..draws.min(2 * count) {
            let Some(pick) = self.pick(task, at, source, rng.below(count)) else { continue };
            match self.try_pick(task, rng, at, rows, mentioned, pick, &mut living) {
                Verdict::None => {}
                verdict => return verdict,
            }
            if living.counts && living.outcomes[usize::from(mentioned)] == 0 && task.rule != QuestionRule::With {
                return Verdict::None;
            }
        }
        self.try_all(task, rng, at, rows, mentioned, source, &mut living)
    }

    /// Whether a question that has not mentioned the conjunction yet must do so at this choice.
    fn must_mention_at(&self, task: &Task<'_>, at: usize) -> bool {
        let node = &task.plan.nodes[at];
        if node.output == Type::Set {
            // A set's description may be completed later, unless all that follows is of this kind.
            return node.is_last_choice && !task.plan.intersects_after(at);
        }
        let mut descriptions = self.descriptions;
        descriptions[at] = Description::ANYTHING;
        !task.holdout.is_some_and(|holdout| task.plan.can_mention_from(at + 1, &mut descriptions, holdout))
    }

    /// Tries only the options that mention the conjunction, all that can succeed here.
    fn try_mentioning(
        &mut self,
        task: &Task<'_>,
        rng: &mut StreamRng,
        at: usize,
        rows: u32,
        source: Source,
        living: &mut Living,
    ) -> Verdict {
        let mut indices = std::mem::take(&mut self.levels[at].indices);
        self.list_mentioning(task, at, source, &mut indices);
        let mut verdict = Verdict::None;
        while verdict == Verdict::None && !indices.is_empty() {
            let index = indices.swap_remove(rng.below(indices.len() as u32) as usize);
            if let Some(pick) = self.pick(task, at, source, index).filter(|pick| pick.mentions) {
                verdict = self.try_pick(task, rng, at, rows, false, pick, living);
            }
        }
        self.levels[at].indices = indices;
        verdict
    }

    /// Options that may mention the conjunction, by index: where a choice starts a description of its
    /// own, those whose combination names all of it.
    fn list_mentioning(&mut self, task: &Task<'_>, at: usize, source: Source, indices: &mut Vec<u32>) {
        indices.clear();
        match source {
            Source::Keys { keys, extra, .. }
                if self.descriptions[usize::from(task.plan.nodes[at].inputs[0])] == Description::ANYTHING
                    && keys as usize == self.options.keys().len() =>
            {
                indices.extend(self.options.held().iter().map(|&key| u32::from(key)));
                indices.extend(keys..keys + extra);
            }
            Source::Relations { object, tail, options, extra } => {
                let lists = self.options.relate(object as usize);
                for &(size, index) in &lists.held {
                    if let Some(offset) = lists.offset(tail, size) {
                        indices.push((offset + usize::from(index)) as u32);
                    }
                }
                indices.extend(options..options + extra);
            }
            _ => indices.extend(0..source.count()),
        }
    }

    /// Lists the options that are left and tries them in random order.
    #[allow(clippy::too_many_arguments)]
    fn try_all(
        &mut self,
        task: &Task<'_>,
        rng: &mut StreamRng,
        at: usize,
        rows: u32,
        mentioned: bool,
        source: Source,
        living: &mut Living,
    ) -> Verdict {
        let mut listed = std::mem::take(&mut self.levels[at].listed);
        listed.clear();
        for index in 0..source.count() {
            if let Some(pick) = self.pick(task, at, source, index)
                && living.has(pick.output, mentioned || pick.mentions)
            {
                listed.push(pick);
            }
        }
        let mut verdict = Verdict::None;
        while verdict == Verdict::None && !listed.is_empty() {
            let pick = listed.swap_remove(rng.below(listed.len() as u32) as usize);
            verdict = self.try_pick(task, rng, at, rows, mentioned, pick, living);
        }
        self.levels[at].listed = listed;
        verdict
    }

    /// Takes an option, unless its outcome is known to lead nowhere, and goes on from there.
    #[allow(clippy::too_many_arguments)]
    fn try_pick(
        &mut self,
        task: &Task<'_>,
        rng: &mut StreamRng,
        at: usize,
        rows: u32,
        mentioned: bool,
        pick: Pick,
        living: &mut Living,
    ) -> Verdict {
        let mentioned = mentioned || pick.mentions;
        if !living.has(pick.output, mentioned) {
            return Verdict::None;
        }
        let verdict = match self.set(task, at, rows, pick) {
            Some(rows) => self.enter(task, rng, at + 1, rows, mentioned),
            None => Verdict::None,
        };
        if verdict == Verdict::None && living.counts {
            living.outcomes[usize::from(mentioned)] &= !(1 << pick.output);
        }
        verdict
    }

    /// Of the outcomes of a last choice, those with which the template's own evaluation ends in an
    /// acceptable answer.
    fn acceptable_outcomes(&mut self, task: &Task<'_>, at: usize, possible: u64) -> u64 {
        let nodes = &task.plan.nodes;
        let mut acceptable = possible;
        let mut left = possible;
        while left != 0 {
            let output = left.trailing_zeros();
            left &= left - 1;
            self.outputs[0][at] = output;
            let mut own = 1;
            let ends = self.differs(&nodes[at], at)
                && (at + 1..nodes.len()).all(|i| self.evaluate(task, &nodes[i], i, &mut own))
                && task.accept.contains(self.outputs[0][nodes.len() - 1]);
            if !ends {
                acceptable &= !(1 << output);
            }
        }
        acceptable
    }

    /// The outcomes that options of a source can have, a bit each, or more; for outputs other than sets.
    fn possible_outcomes(&self, task: &Task<'_>, source: Source) -> u64 {
        let exist = |sizes: u64| (sizes & 1) | u64::from(sizes >> 1 != 0) << 1;
        match source {
            Source::Keys { set, tail, .. } if set == task.scene.everything() => match tail {
                Tail::Unique => u64::from(set),
                Tail::Count => self.options.sizes() | 1,
                Tail::Exist => exist(self.options.sizes() | 1),
                Tail::Set => !0,
            },
            Source::Keys { set, tail, .. } => match tail {
                Tail::Unique => u64::from(set),
                Tail::Count => (2u64 << set.count_ones()) - 1,
                Tail::Exist => 3,
                Tail::Set => !0,
            },
            Source::Relations { object, tail, .. } => {
                let options = self.options.relate(object as usize);
                match tail {
                    Tail::Unique => u64::from(options.single_objects),
                    Tail::Count => options.sizes,
                    Tail::Exist => exist(options.sizes),
                    Tail::Set => !0,
                }
            }
            Source::Relation { .. } | Source::Values { .. } => !0,
        }
    }

    /// The options of a choice, counted before anything is left out for being unwanted.
    fn source(&mut self, task: &Task<'_>, node: &PlanNode, at: usize) -> Source {
        let input = self.outputs[0][usize::from(node.inputs[0])];
        self.levels[at].extra_is_drawn = false;
        match node.kind {
            NodeKind::Filter(tail) => {
                let (keys, singles) = self.keys_and_singles(input, task.scene.everything());
                // As in CLEVR: absent combinations as many as there are options (`exist`), or options
                // that leave a single object (`count`, and sets, which never take the empty filter).
                let wanted = match tail {
                    Tail::Unique => 0,
                    Tail::Exist => keys,
                    Tail::Count => singles,
                    Tail::Set => singles - u32::from(input.count_ones() == 1),
                };
                let extra = wanted.min(self.options.combinations().count() - keys);
                let whole = tail == Tail::Unique && input == task.scene.everything();
                let keys = if whole { self.options.singles().len() as u32 } else { keys };
                Source::Keys { set: input, tail, keys, extra }
            }
            NodeKind::RelateFilter(tail) => {
                self.options.fill_relate(task.scene, input as usize);
                let lists = self.options.relate(input as usize);
                let (options, extra) = (lists.n_options(tail), lists.n_trivial_offered(tail));
                Source::Relations { object: input, tail, options: options as u32, extra: extra as u32 }
            }
            NodeKind::FilterOne(kind) => {
                Source::Values { set: input, kind, count: task.vocab.n_values(usize::from(kind)) as u32 }
            }
            NodeKind::Relate | NodeKind::Plain(_) => Source::Relation { object: input },
        }
    }

    fn keys_and_singles(&self, set: u32, everything: u32) -> (u32, u32) {
        let keys = self.options.keys();
        let singles = if set == everything {
            self.options.singles().len()
        } else {
            keys.iter().filter(|key| (key.objects & set).count_ones() == 1).count()
        };
        (keys.len() as u32, singles as u32)
    }

    /// An option by number, None where it is none after all or is unwanted.
    #[inline]
    fn pick(&mut self, task: &Task<'_>, at: usize, source: Source, index: u32) -> Option<Pick> {
        self.stats.options += 1;
        let node = &task.plan.nodes[at];
        let (choice, key_objects, set, types, bits, base) = match source {
            Source::Keys { set, tail, keys, extra } => {
                let base = self.descriptions[usize::from(node.inputs[0])];
                if index < keys {
                    let whole = tail == Tail::Unique && set == task.scene.everything();
                    let i = if whole { usize::from(self.options.singles()[index as usize]) } else { index as usize };
                    let key = self.options.keys()[i];
                    if tail == Tail::Set && key.types == 0 {
                        return None;
                    }
                    let choice = Choice { relation: 0, combination: key.combination };
                    (choice, key.objects, key.objects & set, key.types, key.bits, base)
                } else {
                    self.draw_absent(at, set, extra);
                    let combination = self.levels[at].extra[(index - keys) as usize];
                    let combinations = self.options.combinations();
                    let types = combinations.types(combination);
                    let bits = combinations.bits(combination, task.holdout);
                    (Choice { relation: 0, combination }, 0, 0, types, bits, base)
                }
            }
            Source::Relations { object, tail, options, .. } => {
                let option = if index < options {
                    self.options.relate(object as usize).option(tail, index as usize)
                } else {
                    self.draw_trivial(at, object, tail, (index - options) as usize)
                };
                let n_keys = self.options.keys().len() as u16;
                let key = self.options.keys()[usize::from(option % n_keys)];
                let relation = (option / n_keys) as u8;
                let set = key.objects & task.scene.related(usize::from(relation), object as usize);
                let choice = Choice { relation, combination: key.combination };
                (choice, key.objects, set, key.types, key.bits, Description::ANYTHING)
            }
            Source::Relation { object } => {
                let set = task.scene.related(index as usize, object as usize);
                (Choice { relation: index as u8, combination: 0 }, 0, set, 0, 0, Description::ANYTHING)
            }
            Source::Values { set, kind, .. } => {
                let objects = (task.scene, task.vocab).having(kind, index as u8);
                let bits = task.holdout.map_or(0, |h| h.bits(usize::from(kind), index as u8));
                let base = self.descriptions[usize::from(node.inputs[0])];
                (Choice { relation: 0, combination: index }, objects, objects & set, 0, bits, base)
            }
        };
        if types & node.forbidden != 0 {
            return None;
        }
        let output = reduce(node.kind, set)?;
        let (mut description, mut mentions) = (Description::ANYTHING, false);
        if let Some(holdout) = task.holdout {
            description = base.with(bits);
            mentions = holdout.is_mentioned_by(description);
            if mentions && task.rule == QuestionRule::Without {
                return None;
            }
        }
        Some(Pick { choice, key_objects, output, description, mentions })
    }

    /// Draws the absent combinations that a filter offers, once a state: `count` different ones.
    fn draw_absent(&mut self, at: usize, set: u32, count: u32) {
        let level = &mut self.levels[at];
        if level.extra_is_drawn {
            return;
        }
        level.extra_is_drawn = true;
        level.extra.clear();
        let mut rng = StateRng::new(self.attempt_seed, at as u64, u64::from(set));
        self.options.draw_absent(count, &mut rng, &mut level.extra);
    }

    /// Draws the trivial options that a relation offers, once a state.
    fn draw_trivial(&mut self, at: usize, object: u32, tail: Tail, index: usize) -> u16 {
        let lists = self.options.relate(object as usize);
        let level = &mut self.levels[at];
        if !level.extra_is_drawn {
            level.extra_is_drawn = true;
            level.extra.clear();
            level.extra.extend(lists.trivial(tail).map(u32::from));
            let wanted = lists.n_trivial_offered(tail);
            let mut rng = StateRng::new(self.attempt_seed, at as u64, u64::from(object));
            for i in 0..wanted {
                let other = i + rng.below((level.extra.len() - i) as u32) as usize;
                level.extra.swap(i, other);
            }
        }
        level.extra[index] as u16
    }

    /// Writes an option's output into every evaluation; None where a constraint forbids it, else the
    /// evaluations that still have a value.
    fn set(&mut self, task: &Task<'_>, at: usize, rows: u32, pick: Pick) -> Option<u32> {
        let node = &task.plan.nodes[at];
        self.outputs[0][at] = pick.output;
        self.choices[at] = pick.choice;
        self.descriptions[at] = if node.output == Type::Set { pick.description } else { Description::ANYTHING };
        if !self.differs(node, at) {
            return None;
        }
        if !task.plan.equal_params.is_empty() && !self.params_are_equal(task, at, pick.choice) {
            return None;
        }
        let mut rows = rows;
        for (i, &relate) in task.plan.relates.iter().enumerate() {
            let row = i + 1;
            if rows >> row & 1 == 0 {
                continue;
            }
            let input = self.outputs[row][usize::from(node.inputs[0])];
            let set = match node.kind {
                NodeKind::Relate if usize::from(relate) == at => task.scene.everything(),
                NodeKind::Relate => task.scene.related(usize::from(pick.choice.relation), input as usize),
                NodeKind::RelateFilter(_) => {
                    pick.key_objects & task.scene.related(usize::from(pick.choice.relation), input as usize)
                }
                _ => pick.key_objects & input,
            };
            match reduce(node.kind, set) {
                Some(output) => self.outputs[row][at] = output,
                None => rows &= !(1 << row),
            }
        }
        Some(rows)
    }

    /// CLEVR's "NEQ" as its code reads: parameters that both have been given are the same.
    fn params_are_equal(&mut self, task: &Task<'_>, at: usize, choice: Choice) -> bool {
        for later in &task.plan.params_of[at..] {
            later.iter().for_each(|&p| self.params[usize::from(p)] = None);
        }
        let values = chosen_values(task.plan.nodes[at].kind, choice, self.options.combinations());
        for (&param, value) in task.plan.params_of[at].iter().zip(values) {
            self.params[usize::from(param)] = Some(value);
        }
        task.plan.equal_params.iter().all(|&(a, b)| match (self.params[usize::from(a)], self.params[usize::from(b)]) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        })
    }
}

impl Living {
    fn has(&self, output: u32, mentioned: bool) -> bool {
        // Outcomes that are sets are not told apart.
        self.outcomes[usize::from(mentioned)] == !0 || self.outcomes[usize::from(mentioned)] >> output & 1 == 1
    }
}

/// The values that a choice gives a node's parameters, in their order.
pub fn chosen_values(
    kind: NodeKind,
    choice: Choice,
    combinations: &super::options::Combinations,
) -> impl Iterator<Item = Option<u8>> {
    let relation = matches!(kind, NodeKind::Relate | NodeKind::RelateFilter(_)).then_some(Some(choice.relation));
    let one = matches!(kind, NodeKind::FilterOne(_)).then_some(Some(choice.combination as u8));
    let is_macro = matches!(kind, NodeKind::Filter(_) | NodeKind::RelateFilter(_));
    let values = std::array::from_fn::<_, { crate::vocab::N_TYPES }, _>(|t| combinations.value(choice.combination, t));
    relation.into_iter().chain(one).chain(values.into_iter().filter(move |_| is_macro))
}

/// What a node with a choice gives for the set that its filters leave; None where it has no value.
#[inline]
fn reduce(kind: NodeKind, set: u32) -> Option<u32> {
    match kind {
        NodeKind::Filter(tail) | NodeKind::RelateFilter(tail) => match tail {
            Tail::Set => Some(set),
            Tail::Unique => (set.count_ones() == 1).then(|| set.trailing_zeros()),
            Tail::Count => Some(set.count_ones()),
            Tail::Exist => Some(u32::from(set != 0)),
        },
        _ => Some(set),
    }
}
