//! Instantiation of families on scenes: balanced questions with programs, answers and texts.
//!
//! As in the CLEVR generator, the families used least in the window are tried first on each scene, each family at most
//! once, until the scene has as many questions as wanted.

use super::balance::Balance;
use super::expansion::ProgramBuilder;
use super::param::MAX_PARAMS;
use super::plan::{AnswerSet, Plan};
use super::search::{ChosenValues, QuestionRule, SearchStats, Searcher, Task, Verdict, chosen_values};
use super::template::TemplateSet;
use super::text_buffer::TextBuffer;
use crate::holdout::Holdout;
use crate::program::catalogue::{Function, Type};
use crate::program::facts::Facts;
use crate::program::{MAX_STEPS, Program, Step};
use crate::rng::{StreamKey, StreamRng};
use crate::scene::SceneView;
use crate::vocab::{Answer, Vocabulary};
use std::ops::Range;

/// Bound on the number of options in one attempt; real attempts stay far below.
pub const MAX_OPTIONS: u64 = 1_000_000;

/// A question on a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The scene's index in its pool.
    pub scene: u64,
    /// The family's number over all files.
    pub family: u16,
    pub answer: Answer,
    pub text: String,
    pub program: Program,
    /// One bit for each `relate` of the program, in order: whether the answer would differ or be missing without it.
    pub relation_needed: u32,
    pub n_relations: u8,
}

/// Makes questions that satisfy one split's rule.
pub struct Instantiator<'a> {
    vocab: &'a Vocabulary,
    templates: &'a TemplateSet,
    plans: &'a [Plan],
    /// Families that can satisfy the rule.
    usable: Vec<u16>,
    /// For each family, the weakest rule that implies the split's rule for it.
    rules: Vec<QuestionRule>,
    holdout: Option<&'a Holdout>,
}

/// The buffers of one thread.
pub struct Workspace {
    pub searcher: Searcher,
    /// The work of all attempts so far.
    pub stats: SearchStats,
    /// The duration of each attempt, if there is a stopwatch.
    pub attempt_ns: Vec<u64>,
    stopwatch: Option<Stopwatch>,
    balance: Balance,
    text: TextBuffer,
    steps: Vec<Step>,
}

/// A clock for benchmarks: nanoseconds since some fixed moment. No data depends on it.
pub type Stopwatch = fn() -> u64;

impl<'a> Instantiator<'a> {
    /// Families that can never satisfy the rule, or that have no possible answers, are left out.
    pub fn new(
        vocab: &'a Vocabulary,
        templates: &'a TemplateSet,
        plans: &'a [Plan],
        rule: QuestionRule,
        holdout: Option<&'a Holdout>,
    ) -> Self {
        let can = |plan: &Plan| match (rule, holdout) {
            (QuestionRule::With, Some(holdout)) => plan.can_mention(holdout),
            (QuestionRule::With, None) => false,
            _ => true,
        };
        let usable = (0..).zip(plans).filter(|(_, plan)| plan.possible != AnswerSet::EMPTY && can(plan));
        let usable = usable.map(|(family, _)| family).collect();
        // For a family that implies only what it mentions, the weaker rule is cheaper to check.
        let rule_of = |plan: &Plan| match rule {
            QuestionRule::Unimplied if !holdout.is_some_and(|holdout| plan.can_imply(holdout)) => QuestionRule::Without,
            rule => rule,
        };
        Self { vocab, templates, plans, usable, rules: plans.iter().map(rule_of).collect(), holdout }
    }

    pub fn usable_families(&self) -> &[u16] {
        &self.usable
    }

    pub fn workspace(&self) -> Workspace {
        Workspace {
            searcher: Searcher::new(self.vocab, self.holdout),
            stats: SearchStats::default(),
            attempt_ns: Vec::new(),
            stopwatch: None,
            balance: Balance::new(self.plans.iter(), &self.usable),
            text: TextBuffer::default(),
            steps: Vec::new(),
        }
    }

    /// The questions of a window, up to `per_scene` for each of its scenes in order.
    ///
    /// The random draws for a scene depend only on `key` and the scene's index.
    pub fn window<'s>(
        &self,
        workspace: &mut Workspace,
        scenes: impl Iterator<Item = (u64, SceneView<'s>)>,
        key: &StreamKey,
        per_scene: u32,
    ) -> Vec<Question> {
        workspace.balance.reset();
        // A scene gives at most one question of each family.
        let per_scene = self.usable.len().min(per_scene as usize);
        let mut questions = Vec::with_capacity(scenes.size_hint().0 * per_scene);
        for (index, scene) in scenes {
            self.scene(workspace, index, scene, &mut key.at(index), per_scene, &mut questions);
        }
        questions
    }

    fn scene(
        &self,
        workspace: &mut Workspace,
        index: u64,
        scene: SceneView<'_>,
        rng: &mut StreamRng,
        per_scene: usize,
        questions: &mut Vec<Question>,
    ) {
        workspace.searcher.options.load(scene);
        workspace.balance.start();
        let mut left = per_scene;
        while left > 0
            && let Some(family) = workspace.balance.next_family(rng)
        {
            if let Some(question) = self.attempt(workspace, index, scene, family, rng) {
                questions.push(question);
                left -= 1;
            }
        }
    }

    /// One attempt to make a question of a family.
    pub fn attempt(
        &self,
        workspace: &mut Workspace,
        index: u64,
        scene: SceneView<'_>,
        family: u16,
        rng: &mut StreamRng,
    ) -> Option<Question> {
        let plan = &self.plans[usize::from(family)];
        let accept = workspace.balance.acceptable(family);
        if !accept.meets(plan.possible) {
            return None;
        }
        let rule = self.rules[usize::from(family)];
        let task = Task::new(scene, self.vocab, plan, accept, rule, self.holdout, MAX_OPTIONS);
        let began = workspace.stopwatch.map(|now| now());
        let verdict = workspace.searcher.attempt(&task, rng);
        if let (Some(now), Some(began)) = (workspace.stopwatch, began) {
            workspace.attempt_ns.push(now() - began);
        }
        workspace.stats.add(workspace.searcher.last_attempt());
        if verdict != Verdict::Found {
            return None;
        }
        let answer = workspace.searcher.answer(plan);
        workspace.balance.accept(family, answer);
        Some(self.question(workspace, (index, scene), family, answer, rng))
    }

    fn question(
        &self,
        workspace: &mut Workspace,
        (scene_index, scene): (u64, SceneView<'_>),
        family: u16,
        answer: u32,
        rng: &mut StreamRng,
    ) -> Question {
        let plan = &self.plans[usize::from(family)];
        let source = &self.templates.families()[usize::from(family)];
        let mut values = [None; MAX_PARAMS];
        let mut program = ProgramBuilder::new(&mut workspace.steps);
        for (at, node) in plan.nodes.iter().enumerate() {
            let mut chosen = ChosenValues::default();
            if node.is_choice {
                let choice = workspace.searcher.choices()[at];
                chosen = chosen_values(node.kind, choice, workspace.searcher.options.combinations());
                for (&param, &value) in plan.params_of[at].iter().zip(&*chosen) {
                    values[usize::from(param)] = value;
                }
            }
            program.push(node.kind, node.inputs, &chosen);
        }
        let phrasing = &source.phrasings[rng.below(source.phrasings.len() as u32) as usize];
        let values = &values[..plan.n_params];
        let text = phrasing.question(&source.params, values, self.templates.lexicon(), rng, &mut workspace.text);
        let steps = &workspace.steps;
        let (relation_needed, n_relations) = relations_needed(steps, answer, scene, self.vocab);
        let answer = answer_of(source.output(), answer);
        let program = Program { steps: steps.clone() };
        Question { scene: scene_index, family, answer, text, program, relation_needed, n_relations }
    }
}

impl Workspace {
    /// The same workspace, which times each attempt if there is a stopwatch.
    pub fn timed_by(self, stopwatch: Option<Stopwatch>) -> Self {
        Self { stopwatch, ..self }
    }
}

/// The answer that a word stands for, given the type of the family's answers.
pub(crate) fn answer_of(output: Type, word: u32) -> Answer {
    match output {
        Type::Bool => Answer::Bool(word == 1),
        Type::Value(kind) => Answer::Value(kind, word as u8),
        _ => Answer::Integer(word as u8),
    }
}

/// For each `relate` of a program, whether its answer (a word) needs it: whether the answer differs or is missing if
/// the relation is replaced by the whole scene. Returns the bits, and the number of relations.
pub fn relations_needed(steps: &[Step], answer: u32, scene: SceneView<'_>, vocab: &Vocabulary) -> (u32, u8) {
    let is_relation = |step: &Step| step.function == Function::Relate;
    let Some(last) = steps.iter().rposition(is_relation) else { return (0, 0) };
    let mut words = [0; MAX_STEPS];
    run(steps, 0..last, (scene, vocab), &mut words);
    let (mut needed, mut n_relations) = (0, 0);
    // From the last relation backwards, so that the steps before each one are still those of the program.
    for at in (0..=last).rev().filter(|&at| is_relation(&steps[at])) {
        words[at] = scene.everything();
        let has_answer = run(steps, at + 1..steps.len(), (scene, vocab), &mut words);
        needed = needed << 1 | u32::from(!has_answer || words[steps.len() - 1] != answer);
        n_relations += 1;
    }
    (needed, n_relations)
}

/// Executes a range of a program's steps, given the outputs of the steps before. Returns whether all have an output.
fn run(steps: &[Step], which: Range<usize>, facts: impl Facts<Word = u32>, words: &mut [u32; MAX_STEPS]) -> bool {
    which.into_iter().all(|i| {
        let Step { function, argument, inputs } = steps[i];
        let word = function.meaning(facts, argument, inputs.map(|input| words[usize::from(input)]));
        word.map(|word| words[i] = word).is_ok()
    })
}
