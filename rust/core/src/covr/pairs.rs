//! Makes pairs of questions: one text, two sets of images, two different answers.

use super::distractors::{Distractors, ImageSet, Kinds, WindowScenes};
use super::matching::{Pattern, Rows, members};
use super::meaning::Meaning;
use super::rule::{DistractorChoice, PairPlace, SetRule};
use super::sample::Wanted;
use super::schedule::{Cell, Variant};
use super::template::Template;
use crate::holdout::Holdout;
use crate::program::{Program, execute_on_set};
use crate::rng::{StreamRng, mix};
use crate::scene::{MAX_IMAGES, SceneSet, SceneView};
use crate::vocab::{Answer, Vocabulary};

/// The number of times that sets are assembled for a meaning before the attempt fails.
const ASSEMBLIES: u32 = 3;

/// A question about a set of images.
#[derive(Clone, Debug, PartialEq)]
pub struct SetQuestion {
    pub meaning: Meaning,
    pub program: Program,
    pub answer: Answer,
    /// The scenes' indices in their pool, in the order of the set.
    pub scenes: [u64; MAX_IMAGES],
    pub n_images: u8,
    /// The place in the set of the source image, the first that was chosen for showing what the question describes.
    pub source: u8,
    pub cut: Cut,
    pub place: PairPlace,
    /// The number of its phrasing.
    pub phrasing: u16,
}

/// What a question loses when the last leaf of its description is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// There is no leaf.
    Exempt = -1,
    Nothing = 0,
    /// The answer is lost or changes.
    Answer = 1,
    /// The answer stays, but each of the numbers that it follows from is lost or changes.
    Numbers = 2,
}

/// Makes pairs from the scenes of one window.
pub(super) struct Maker<'a> {
    pub vocab: &'a Vocabulary,
    pub rows: Rows,
    pub rule: &'a SetRule,
    pub holdout: Option<&'a Holdout>,
    pub scenes: WindowScenes<'a>,
    /// The scenes' indices in their pool.
    pub indices: &'a [u64],
}

/// One attempt at a pair.
pub(super) struct Attempt<'m, 'a> {
    pub maker: &'m Maker<'a>,
    pub rng: StreamRng,
    pub place: PairPlace,
}

impl<'a> Attempt<'_, 'a> {
    /// Makes the pair of a cell; None if this attempt failed.
    pub fn pair(&mut self, cell: Cell) -> Option<[SetQuestion; 2]> {
        let Cell { template, structure, variant } = cell;
        match variant {
            Variant::Values { kind, values } => match template {
                Template::QueryObject | Template::ChooseObject => self.object(template, structure, values),
                _ => self.attribute(template, structure, kind, values),
            },
            Variant::Kind(kind) if template == Template::VerifySameAttr => self.same_attribute(structure, kind),
            Variant::Kind(kind) => self.all_same(structure, kind),
            Variant::Compare(counted, comparison) => self.compare(structure, counted, comparison),
            Variant::Count { counted, answers } => self.count(structure, counted, answers),
            Variant::VerifyCount { counted, bound, number, counts } => {
                self.verify_count(structure, counted, (bound, number), counts)
            }
            Variant::CountGroups { of_image, answers } => self.count_groups(structure, of_image, None, answers),
            Variant::VerifyCountGroups { of_image, bound, number, counts } => {
                self.count_groups(structure, of_image, Some((bound, number)), counts)
            }
            Variant::Logic(connective) => self.logic(structure, connective),
            Variant::Quantifier { quantifier, value_of } => self.quantifier(structure, quantifier, value_of),
            Variant::Axis(relation) => self.relation(structure, relation),
        }
    }

    pub(super) fn n_scenes(&self) -> usize {
        self.maker.scenes.views.len()
    }

    pub(super) fn view(&self, scene: usize) -> SceneView<'a> {
        self.maker.scenes.views[scene]
    }

    /// The requirements on a subgraph that is drawn.
    pub(super) fn wanted(&self, structure: super::Structure, asked: Option<u8>) -> Wanted<'a> {
        let named = self.maker.holdout.filter(|_| self.place == PairPlace::Mentioned);
        Wanted { structure, asked, named }
    }

    /// Whether a scene may show what the question describes. If only distractors are to show the held-out pair, the
    /// scene must be without it.
    pub(super) fn may_show(&self, scene: usize) -> bool {
        self.place != PairPlace::Distractor || !self.maker.scenes.have_pair[scene]
    }

    /// The first scene, starting from a random one, that passes a test and may show what the question describes.
    pub(super) fn scene(&mut self, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let n = self.n_scenes();
        let first = self.rng.below(n as u32) as usize;
        (first..n).chain(0..first).find(|&scene| self.may_show(scene) && is_wanted(scene))
    }

    /// The objects that a pattern describes, in each scene of the window.
    pub(super) fn members(&self, pattern: &Pattern) -> Vec<u32> {
        self.maker.scenes.views.iter().map(|&view| pattern.members(view, &self.maker.rows)).collect()
    }

    /// The scenes that may show what the question describes and pass a test.
    pub(super) fn scenes(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<u8> {
        let wanted = (0..self.n_scenes()).filter(|&scene| self.may_show(scene) && is_wanted(scene));
        wanted.map(|scene| scene as u8).collect()
    }

    /// Whether the split's rule allows the question, by the values that it mentions and by the half its program is in.
    pub(super) fn may_ask(&self, meaning: &Meaning) -> bool {
        let program = meaning.program();
        let Maker { rule, holdout, .. } = self.maker;
        let is_of_split = rule.half.is_none_or(|half| hash(&program) & 1 == u64::from(half));
        let Some(holdout) = holdout.filter(|_| is_of_split) else { return is_of_split };
        let names_absent = holdout.absent().is_some_and(|absent| absent.is_named_in(&program));
        !names_absent
            && match self.place {
                PairPlace::Mentioned => holdout.is_mentioned_in(&program),
                PairPlace::Nowhere | PairPlace::Distractor if rule.implied => !holdout.is_implied_in(&program),
                PairPlace::Nowhere | PairPlace::Distractor => !holdout.is_mentioned_in(&program),
            }
    }

    /// The window's distractors of some kinds.
    pub(super) fn distractors(
        &mut self,
        kinds: &Kinds,
        is_free: impl Fn(usize) -> bool,
        contradicts: impl Fn(SceneView<'_>, u32) -> [bool; 2],
    ) -> Distractors {
        let Maker { scenes, rows, rule, .. } = self.maker;
        match rule.distractors {
            DistractorChoice::Edited => Distractors::find(&mut self.rng, *scenes, rows, kinds, is_free, contradicts),
            DistractorChoice::Random => Distractors::random(&mut self.rng, *scenes, is_free),
        }
    }

    /// Assembles both sets: the images that `shown` returns for each question, filled up with distractors, the first of
    /// which contradicts the answer if `contradicts`. `shown` gets the number of images and the question's number.
    pub(super) fn finish(
        &mut self,
        meaning: Meaning,
        distractors: &Distractors,
        contradicts: bool,
        mut shown: impl FnMut(&mut StreamRng, usize, usize) -> Option<ImageSet>,
    ) -> Option<[SetQuestion; 2]> {
        let contradicts = contradicts && self.maker.rule.distractors == DistractorChoice::Edited;
        if contradicts && ![0, 1].into_iter().all(|question| distractors.some_contradicts(question)) {
            return None;
        }
        let shows_pair = self.place == PairPlace::Distractor;
        let program = meaning.program();
        for _ in 0..ASSEMBLIES {
            let n = n_images(&mut self.rng);
            let mut set = |question| {
                let mut set = shown(&mut self.rng, n, question)?;
                let must = (question, contradicts);
                distractors.fill(&mut self.rng, self.maker.scenes, &mut set, n, must, shows_pair)?;
                set.fits(self.maker.scenes).then_some(set)
            };
            if let (Some(first), Some(second)) = (set(0), set(1))
                && let Some(pair) = self.questions(meaning, &program, [first, second])
            {
                return Some(pair);
            }
        }
        None
    }

    /// The questions about two sets, if they have different answers and no relation is superfluous.
    fn questions(&mut self, meaning: Meaning, program: &Program, sets: [ImageSet; 2]) -> Option<[SetQuestion; 2]> {
        let [first, second] = sets.map(|set| self.question(meaning, program, set));
        let mut pair = [first?, second?];
        if pair[0].answer == pair[1].answer {
            return None;
        }
        if self.rng.coin() {
            pair.swap(0, 1);
        }
        Some(pair)
    }

    fn question(&mut self, meaning: Meaning, program: &Program, mut set: ImageSet) -> Option<SetQuestion> {
        let source = set.shuffle(&mut self.rng) as u8;
        let views = set.scenes().iter().map(|&scene| self.view(usize::from(scene)));
        let scenes = SceneSet::new(views).ok()?;
        let answer = execute_on_set(program, &scenes, self.maker.vocab).ok()?;
        let cut = self.cut(meaning, answer, &scenes);
        let must_change = self.maker.rule.distractors == DistractorChoice::Edited && needs_its_leaf(meaning.template());
        if must_change && (cut == Cut::Nothing || cut == Cut::Answer && !self.each_number_changes(meaning, &scenes)) {
            return None;
        }
        let mut indices = [0; MAX_IMAGES];
        for (index, &scene) in indices.iter_mut().zip(set.scenes()) {
            *index = self.maker.indices[usize::from(scene)];
        }
        Some(SetQuestion {
            meaning,
            program: program.clone(),
            answer,
            scenes: indices,
            n_images: set.n() as u8,
            source,
            cut,
            place: self.place,
            phrasing: 0,
        })
    }

    /// What is lost or changes when the last leaf is cut.
    fn cut(&self, meaning: Meaning, answer: Answer, scenes: &SceneSet<'_>) -> Cut {
        let Some(cut) = meaning.cut() else { return Cut::Exempt };
        if execute_on_set(&cut.program(), scenes, self.maker.vocab) != Ok(answer) {
            return Cut::Answer;
        }
        let has_numbers = meaning.counts().iter().any(Option::is_some);
        if has_numbers && self.each_number_changes(meaning, scenes) { Cut::Numbers } else { Cut::Nothing }
    }

    /// Whether each of the numbers that the answer follows from is lost or changes when the last leaf is cut; true if
    /// it follows from none.
    fn each_number_changes(&self, meaning: Meaning, scenes: &SceneSet<'_>) -> bool {
        let Some(cut) = meaning.cut() else { return true };
        let executed = |meaning: &Meaning| execute_on_set(&meaning.program(), scenes, self.maker.vocab);
        let mut counts = meaning.counts().into_iter().zip(cut.counts());
        counts.all(|(whole, cut)| whole.zip(cut).is_none_or(|(whole, cut)| executed(&whole) != executed(&cut)))
    }
}

/// Whether a question of a template must lose or change its answer, or its numbers, when its last leaf is cut. This
/// applies to all templates but those whose answer a single image can decide.
fn needs_its_leaf(template: Template) -> bool {
    !matches!(template, Template::VerifyLogic | Template::VerifyQuantifier | Template::VerifyQuantifierAttr)
}

/// Draws the number of images in a set. The mean is 4.3, and 4.4 for the sets that become questions, as in COVR:
/// small sets fail more often.
fn n_images(rng: &mut StreamRng) -> usize {
    match rng.below(20) {
        0..10 => 5,
        10..16 => 4,
        _ => 3,
    }
}

/// A hash of a program, the same on every machine.
fn hash(program: &Program) -> u64 {
    program.steps.iter().fold(0, |hash, step| {
        let [a, b] = step.inputs;
        let rest = u64::from(u32::from_le_bytes([step.argument, a, b, 0]));
        mix(hash ^ mix((step.function.number() as u64) << 32 | rest))
    })
}

/// Adds a random scene of a list that is not in the set yet.
pub(super) fn add(rng: &mut StreamRng, set: &mut ImageSet, list: &[u8]) -> Option<()> {
    if list.is_empty() {
        return None;
    }
    (0..4).find_map(|_| set.push(list[rng.below(list.len() as u32) as usize]))
}

/// Whether some object of a set passes a test, which gets its number.
pub(super) fn some(set: u32, is_so: impl Fn(usize) -> bool) -> bool {
    members(set).any(is_so)
}
