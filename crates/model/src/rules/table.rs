//! The rules of one service, compiled. It finds and chooses; what follows from that is the plane's matter.

use super::ask::{Facts, Found, View};
use super::check::Check;
use super::edit::{AnswerEdits, Edits};
use super::index::{Index, Keys};
use crate::config::template::Template;
use crate::config::{Action, Condition, Forward, Rule, Service, WithoutServers};

/// The rules of a service.
#[derive(Debug)]
pub struct Table {
    rules: Vec<Compiled>,
    pools: Vec<String>,
    index: Index,
    /// Some condition looks at the name that a TLS client asks for.
    wants_sni: bool,
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
        let key = if service.forward == Forward::Http { Keys::of } else { Keys::of_connection };
        let keys: Vec<Keys> = service.rules.iter().map(|rule| key(&rule.when)).collect();
        let rules: Vec<Compiled> = service
            .rules
            .iter()
            .enumerate()
            .map(|(at, rule)| Compiled::new(at, rule, &mut pools))
            .collect();
        let wants_sni = service.rules.iter().any(|rule| looks_at_sni(&rule.when));
        Some(Table { rules, pools, index: Index::new(&keys), wants_sni })
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

    /// The first rule that fits.
    pub fn find(&self, view: &View<'_>, facts: &dyn Facts) -> Found {
        let (name, path) = match view.head {
            Some(head) => (head.host(), head.path()),
            None => (view.sni.unwrap_or_default().as_bytes(), &b""[..]),
        };
        let mut candidates = self.index.candidates(name, path);
        candidates.find_map(|at| self.ask(at as usize, view, facts)).unwrap_or(Found::Nothing)
    }

    /// The same, rule after rule: what `find` must come to.
    pub fn scan(&self, view: &View<'_>, facts: &dyn Facts) -> Found {
        (0..self.rules.len()).find_map(|at| self.ask(at, view, facts)).unwrap_or(Found::Nothing)
    }

    fn ask(&self, at: usize, view: &View<'_>, facts: &dyn Facts) -> Option<Found> {
        let rule = self.rules.get(at)?;
        if !rule.check.holds(at, rule.main_pool(), view, facts) {
            return None;
        }
        if rule.without == WithoutServers::Pool || rule.pools().any(|pool| facts.has_server(pool)) {
            return Some(Found::Rule(at));
        }
        match (rule.without, &rule.todo) {
            (WithoutServers::Next, Todo::Pool(_) | Todo::Split(..)) => {
                facts.passed_over(at);
                None
            }
            (WithoutServers::Answer, Todo::Pool(_) | Todo::Split(..)) => Some(Found::NoServer(at)),
            _ => Some(Found::Rule(at)),
        }
    }
}

impl Compiled {
    fn new(at: usize, rule: &Rule, pools: &mut Vec<String>) -> Compiled {
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
        let check = Check::new(&rule.when, &mut pool);
        Compiled {
            name: rule.name.clone().unwrap_or_else(|| format!("rule-{}", at + 1)),
            edits: rule.rewrite.as_ref().map(Edits::new),
            answer_edits: rule.rewrite.as_ref().map(AnswerEdits::new).unwrap_or_default(),
            without: rule.without_servers,
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

    /// What the last `*` of its path stood for, and the groups of its expression: what templates are filled with.
    pub fn parts<'p>(&self, path: &'p [u8]) -> (&'p [u8], [&'p [u8]; 9]) {
        self.check.parts(path)
    }
}

fn looks_at_sni(condition: &Condition) -> bool {
    match condition {
        Condition::All(all) | Condition::Any(all) => all.iter().any(looks_at_sni),
        Condition::Not(not) => looks_at_sni(not),
        Condition::Sni(_) => true,
        _ => false,
    }
}
