//! A slow and obvious search by the rules of CLEVR's generator: for a template, a scene and the wanted answers, it
//! finds one question, or every question that the rules can reach.
//!
//! It was written from the rules, independently of the engine: it reads the template's JSON, keeps lists of objects and
//! maps of combinations, and prunes nothing. It only shares `Step` and `Function`, which represent programs, with the
//! engine.

use crate::world::{RawConstraint, RawTemplate, TestScene};
use clevrhope_core::holdout::Holdout;
use clevrhope_core::program::{Function, Program, Step};
use clevrhope_core::rng::StreamRng;
use clevrhope_core::vocab::RELATION_NAMES;
use clevrhope_core::{Vocabulary, question::search::QuestionRule};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Functions that take a parameter as their argument and are not filters.
const APPLIED: [&str; 4] = ["verify_", "offer_", "count_is", "verify_relation"];

/// A value or none for size, colour, material and shape.
pub type Combination = [Option<u8>; 4];

/// The output of a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    Set(Vec<u8>),
    Object(u8),
    /// An integer, a truth (1 for yes) or the number of an attribute value.
    Word(u32),
}

/// The choice at one node: a relation or a number, then a value of each type, or none.
pub type Choice = [Option<u8>; 5];

/// A question found: its answer, and the choice at each node that has one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    pub answer: u32,
    pub choices: Vec<Choice>,
}

/// A question that the rules can reach.
pub struct Listed<'a> {
    state: &'a State,
    pub answer: u32,
    pub choices: &'a [Choice],
    pub mentions: bool,
    /// Whether it names a combination that the palette does not have.
    pub names_absent: bool,
    /// The number of its choices that are trivial relations, which remove no object; few of these are offered.
    pub n_trivial: u32,
}

impl Listed<'_> {
    pub fn program(&self) -> Program {
        self.state.program()
    }
}

/// Which questions may be kept.
pub struct Wanted<'a> {
    pub answers: &'a dyn Fn(u32) -> bool,
    pub rule: QuestionRule,
    pub holdout: Option<&'a Holdout>,
}

/// Where a question must mention the pair: at a node that names all of it, or where no node does that alone.
#[derive(Clone, Copy, PartialEq)]
enum Slot {
    Node(usize),
    Across,
}

/// A template on a scene.
pub struct Plain<'a> {
    vocab: &'a Vocabulary,
    scene: &'a TestScene,
    nodes: Vec<Node>,
    constraints: Vec<Constraint>,
    n_params: usize,
    has_raw_relate: bool,
    /// The combinations that objects have, each with its objects.
    options: BTreeMap<Combination, Vec<u8>>,
    /// The options of each node on each input, listed once.
    offers: RefCell<BTreeMap<(usize, Value), Rc<Offer>>>,
}

/// A template's node.
struct Node {
    kind: String,
    inputs: Vec<usize>,
    /// Its parameters: the place among the template's parameters, and in a `Choice`.
    params: Vec<(usize, usize)>,
    /// The node's function if it has no parameter, otherwise the function after its filters.
    function: Option<Function>,
    /// The node's function if its parameter is the argument of a function other than a filter or `relate`.
    applied: Option<Function>,
    n_choices_before: usize,
}

enum Constraint {
    Null(usize),
    Neq(usize, usize),
    OutNeq(usize, usize),
}

/// The options of a node on an input: those that are always offered, and those of which some are drawn.
#[derive(Default)]
struct Offer {
    always: Vec<Choice>,
    some_of: Vec<Choice>,
    drawn: usize,
}

/// A partial question.
#[derive(Default)]
struct State {
    steps: Vec<Step>,
    values: Vec<Value>,
    /// The step that gives each template node's output.
    step_of: Vec<usize>,
    /// By place in the template; None before the parameter is chosen.
    params: Vec<Option<Option<u8>>>,
    choices: Vec<Choice>,
    /// The number of choices that are trivial relations, which only some searches are offered.
    n_trivial: u32,
}

/// A search in progress.
struct Attempt<'r> {
    rng: &'r mut StreamRng,
    /// The options drawn for a node and an input, which stay the same for the whole attempt, as in the engine.
    offered: BTreeMap<(usize, Value), Vec<Choice>>,
    states: u64,
    most: u64,
    slot: Option<Slot>,
}

impl<'a> Plain<'a> {
    pub fn new(vocab: &'a Vocabulary, template: &'a RawTemplate, scene: &'a TestScene) -> Self {
        let mut options: BTreeMap<Combination, Vec<u8>> = BTreeMap::new();
        for (object, values) in scene.objects.iter().enumerate() {
            for named in 0..16 {
                let combination = std::array::from_fn(|kind| (named >> kind & 1 == 1).then_some(values[kind]));
                options.entry(combination).or_default().push(object as u8);
            }
        }
        let place = |name: &str| template.params.iter().position(|param| param.name == name).unwrap();
        let node = |at: usize| {
            let raw = &template.nodes[at];
            let slot = |place: usize| {
                let kinds = ["Relation", "Size", "Color", "Material", "Shape"];
                let kind = template.params[place].kind.replace("Number", "Relation");
                kinds.iter().position(|known| *known == kind).unwrap()
            };
            let params: Vec<_> = raw.side_inputs.iter().map(|name| place(name)).map(|p| (p, slot(p))).collect();
            let tails = [("unique", Function::Unique), ("count", Function::Count), ("exist", Function::Exist)];
            let tail = tails.into_iter().find(|(tail, _)| raw.kind.ends_with(tail)).map(|(_, function)| function);
            let function = if params.is_empty() { Some(Function::from_name(&raw.kind).unwrap()) } else { tail };
            let is_applied = APPLIED.iter().any(|start| raw.kind.starts_with(start));
            let applied = is_applied.then(|| Function::from_name(&raw.kind).unwrap());
            let n_choices_before = template.nodes[..at].iter().filter(|n| !n.side_inputs.is_empty()).count();
            Node { kind: raw.kind.clone(), inputs: raw.inputs.clone(), params, function, applied, n_choices_before }
        };
        let constraint = |raw: &RawConstraint| {
            let param = |i: usize| place(raw.params[i].as_str().unwrap());
            let node = |i: usize| raw.params[i].as_u64().unwrap() as usize;
            match raw.kind.as_str() {
                "NULL" => Constraint::Null(param(0)),
                "NEQ" => Constraint::Neq(param(0), param(1)),
                "OUT_NEQ" => Constraint::OutNeq(node(0), node(1)),
                other => panic!("unknown constraint {other}"),
            }
        };
        Self {
            vocab,
            scene,
            nodes: (0..template.nodes.len()).map(node).collect(),
            constraints: template.constraints.iter().map(constraint).collect(),
            n_params: template.params.len(),
            has_raw_relate: template.nodes.iter().any(|node| node.kind == "relate"),
            options,
            offers: RefCell::default(),
        }
    }

    /// Makes a depth-first search in random order; returns the question found, if any, and the number of states
    /// visited, or None if these were more than `most`.
    pub fn search(&self, wanted: &Wanted<'_>, rng: &mut StreamRng, most: u64) -> Option<(Option<Found>, u64)> {
        let mut slots = vec![None];
        if let (QuestionRule::With, Some(holdout)) = (wanted.rule, wanted.holdout) {
            let named = |node: &Node| (1..5).filter(|kind| node.params.iter().any(|(_, slot)| slot == kind)).collect();
            let can_name_all =
                |named: Vec<usize>| (0..4).all(|kind| holdout.values()[kind].is_none() || named.contains(&(kind + 1)));
            slots = (0..self.nodes.len())
                .filter(|&at| !self.nodes[at].params.is_empty() && can_name_all(named(&self.nodes[at])))
                .map(|at| Some(Slot::Node(at)))
                .collect();
            slots.push(Some(Slot::Across));
            rng.shuffle(&mut slots);
        }
        let mut attempt = Attempt { rng, offered: BTreeMap::new(), states: 0, most, slot: None };
        let mut found = None;
        for slot in slots {
            attempt.slot = slot;
            let mut state = self.start();
            if found.is_none() && self.descend(wanted, &mut attempt, &mut state) {
                found = Some(Found { answer: state.answer(), choices: state.choices });
            }
        }
        (attempt.states < most).then_some((found, attempt.states))
    }

    /// Whether a complete question mentions the pair in a slot.
    fn is_in_slot(&self, state: &State, slot: Slot, holdout: &Holdout) -> bool {
        let program = state.program();
        let mut choices = state.choices.iter();
        let names_all: Vec<bool> = self
            .nodes
            .iter()
            .map(|node| {
                let choice = (!node.params.is_empty()).then(|| choices.next().unwrap());
                choice.is_some_and(|choice| {
                    (0..4).all(|kind| holdout.values()[kind].is_none_or(|value| choice[kind + 1] == Some(value)))
                })
            })
            .collect();
        if let Slot::Node(at) = slot {
            return names_all[at];
        }
        // Nodes other than those that name all of it, and whether one of their steps is described by all of it.
        let mut first = 0;
        (0..self.nodes.len()).any(|at| {
            let steps = first..=state.step_of[at];
            first = state.step_of[at] + 1;
            let is_described =
                |step| holdout.description(&program, step).is_some_and(|each| holdout.is_mentioned_by(each));
            // A node that only passes on what another one was described by adds nothing.
            let own = program.steps[*steps.start()].sources().iter().all(|&input| !is_described(usize::from(input)));
            !names_all[at] && own && steps.into_iter().any(is_described)
        })
    }

    /// Every question that some search could find.
    pub fn all(&self, holdout: &Holdout, each: &mut dyn FnMut(Listed<'_>)) {
        self.list(holdout, &mut self.start(), each);
    }

    fn start(&self) -> State {
        State { params: vec![None; self.n_params], ..State::default() }
    }

    /// Searches on from a state. If a question is found, returns true and leaves it in the state; otherwise restores
    /// the state.
    fn descend(&self, wanted: &Wanted<'_>, attempt: &mut Attempt<'_>, state: &mut State) -> bool {
        if attempt.states == attempt.most {
            return false;
        }
        attempt.states += 1;
        let at = state.step_of.len();
        let Some(node) = self.nodes.get(at) else { return self.is_wanted(wanted, state, attempt.slot) };
        if node.params.is_empty() {
            return self.take(state, &[None; 5]) && self.descend(wanted, attempt, state) || self.undo(state, at);
        }
        let input = state.values[state.step_of[node.inputs[0]]].clone();
        let mut options = match attempt.offered.get(&(at, input.clone())) {
            Some(options) => options.clone(),
            None => {
                let offer = self.offer(at, &input);
                let (mut options, mut some_of) = (offer.always.clone(), offer.some_of.clone());
                attempt.rng.shuffle(&mut some_of);
                options.extend(some_of.into_iter().take(offer.drawn));
                attempt.offered.insert((at, input), options.clone());
                options
            }
        };
        // Tries the options in random order.
        while !options.is_empty() {
            let option = options.swap_remove(attempt.rng.below(options.len() as u32) as usize);
            if self.take(state, &option) && self.descend(wanted, attempt, state) {
                return true;
            }
            self.undo(state, at);
            if attempt.states == attempt.most {
                break;
            }
        }
        false
    }

    fn list(&self, holdout: &Holdout, state: &mut State, each: &mut dyn FnMut(Listed<'_>)) {
        let at = state.step_of.len();
        let Some(node) = self.nodes.get(at) else {
            if !self.is_degenerate(state) {
                let (answer, mentions) = (state.answer(), state.mentions(holdout));
                let names_absent = holdout.absent().is_some_and(|absent| absent.is_named_in(&state.program()));
                let (choices, n_trivial) = (&state.choices, state.n_trivial);
                each(Listed { state, answer, choices, mentions, names_absent, n_trivial });
            }
            return;
        };
        let mut offer = Rc::new(Offer { always: vec![[None; 5]], ..Offer::default() });
        if !node.params.is_empty() {
            offer = self.offer(at, &state.values[state.step_of[node.inputs[0]]]);
        }
        let n_drawable = if offer.drawn > 0 { offer.some_of.len() } else { 0 };
        let always = offer.always.iter().map(|option| (option, false));
        let is_relation = node.kind.starts_with("relate");
        for (option, is_trivial) in always.chain(offer.some_of[..n_drawable].iter().map(|option| (option, is_relation)))
        {
            state.n_trivial += u32::from(is_trivial);
            if self.take(state, option) {
                self.list(holdout, state, each);
            }
            self.undo(state, at);
            state.n_trivial -= u32::from(is_trivial);
        }
    }

    /// Appends the next node's steps with an option; false if a step has no value or a constraint is broken.
    fn take(&self, state: &mut State, option: &Choice) -> bool {
        let node = &self.nodes[state.step_of.len()];
        let inputs: Vec<usize> = node.inputs.iter().map(|&i| state.step_of[i]).collect();
        let applied = node.applied.map(|function| (function, option[node.params[0].1].unwrap()));
        let option_of_filters = if applied.is_some() { [None; 5] } else { *option };
        let relate = option_of_filters[0].map(|relation| (Function::Relate, relation));
        let filters =
            (0..4u8).filter_map(|kind| Some((Function::Filter(kind), option_of_filters[usize::from(kind) + 1]?)));
        let mut last = inputs;
        for (function, argument) in
            applied.into_iter().chain(relate).chain(filters).chain(node.function.map(|f| (f, 0)))
        {
            if !self.push(state, function, argument, &last) {
                return false;
            }
            last = vec![state.steps.len() - 1];
        }
        if !node.params.is_empty() {
            node.params.iter().for_each(|&(place, slot)| state.params[place] = Some(option[slot]));
            state.choices.push(*option);
        }
        state.step_of.push(last[0]);
        self.constraints_hold(state)
    }

    /// Restores the state in which node `at` is next; always returns false, as the result of a failed alternative.
    fn undo(&self, state: &mut State, at: usize) -> bool {
        state.step_of.truncate(at);
        let n_steps = state.step_of.iter().max().map_or(0, |last| last + 1);
        state.steps.truncate(n_steps);
        state.values.truncate(n_steps);
        state.choices.truncate(self.nodes[at].n_choices_before);
        self.nodes[at].params.iter().for_each(|&(place, _)| state.params[place] = None);
        false
    }

    fn push(&self, state: &mut State, function: Function, argument: u8, inputs: &[usize]) -> bool {
        let values: Vec<&Value> = inputs.iter().map(|&i| &state.values[i]).collect();
        let Some(value) = apply(function, argument, &values, self.scene) else { return false };
        let mut step = Step { function, argument, inputs: [0, 0] };
        step.inputs.iter_mut().zip(inputs).for_each(|(to, &from)| *to = from as u8);
        state.steps.push(step);
        state.values.push(value);
        true
    }

    fn constraints_hold(&self, state: &State) -> bool {
        let output = |node: usize| state.step_of.get(node).map(|&step| &state.values[step]);
        self.constraints.iter().all(|constraint| match *constraint {
            Constraint::Null(param) => state.params[param].is_none_or(|value| value.is_none()),
            Constraint::Neq(a, b) => state.params[a].zip(state.params[b]).is_none_or(|(a, b)| a == b),
            Constraint::OutNeq(a, b) => output(a).zip(output(b)).is_none_or(|(a, b)| a != b),
        })
    }

    /// Whether a complete question may be kept.
    fn is_wanted(&self, wanted: &Wanted<'_>, state: &State, slot: Option<Slot>) -> bool {
        let mentions = || wanted.holdout.is_some_and(|holdout| state.mentions(holdout));
        (wanted.answers)(state.answer())
            && !self.is_degenerate(state)
            && match wanted.rule {
                QuestionRule::Any => true,
                QuestionRule::Without => !mentions(),
                QuestionRule::Unimplied => !wanted.holdout.is_some_and(|h| h.is_implied_in(&state.program())),
                QuestionRule::With => {
                    mentions()
                        && slot.zip(wanted.holdout).is_none_or(|(slot, holdout)| self.is_in_slot(state, slot, holdout))
                }
            }
    }

    /// Whether the answer stays the same without one of the relations, if the rules ask for this check.
    fn is_degenerate(&self, state: &State) -> bool {
        self.has_raw_relate
            && (0..state.steps.len()).filter(|&i| state.steps[i].function == Function::Relate).any(|i| {
                let mut changed = state.steps.clone();
                changed[i] = Step { function: Function::Scene, argument: 0, inputs: [0, 0] };
                run(&changed, self.scene).as_ref() == state.values.last()
            })
    }

    /// The options of a node with parameters on an input.
    fn offer(&self, at: usize, input: &Value) -> Rc<Offer> {
        let mut offers = self.offers.borrow_mut();
        Rc::clone(offers.entry((at, input.clone())).or_insert_with(|| Rc::new(self.list_offer(at, input))))
    }

    fn list_offer(&self, at: usize, input: &Value) -> Offer {
        let node = &self.nodes[at];
        let is = |names: &[&str]| names.contains(&node.kind.as_str());
        if is(&["filter", "filter_unique", "filter_count", "filter_exist"]) {
            let Value::Set(input) = input else { panic!("{} on {input:?}", node.kind) };
            self.filter_offer(&node.kind, input)
        } else if is(&["relate_filter", "relate_filter_unique", "relate_filter_count", "relate_filter_exist"]) {
            let Value::Object(input) = input else { panic!("{} on {input:?}", node.kind) };
            self.relate_filter_offer(&node.kind, *input)
        } else if is(&["relate", "verify_relation", "count_is"]) {
            let n = if is(&["count_is"]) { self.vocab.largest_count() + 1 } else { RELATION_NAMES.len() as u8 };
            let always = (0..n).map(|r| [Some(r), None, None, None, None]).collect();
            Offer { always, ..Offer::default() }
        } else {
            let kind = self.vocab.type_index(node.kind.split_once('_').unwrap().1).unwrap();
            let always = (0..self.vocab.n_values(kind) as u8)
                .map(|value| {
                    let mut option = [None; 5];
                    option[kind + 1] = Some(value);
                    option
                })
                .collect();
            Offer { always, ..Offer::default() }
        }
    }

    fn filter_offer(&self, kind: &str, input: &[u8]) -> Offer {
        let mut options = self.options.clone();
        options.values_mut().for_each(|objects| objects.retain(|o| input.contains(o)));
        if kind == "filter" {
            options.remove(&[None; 4]);
        }
        let singles = options.values().filter(|objects| objects.len() == 1).count();
        let wanted = match kind {
            "filter_unique" => 0,
            "filter_exist" => options.len(),
            _ => singles,
        };
        if kind == "filter_unique" {
            options.retain(|_, objects| objects.len() == 1);
        }
        let option = |combination: &Combination| choice(None, combination);
        let absent: Vec<Choice> =
            self.combinations().iter().filter(|c| !self.options.contains_key(*c)).map(option).collect();
        Offer { always: options.keys().map(option).collect(), drawn: wanted.min(absent.len()), some_of: absent }
    }

    fn relate_filter_offer(&self, kind: &str, object: u8) -> Offer {
        let mut offer = Offer::default();
        for relation in 0..RELATION_NAMES.len() {
            let related = &self.scene.related[relation][usize::from(object)];
            for (combination, objects) in &self.options {
                let left: Vec<u8> = objects.iter().copied().filter(|o| related.contains(o)).collect();
                if kind == "relate_filter_unique" && left.len() != 1 || kind == "relate_filter" && left.is_empty() {
                    continue;
                }
                let option = choice(Some(relation as u8), combination);
                if left == *objects { offer.some_of.push(option) } else { offer.always.push(option) }
            }
        }
        // A tenth of all options are trivial.
        let tenth = (offer.always.len() as f64 * 0.1 / 0.9).round() as usize;
        offer.drawn = tenth.min(offer.some_of.len());
        offer
    }

    /// All possible combinations.
    fn combinations(&self) -> Vec<Combination> {
        let values = |kind: usize| (0..self.vocab.n_values(kind) as u8).map(Some).chain([None]);
        let mut all = vec![[None; 4]];
        for kind in 0..4 {
            all = all
                .iter()
                .flat_map(|c| {
                    values(kind).map(move |value| {
                        let mut next = *c;
                        next[kind] = value;
                        next
                    })
                })
                .collect();
        }
        all
    }
}

impl State {
    fn answer(&self) -> u32 {
        match self.values.last() {
            Some(Value::Word(answer)) => *answer,
            other => panic!("{other:?} is no answer"),
        }
    }

    fn mentions(&self, holdout: &Holdout) -> bool {
        holdout.is_mentioned_in(&self.program())
    }

    fn program(&self) -> Program {
        Program { steps: self.steps.clone() }
    }
}

fn choice(relation: Option<u8>, combination: &Combination) -> Choice {
    let [size, color, material, shape] = *combination;
    [relation, size, color, material, shape]
}

/// Executes a program step by step and returns its last output; None if a step has no value.
pub fn run(steps: &[Step], scene: &TestScene) -> Option<Value> {
    let mut values: Vec<Value> = Vec::new();
    for step in steps {
        let inputs: Vec<&Value> = step.sources().iter().map(|&i| &values[usize::from(i)]).collect();
        let value = apply(step.function, step.argument, &inputs, scene)?;
        values.push(value);
    }
    values.pop()
}

/// The meaning of a function, on lists of objects.
fn apply(function: Function, argument: u8, inputs: &[&Value], scene: &TestScene) -> Option<Value> {
    use Value::{Object, Set, Word};
    let everything = || 0..scene.objects.len() as u8;
    let value_of = |object: u8, kind: u8| scene.objects[usize::from(object)][usize::from(kind)];
    Some(match (function, inputs) {
        (Function::Scene, []) => Set(everything().collect()),
        (Function::Filter(kind), [Set(set)]) => {
            Set(set.iter().copied().filter(|&o| value_of(o, kind) == argument).collect())
        }
        (Function::Unique, [Set(set)]) => match set.as_slice() {
            [object] => Object(*object),
            _ => return None,
        },
        (Function::Relate, [Object(o)]) => Set(scene.related[usize::from(argument)][usize::from(*o)].clone()),
        (Function::Union, [Set(a), Set(b)]) => Set(everything().filter(|o| a.contains(o) || b.contains(o)).collect()),
        (Function::Intersect, [Set(a), Set(b)]) => {
            Set(everything().filter(|o| a.contains(o) && b.contains(o)).collect())
        }
        (Function::Count, [Set(set)]) => Word(set.len() as u32),
        (Function::Exist, [Set(set)]) => Word(u32::from(!set.is_empty())),
        (Function::Query(kind), [Object(o)]) => Word(u32::from(value_of(*o, kind))),
        (Function::Same(kind), [Object(o)]) => {
            Set(everything().filter(|&other| other != *o && value_of(other, kind) == value_of(*o, kind)).collect())
        }
        (Function::Equal(_) | Function::EqualInteger, [Word(a), Word(b)]) => Word(u32::from(a == b)),
        (Function::EqualObject, [Object(a), Object(b)]) => Word(u32::from(a == b)),
        (Function::LessThan, [Word(a), Word(b)]) => Word(u32::from(a < b)),
        (Function::GreaterThan, [Word(a), Word(b)]) => Word(u32::from(a > b)),
        (Function::Subtraction, [Word(a), Word(b)]) => Word(a.checked_sub(*b)?),
        (Function::And, [Word(a), Word(b)]) => Word(u32::from(*a == 1 && *b == 1)),
        (Function::Or, [Word(a), Word(b)]) => Word(u32::from(*a == 1 || *b == 1)),
        (Function::Not, [Word(truth)]) => Word(u32::from(*truth == 0)),
        (Function::Verify(kind), [Object(o)]) => Word(u32::from(value_of(*o, kind) == argument)),
        (Function::Offer(_), [Object(o)]) => Object(*o),
        (Function::CountIs, [Word(n)]) => Word(u32::from(*n == u32::from(argument))),
        (Function::VerifyRelation, [Object(a), Object(b)]) => {
            Word(u32::from(scene.related[usize::from(argument)][usize::from(*b)].contains(a)))
        }
        (function, inputs) => panic!("{function} on {inputs:?}"),
    })
}
