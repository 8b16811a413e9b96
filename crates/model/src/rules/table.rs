//! The rules of one service, compiled. It finds and chooses; what follows from that is the plane's matter.

use std::borrow::Cow;

use super::ask::{Facts, Found, View};
use super::check::{Asked, Check};
use super::edit::{AnswerEdits, Edits};
use super::index::{Index, Keys, looked_up};
use crate::config::template::Template;
use crate::config::{
    Action, Condition, Forward, PathCase, PathNormalization, Rule, Service, WithoutServers,
};
use crate::head::Head;
use crate::path::{Readings, normal_form, readings};

/// The rules of a service.
#[derive(Debug)]
pub struct Table {
    rules: Vec<Compiled>,
    pools: Vec<String>,
    index: Index,
    /// Some condition looks at the name that a TLS client asks for.
    wants_sni: bool,
    /// Some condition looks at paths.
    wants_path: bool,
    /// Some condition looks at the time of day.
    wants_time: bool,
    normalization: PathNormalization,
    case: PathCase,
}

/// One rule.
#[derive(Debug)]
pub struct Compiled {
    /// Its name, or `rule-N`.
    pub name: String,
    /// What it does.
    pub todo: Todo,
    /// Where copies go: a pool, percent, at a time per worker.
    pub mirror: Option<(usize, u8, u32)>,
    /// What is changed in the request.
    pub edits: Option<Edits>,
    /// What is changed in the answer.
    pub answer_edits: AnswerEdits,
    check: Check,
    without: WithoutServers,
    /// It refuses: `deny`, or an answer of its own that is an error.
    refuses: bool,
}

/// What a rule does; pools by their position in `Table::pools`.
#[derive(Debug)]
pub enum Todo {
    /// A pool takes it.
    Pool(usize),
    /// One of these does, by weight, whose sum is the second.
    Split(Vec<(usize, u32)>, u64),
    /// The client is sent elsewhere.
    Redirect(Template, u16),
    /// The fixed answer of the configuration.
    Answer,
    /// Refused.
    Deny,
}

impl Table {
    /// Of a service's rules; `None`: it has none.
    pub fn new(service: &Service) -> Option<Table> {
        if service.rules.is_empty() {
            return None;
        }
        let mut pools = vec![service.pool.clone()];
        let case = service.path_case;
        let key = |rule: &Rule| match service.forward {
            Forward::Http => Keys::of(&rule.when, case),
            _ => Keys::of_connection(&rule.when),
        };
        let keys: Vec<Keys> = service.rules.iter().map(key).collect();
        let rules: Vec<Compiled> = service
            .rules
            .iter()
            .enumerate()
            .map(|(at, rule)| Compiled::new(at, rule, case, &mut pools))
            .collect();
        Some(Table {
            wants_sni: asks(service, &|one| matches!(one, Condition::Sni(_))),
            wants_time: asks(service, &|one| matches!(one, Condition::Time(..))),
            wants_path: asks(service, &|one| {
                matches!(one, Condition::Path(_) | Condition::PathRegex(_))
            }),
            rules,
            pools,
            index: Index::new(&keys),
            normalization: service.path_normalization,
            case,
        })
    }

    /// Names of the pools that rules speak of; the first one is the service's.
    pub fn pools(&self) -> &[String] {
        &self.pools
    }

    /// The rules in their order.
    pub fn rules(&self) -> &[Compiled] {
        &self.rules
    }

    /// Whether a condition looks at the name that a TLS client asks for.
    pub fn wants_sni(&self) -> bool {
        self.wants_sni
    }

    /// Whether a condition looks at the time of day.
    pub fn wants_time(&self) -> bool {
        self.wants_time
    }

    /// Whether letter case counts in paths.
    pub fn case(&self) -> PathCase {
        self.case
    }

    /// What servers may take a request's path for, as far as rules are asked for it.
    pub fn readings(&self, head: &Head<'_>) -> Readings {
        let judged = self.wants_path && self.normalization != PathNormalization::Raw;
        if !judged || head.path_is_plain() {
            return Readings::One;
        }
        readings(head.raw_path())
    }

    /// The path that rules compare where there is one reading.
    fn path<'v>(&self, view: &View<'v>) -> Cow<'v, [u8]> {
        let Some(head) = view.head else { return Cow::Borrowed(b"") };
        let path = match self.normalization {
            PathNormalization::Raw => head.raw_path(),
            _ => head.path(),
        };
        match self.case {
            PathCase::Exact => Cow::Borrowed(path),
            PathCase::Ignore => Cow::Owned(looked_up(path.to_vec(), PathCase::Ignore)),
        }
    }

    fn name<'v>(view: &View<'v>) -> &'v [u8] {
        match view.head {
            Some(head) => head.host(),
            None => view.sni.unwrap_or_default().as_bytes(),
        }
    }

    /// The first rule that fits.
    pub fn find(&self, view: &View<'_>, facts: &dyn Facts) -> Found {
        match view.head.map_or(Readings::One, |head| self.readings(head)) {
            Readings::One => {
                let path = self.path(view);
                let mut candidates = self.index.candidates(Table::name(view), &path);
                candidates
                    .find_map(|at| self.ask(at as usize, &[&path], view, facts))
                    .unwrap_or(Found::Nothing)
            }
            Readings::Several(paths) => self.find_among(paths, view, facts),
            Readings::TooMany => Found::Ambiguous(None),
        }
    }

    /// The first rule that fits a path which can be read in several ways.
    #[cold]
    fn find_among(&self, paths: Vec<Vec<u8>>, view: &View<'_>, facts: &dyn Facts) -> Found {
        let paths: Vec<Vec<u8>> =
            paths.into_iter().map(|path| looked_up(path, self.case)).collect();
        let paths: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
        let name = Table::name(view);
        let mut all: Vec<u32> =
            paths.iter().flat_map(|path| self.index.candidates(name, path)).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter()
            .find_map(|at| self.ask(at as usize, &paths, view, facts))
            .unwrap_or(Found::Nothing)
    }

    /// The same, rule after rule: what `find` must come to.
    pub fn scan(&self, view: &View<'_>, facts: &dyn Facts) -> Found {
        let mut all = 0..self.rules.len();
        let found = match view.head.map_or(Readings::One, |head| self.readings(head)) {
            Readings::One => {
                let path = self.path(view);
                all.find_map(|at| self.ask(at, &[&path], view, facts))
            }
            Readings::Several(paths) => {
                let each = paths.into_iter().map(|path| looked_up(path, self.case));
                let paths: Vec<Vec<u8>> = each.collect();
                let paths: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
                all.find_map(|at| self.ask(at, &paths, view, facts))
            }
            Readings::TooMany => Some(Found::Ambiguous(None)),
        };
        found.unwrap_or(Found::Nothing)
    }

    /// What refuses fires if one reading fits, everything else only if all do.
    fn ask(&self, at: usize, paths: &[&[u8]], view: &View<'_>, facts: &dyn Facts) -> Option<Found> {
        let rule = self.rules.get(at)?;
        let refuses = rule.refuses;
        let asked = Asked { rule: at, pool: rule.main_pool(), refuses, view, facts };
        let fit = rule.check.fit(&asked, paths);
        if fit.possible.none() {
            return None;
        }
        if refuses || fit.sure.every(paths.len()) {
            return rule.taken(at, facts);
        }
        Some(match fit.possible.every(paths.len()) {
            true => Found::AmbiguousRequest(at),
            false => Found::Ambiguous(Some(at)),
        })
    }
}

impl Compiled {
    fn new(at: usize, rule: &Rule, case: PathCase, pools: &mut Vec<String>) -> Compiled {
        let mut pool = |name: &str| match pools.iter().position(|known| known == name) {
            Some(at) => at,
            None => {
                pools.push(name.to_owned());
                pools.len() - 1
            }
        };
        let todo = match &rule.action {
            Action::Pool(None) => Todo::Pool(0),
            Action::Pool(Some(name)) => Todo::Pool(pool(name)),
            Action::Split(parts) => {
                let parts: Vec<(usize, u32)> =
                    parts.iter().map(|(name, weight)| (pool(name), *weight)).collect();
                let sum = parts.iter().map(|(_, weight)| u64::from(*weight)).sum();
                Todo::Split(parts, sum)
            }
            Action::Redirect { to, status } => match Template::parse(to) {
                Some(to) => Todo::Redirect(to, *status),
                None => Todo::Deny,
            },
            Action::Answer(_) => Todo::Answer,
            Action::Deny => Todo::Deny,
        };
        let mirror = rule.mirror.as_ref().map(|it| (pool(&it.pool), it.percent, it.at_once));
        let check = Check::new(&rule.when, case, &mut pool);
        Compiled {
            name: rule.name.clone().unwrap_or_else(|| format!("rule-{}", at + 1)),
            edits: rule.rewrite.as_ref().map(Edits::new),
            answer_edits: rule.rewrite.as_ref().map(AnswerEdits::new).unwrap_or_default(),
            without: rule.without_servers,
            refuses: match &rule.action {
                Action::Deny => true,
                Action::Answer(answer) => answer.status >= 400,
                Action::Pool(_) | Action::Split(_) | Action::Redirect { .. } => false,
            },
            todo,
            mirror,
            check,
        }
    }

    /// The pools that may take what fits, without the mirror's.
    pub fn pools(&self) -> impl Iterator<Item = usize> + '_ {
        let (one, parts) = match &self.todo {
            Todo::Pool(pool) => (Some(*pool), &[][..]),
            Todo::Split(parts, _) => (None, parts.as_slice()),
            Todo::Redirect(..) | Todo::Answer | Todo::Deny => (None, &[][..]),
        };
        let parts = parts.iter().filter(|(_, weight)| *weight > 0);
        one.into_iter().chain(parts.map(|(pool, _)| *pool))
    }

    /// The pool that takes it: of a split, by a draw below its sum, one that has a server where there is one.
    pub fn choose(&self, draw: impl FnOnce(u64) -> u64, facts: &dyn Facts) -> Option<usize> {
        let (parts, sum) = match &self.todo {
            Todo::Pool(pool) => return Some(*pool),
            Todo::Split(parts, sum) => (parts, *sum),
            Todo::Redirect(..) | Todo::Answer | Todo::Deny => return None,
        };
        let able: u64 = parts
            .iter()
            .filter(|(pool, _)| facts.has_server(*pool))
            .map(|(_, weight)| u64::from(*weight))
            .sum();
        let all = able == 0;
        let mut left = draw(if all { sum } else { able }.max(1));
        for (pool, weight) in parts {
            if !all && !facts.has_server(*pool) {
                continue;
            }
            let weight = u64::from(*weight);
            if left < weight {
                return Some(*pool);
            }
            left -= weight;
        }
        self.pools().next()
    }

    /// The pool that conditions on a pool mean when they name none.
    fn main_pool(&self) -> usize {
        self.pools().next().unwrap_or(0)
    }

    /// What becomes of what fits; `None`: the next rule is asked.
    fn taken(&self, at: usize, facts: &dyn Facts) -> Option<Found> {
        if self.without == WithoutServers::Pool || self.pools().any(|pool| facts.has_server(pool)) {
            return Some(Found::Rule(at));
        }
        match (self.without, &self.todo) {
            (WithoutServers::Next, Todo::Pool(_) | Todo::Split(..)) => {
                facts.passed_over(at);
                None
            }
            (WithoutServers::Answer, Todo::Pool(_) | Todo::Split(..)) => Some(Found::NoServer(at)),
            _ => Some(Found::Rule(at)),
        }
    }

    /// The spelling of a request's path from which what goes on is made: as it stands there, where the rule fits that,
    /// else its normal form.
    pub fn base<'h>(&self, head: &Head<'h>) -> Cow<'h, [u8]> {
        let raw = head.raw_path();
        if head.path_is_plain() || (!has_dots(raw) && self.check.takes_path(raw)) {
            return Cow::Borrowed(raw);
        }
        Cow::Owned(normal_form(raw))
    }

    /// What the last `*` of its path stood for, and the groups of its expression: what templates are filled with.
    pub fn parts<'p>(&self, path: &'p [u8]) -> (&'p [u8], [&'p [u8]; 9]) {
        self.check.parts(path)
    }
}

fn has_dots(path: &[u8]) -> bool {
    path.split(|b| *b == b'/').any(|segment| segment == b"." || segment == b"..")
}

/// Whether some condition of a service's rules is of a kind.
fn asks(service: &Service, kind: &dyn Fn(&Condition) -> bool) -> bool {
    fn within(condition: &Condition, kind: &dyn Fn(&Condition) -> bool) -> bool {
        match condition {
            Condition::All(all) | Condition::Any(all) => all.iter().any(|one| within(one, kind)),
            Condition::Not(not) => within(not, kind),
            one => kind(one),
        }
    }
    service.rules.iter().any(|rule| within(&rule.when, kind))
}
