//! The walk over a line: every command, with what is known when it runs.
//!
//! Two things are done at once and never mixed. What is *followed* is complete or says that it isn't;
//! only a complete walk proves anything safe. What is *possible* (text that would be code if a program
//! ran it) can only add danger.

mod call;
mod compound;
mod contents;
mod fallback;
pub(crate) mod prescan;
mod redirect;
mod simple;
mod state;

use std::collections::BTreeMap;
use std::ops::Range;

use rable::Node;

pub(crate) use call::Call;
pub(crate) use compound::flat;
pub(crate) use fallback::candidates;
pub(crate) use redirect::runs_remote;
pub(crate) use state::{Sink, State, named};

use crate::effect::{Analysis, Certainty, Completeness, Effect, Role, Step, What};
use crate::judge;
use crate::limits::{MAX_DEPTH, MAX_EFFECTS, MAX_PARSED, MAX_STEPS};
use crate::place::{self, Target};
use crate::rules::{self, Answer, Rule};
use crate::value::{Field, Out, Taint};
use crate::world::World;

/// The walk's own notes.
pub(crate) struct Machine<'w> {
    pub(crate) world: &'w World,
    effects: Vec<Effect>,
    steps: Vec<Step>,
    reasons: Vec<String>,
    fuel: usize,
    parsed: usize,
    pub(crate) depth: usize,
    nesting: usize,
    span: Range<usize>,
    by: String,
    certainty: Certainty,
    unwrapped: Option<String>,
    /// The command whose arguments are looked at.
    current: Option<usize>,
    /// Functions that are being followed.
    pub(crate) calls: Vec<String>,
    /// Whether the text that is walked is the line itself, whose spans count.
    outermost: bool,
    source: String,
    /// Whether what runs now runs beside what comes next, as in a pipeline or behind `&`.
    pub(crate) beside: usize,
    /// How many effects there were when a file's content was last known.
    held: BTreeMap<String, usize>,
    /// How many effects there were when files may last have changed that nobody names.
    turned: usize,
    /// For each function that is walked, the variables that are its own.
    pub(crate) locals: Vec<Vec<String>>,
    /// How often a way out was met: `return`, `break`, `exit`.
    pub(crate) left: usize,
    /// How deep suspicions lie in each other.
    pub(crate) suspicions: usize,
}

/// Looks at a line.
pub(crate) fn analyse(line: &str, world: &World) -> Analysis {
    let mut machine = Machine {
        world,
        effects: Vec::new(),
        steps: Vec::new(),
        reasons: Vec::new(),
        fuel: MAX_STEPS,
        parsed: 0,
        depth: 0,
        nesting: 0,
        span: 0..line.len(),
        by: String::new(),
        certainty: Certainty::Followed,
        unwrapped: None,
        current: None,
        calls: Vec::new(),
        outermost: true,
        source: line.to_owned(),
        beside: 0,
        held: BTreeMap::new(),
        turned: 0,
        left: 0,
        locals: Vec::new(),
        suspicions: 0,
    };
    let mut state = State::new(world);
    if prescan::has_hidden(line) {
        machine.act(&rules::opaque::HIDDEN);
    }
    machine.code(line, &mut state);
    if line.contains('\r') {
        // Other shells take a carriage return for the end of a line.
        let state = State::new(world);
        machine.suspect(&line.replace('\r', ""), &state);
    }
    if crate::programs::unleashes(line, &machine.effects) {
        machine.act(&rules::privilege::UNASKED);
    }
    let completeness = if machine.reasons.is_empty() {
        Completeness::Complete
    } else {
        Completeness::Partial(machine.reasons)
    };
    Analysis {
        effects: machine.effects,
        completeness,
        steps: machine.steps,
    }
}

impl Machine<'_> {
    /// Takes one step; false when there are no more.
    pub(crate) fn step(&mut self) -> bool {
        match self.fuel.checked_sub(1) {
            Some(left) => {
                self.fuel = left;
                true
            }
            None => {
                self.limit("more steps than are followed");
                false
            }
        }
    }

    /// Takes several steps at once.
    pub(crate) fn spend(&mut self, steps: usize) {
        self.fuel = self.fuel.saturating_sub(steps);
    }

    /// Says that something wasn't followed.
    pub(crate) fn partial(&mut self, reason: &str) {
        if self.certainty == Certainty::Possible {
            return;
        }
        if self.reasons.len() < 8 && !self.reasons.iter().any(|known| known == reason) {
            self.reasons.push(reason.to_owned());
        }
    }

    fn limit(&mut self, reason: &str) {
        self.partial(reason);
        let known = self
            .effects
            .iter()
            .any(|effect| matches!(effect.what, What::Act(rule) if rule == &rules::opaque::LIMIT));
        if !known {
            self.act(&rules::opaque::LIMIT);
        }
    }

    fn effect(&mut self, what: What) {
        if self.effects.len() >= MAX_EFFECTS {
            self.partial("more effects than are kept");
            // What is denied is kept all the same.
            if judge::answer(&what) != Answer::Deny || self.effects.len() >= 2 * MAX_EFFECTS {
                return;
            }
        }
        self.effects.push(Effect {
            what,
            span: self.span.clone(),
            by: self.by.clone(),
            certainty: self.certainty,
            unwrapped: self.unwrapped.clone(),
            step: self.current,
        });
    }

    /// Notes an act that has a rule.
    pub(crate) fn act(&mut self, rule: &'static Rule) {
        self.effect(What::Act(rule));
    }

    /// Notes the use of a path, and says where it lands.
    pub(crate) fn path(&mut self, role: Role, field: &Field, state: &State) -> Target {
        // Telling where a path lands costs more than a word.
        self.spend(3);
        let target = self.target(field, state);
        if role != Role::Read || target.place != place::Place::Stream {
            self.effect(What::Path {
                role,
                target: target.clone(),
            });
        }
        target
    }

    pub(crate) fn target(&self, field: &Field, state: &State) -> Target {
        place::target(field, state.cwd.as_deref(), self.world, &state.links)
    }

    /// Notes that the network is used.
    pub(crate) fn network(&mut self, host: Option<String>) {
        self.effect(What::Network { host });
    }

    /// Notes that a program runs all of whose effects are listed.
    pub(crate) fn ran(&mut self, program: &str) {
        self.effect(What::Run {
            program: program.to_owned(),
        });
    }

    /// Runs text as shell code in the given state.
    pub(crate) fn code(&mut self, text: &str, state: &mut State) {
        if self.depth >= MAX_DEPTH {
            self.limit("code in code deeper than is followed");
            return;
        }
        let checked = match prescan::check(text) {
            Ok(checked) => checked,
            Err(reason) => {
                self.limit(reason);
                self.pieces(text, state);
                return;
            }
        };
        self.parsed += text.len() + 16;
        if self.parsed > MAX_PARSED {
            self.limit("more code than is followed");
            return;
        }
        let Some(nodes) = checked.parse() else {
            self.partial("not complete shell syntax");
            self.act(&rules::opaque::SYNTAX);
            self.pieces(text, state);
            return;
        };
        self.depth += 1;
        for node in &nodes {
            self.node(node, state);
        }
        self.depth -= 1;
    }

    /// Runs text that was found inside the line: its spans are not the line's.
    pub(crate) fn inner(&mut self, text: &str, state: &mut State) {
        let outermost = std::mem::replace(&mut self.outermost, false);
        let unwrapped = self.unwrapped.replace(text.chars().take(400).collect());
        self.code(text, state);
        self.unwrapped = unwrapped;
        self.outermost = outermost;
    }

    /// The output of code that runs in a shell of its own.
    pub(crate) fn capture(&mut self, text: &str, state: &State) -> Out {
        let mut inside = state.clone();
        inside.output = Out::empty();
        self.inner(text, &mut inside);
        inside.output
    }

    /// Looks for danger in text that may be code. Nothing but denials come of it.
    pub(crate) fn suspect(&mut self, text: &str, state: &State) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        let mut inside = state.clone();
        self.possibly(|machine| machine.inner(text, &mut inside));
    }

    /// Looks for danger in the part that is known of text that runs. Its commands are listed, so that
    /// they can be denied by name; none of them runs as it would by itself.
    pub(crate) fn suspect_listed(&mut self, text: &str, state: &State) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        let first = self.steps.len();
        let mut inside = state.clone();
        inside.sets_variables = true;
        self.possible(|machine| machine.inner(text, &mut inside));
        for step in self.steps.iter_mut().skip(first) {
            step.plain = false;
        }
    }

    /// Runs a part of the walk that only counts where it finds danger.
    pub(crate) fn possibly(&mut self, walk: impl FnOnce(&mut Self)) {
        let (count, steps) = (self.effects.len(), self.steps.len());
        self.possible(walk);
        // The commands that were only possible go, and with them what the effects say of them: another
        // command would come to stand in their place.
        for effect in self.effects.iter_mut().skip(count) {
            effect.step = effect.step.filter(|step| *step < steps);
        }
        self.steps.truncate(steps);
    }

    fn possible(&mut self, walk: impl FnOnce(&mut Self)) {
        let count = self.effects.len();
        let certainty = std::mem::replace(&mut self.certainty, Certainty::Possible);
        self.suspicions += 1;
        walk(self);
        self.suspicions -= 1;
        self.certainty = certainty;
        let found = self.effects.split_off(count.min(self.effects.len()));
        let denied = found
            .into_iter()
            .filter(|effect| judge::answer(&effect.what) == Answer::Deny);
        self.effects.extend(denied);
    }

    /// Whether anything was denied so far.
    pub(crate) fn is_denied(&self) -> bool {
        self.effects
            .iter()
            .any(|effect| judge::answer(&effect.what) == Answer::Deny)
    }

    /// Runs a word as shell code, as far as it is known.
    pub(crate) fn code_word(&mut self, field: &Field, state: &mut State) {
        if let Some(text) = field.known() {
            let text = text.into_owned();
            self.inner(&text, state);
            return;
        }
        if let Some(text) = field.guess() {
            self.suspect_listed(&text, state);
        } else {
            let prefix = field.prefix();
            if !prefix.trim().is_empty() {
                self.suspect_listed(&prefix, state);
            }
        }
        self.unseen(field.taint());
    }

    /// Notes that text runs which isn't seen.
    pub(crate) fn unseen(&mut self, taint: Taint) {
        self.act(if taint.has(Taint::LINE) {
            &rules::network::REVERSE_SHELL
        } else if taint.has(Taint::REMOTE) {
            &rules::network::REMOTE_CODE
        } else {
            &rules::opaque::VALUE
        });
    }

    /// Where a node of the line itself stands.
    fn locate(&mut self, node: &Node) {
        if !self.outermost || node.span.is_empty() {
            return;
        }
        let byte = |index: usize| {
            if self.source.is_ascii() {
                index.min(self.source.len())
            } else {
                self.source
                    .char_indices()
                    .nth(index)
                    .map_or(self.source.len(), |(at, _)| at)
            }
        };
        self.span = byte(node.span.start)..byte(node.span.end);
    }
}
