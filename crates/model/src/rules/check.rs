//! A condition made ready to be held against a request, a connection or the state of a pool.
//!
//! Every check is a pure question but for `rate`, which takes one of what is left; the configuration sees to it that
//! nothing is asked behind it.

use regex::bytes::{Regex, RegexBuilder, RegexSet};

use super::ask::{Facts, View};
use crate::calendar::{DAY, weekday};
use crate::config::{
    Condition, Counted, HostPattern, Hours, Match, PathPattern, Pattern, PoolState, Prefix, Range,
};
use crate::head::Head;

/// Bytes that a compiled glob may have.
const GLOB_BYTES: usize = 256 * 1_024;

/// A condition.
#[derive(Debug)]
pub enum Check {
    /// Each of these.
    All(Box<[Check]>),
    /// One of these.
    Any(Box<[Check]>),
    /// Not this.
    Not(Box<Check>),
    /// One of these hosts.
    Host(Vec<HostPattern>),
    /// One of these paths.
    Path(Box<[PathCheck]>),
    /// An expression.
    Regex(RegexSet, Vec<Regex>),
    /// One of these methods.
    Method(Vec<String>),
    /// A named value.
    Value(Kind, Box<[Named]>),
    /// One of these networks.
    Client(Vec<Prefix>),
    /// A port of the client.
    ClientPort(u16, u16),
    /// One of these names.
    Sni(Vec<HostPattern>),
    /// A type of service.
    Tos(u8),
    /// A time of the week.
    Time(Option<Hours>, u8),
    /// A state.
    State(StateCheck),
    /// What cannot hold: an expression that compiles no more.
    Never,
}

/// A question about state.
#[derive(Clone, Debug)]
pub enum StateCheck {
    /// See `Condition::Rate`.
    Rate,
    /// See `Condition::Active`.
    Active(Range, Counted),
    /// See `Condition::Arrivals`.
    Arrivals(Range),
    /// See `Condition::Bandwidth`.
    Bandwidth(u64),
    /// See `Condition::SharedBandwidth`.
    SharedBandwidth(u64),
    /// A pool's state; `None`: the rule's own pool.
    Servers(Option<usize>, PoolState),
}

/// Where a named value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A header field.
    Field,
    /// A cookie.
    Cookie,
    /// A parameter of the query.
    Parameter,
}

/// A path.
#[derive(Debug)]
pub enum PathCheck {
    /// Exactly this.
    Exact(Box<[u8]>),
    /// What begins so.
    Prefix(Box<[u8]>),
    /// A glob.
    Glob(Regex),
}

/// A named value and what it must be.
#[derive(Debug)]
pub struct Named {
    name: Box<[u8]>,
    value: Text,
}

#[derive(Debug)]
enum Text {
    Any,
    Exact(Box<[u8]>),
    Glob(Regex),
}

impl Check {
    /// Compiles a condition. `pool` gives names of pools their positions.
    pub fn new(condition: &Condition, pool: &mut dyn FnMut(&str) -> usize) -> Check {
        let mut several = |list: &[Condition]| -> Box<[Check]> {
            list.iter().map(|one| Check::new(one, &mut *pool)).collect()
        };
        match condition {
            Condition::All(all) => Check::All(several(all)),
            Condition::Any(any) => Check::Any(several(any)),
            Condition::Not(not) => Check::Not(Box::new(Check::new(not, pool))),
            Condition::Host(hosts) => Check::Host(hosts.clone()),
            Condition::Path(paths) => {
                Check::Path(paths.iter().filter_map(PathCheck::new).collect())
            }
            Condition::PathRegex(patterns) => expressions(patterns),
            Condition::Method(methods) => Check::Method(methods.clone()),
            Condition::Header(fields) => named(Kind::Field, fields),
            Condition::Cookie(cookies) => named(Kind::Cookie, cookies),
            Condition::Query(parameters) => named(Kind::Parameter, parameters),
            Condition::Client(networks) => Check::Client(networks.clone()),
            Condition::ClientPort(first, last) => Check::ClientPort(*first, *last),
            Condition::Sni(names) => Check::Sni(names.clone()),
            Condition::Tos(tos) => Check::Tos(*tos),
            Condition::Time(hours, days) => Check::Time(*hours, *days),
            Condition::Rate(_) => Check::State(StateCheck::Rate),
            Condition::Active(range, counted) => Check::State(StateCheck::Active(*range, *counted)),
            Condition::Arrivals(range) => Check::State(StateCheck::Arrivals(*range)),
            Condition::Bandwidth(bits) => Check::State(StateCheck::Bandwidth(*bits)),
            Condition::SharedBandwidth(bits) => Check::State(StateCheck::SharedBandwidth(*bits)),
            Condition::Servers(state) => {
                let of = state.of.as_deref().map(pool);
                Check::State(StateCheck::Servers(of, state.clone()))
            }
        }
    }

    /// Whether it holds. `rule` and `pool` are those of the rule that asks.
    pub fn holds(&self, rule: usize, pool: usize, view: &View<'_>, facts: &dyn Facts) -> bool {
        let of_head = |ask: &dyn Fn(&Head<'_>) -> bool| view.head.is_some_and(ask);
        match self {
            Check::All(all) => all.iter().all(|one| one.holds(rule, pool, view, facts)),
            Check::Any(any) => any.iter().any(|one| one.holds(rule, pool, view, facts)),
            Check::Not(not) => !not.holds(rule, pool, view, facts),
            Check::Host(hosts) => {
                of_head(&|head| hosts.iter().any(|one| is_host(one, head.host())))
            }
            Check::Path(paths) => of_head(&|head| paths.iter().any(|one| one.holds(head.path()))),
            Check::Regex(set, _) => of_head(&|head| set.is_match(head.path())),
            Check::Method(methods) => {
                of_head(&|head| methods.iter().any(|one| one.as_bytes() == head.method()))
            }
            Check::Value(kind, values) => {
                of_head(&|head| values.iter().any(|one| one.holds(*kind, head)))
            }
            Check::Client(networks) => {
                let client = view.client.ip().to_canonical();
                networks.iter().any(|network| network.contains(client))
            }
            Check::ClientPort(first, last) => (*first..=*last).contains(&view.client.port()),
            Check::Sni(names) => {
                view.sni.is_some_and(|sni| names.iter().any(|one| is_host(one, sni.as_bytes())))
            }
            Check::Tos(tos) => view.tos == Some(*tos),
            Check::Time(hours, days) => is_time(*hours, *days, view.unix_seconds),
            Check::State(state) => state.holds(rule, pool, facts),
            Check::Never => false,
        }
    }

    /// What the last `*` of the rule's path stood for, and the groups of its expression.
    pub fn parts<'p>(&self, path: &'p [u8]) -> (&'p [u8], [&'p [u8]; 9]) {
        let (mut rest, mut groups) = (&b""[..], [&b""[..]; 9]);
        self.each(&mut |check| match check {
            Check::Path(paths) => {
                let prefix = paths.iter().find_map(|one| match one {
                    PathCheck::Prefix(prefix) => path.strip_prefix(&**prefix),
                    PathCheck::Exact(_) | PathCheck::Glob(_) => None,
                });
                rest = prefix.unwrap_or(rest);
            }
            Check::Regex(_, each) => {
                let found = each.iter().find_map(|one| one.captures(path));
                for (at, group) in groups.iter_mut().enumerate() {
                    let text = found.as_ref().and_then(|found| found.get(at + 1));
                    *group = text.map_or(*group, |text| text.as_bytes());
                }
            }
            _ => {}
        });
        (rest, groups)
    }

    /// Visits what must hold for sure: not what stands under `any` or `not`.
    fn each<'c>(&'c self, visit: &mut dyn FnMut(&'c Check)) {
        match self {
            Check::All(all) => all.iter().for_each(|one| one.each(visit)),
            one => visit(one),
        }
    }
}

impl StateCheck {
    fn holds(&self, rule: usize, pool: usize, facts: &dyn Facts) -> bool {
        match self {
            StateCheck::Rate => facts.take(rule),
            StateCheck::Active(range, counted) => range.holds(facts.active(rule, pool, *counted)),
            StateCheck::Arrivals(range) => range.holds(facts.arrivals()),
            StateCheck::Bandwidth(bits) => facts.rule_bits(rule) < *bits,
            StateCheck::SharedBandwidth(bits) => facts.service_bits() < *bits,
            StateCheck::Servers(of, wanted) => {
                let found = facts.pool(of.unwrap_or(pool));
                let within =
                    |range: Option<Range>, number: u64| range.is_none_or(|r| r.holds(number));
                // Servers that tell nothing are in no range.
                let load = |range: Option<Range>, ask: &dyn Fn(Range, (u64, u64, u64)) -> bool| {
                    range.is_none_or(|range| found.load.is_some_and(|load| ask(range, load)))
                };
                within(wanted.up, found.up)
                    && within(wanted.busy, found.busy)
                    && load(wanted.load, &|range, (_, mean, _)| range.holds(mean))
                    && load(wanted.each_load, &|range, (low, _, high)| {
                        range.holds(low) && range.holds(high)
                    })
            }
        }
    }
}

impl PathCheck {
    fn new(pattern: &PathPattern) -> Option<PathCheck> {
        Some(match pattern {
            PathPattern::Exact(path) => PathCheck::Exact(path.as_bytes().into()),
            PathPattern::Prefix(path) => PathCheck::Prefix(path.as_bytes().into()),
            PathPattern::Glob(glob) => PathCheck::Glob(globbed(glob, "[^/]*")?),
        })
    }

    fn holds(&self, path: &[u8]) -> bool {
        match self {
            PathCheck::Exact(exact) => **exact == *path,
            PathCheck::Prefix(prefix) => path.starts_with(prefix),
            PathCheck::Glob(glob) => glob.is_match(path),
        }
    }
}

impl Named {
    fn new(written: &Match) -> Option<Named> {
        let value = match &written.value {
            None => Text::Any,
            Some(value) if value.contains(['*', '?']) => Text::Glob(globbed(value, ".*")?),
            Some(value) => Text::Exact(value.as_bytes().into()),
        };
        Some(Named { name: written.name.as_bytes().into(), value })
    }

    fn holds(&self, kind: Kind, head: &Head<'_>) -> bool {
        let fits = |value: &[u8]| match &self.value {
            Text::Any => true,
            Text::Exact(exact) => **exact == *value,
            Text::Glob(glob) => glob.is_match(value),
        };
        match kind {
            Kind::Field => head.field(&self.name).any(fits),
            Kind::Cookie => head.cookie(&self.name).any(fits),
            Kind::Parameter => head.parameter(&self.name).any(fits),
        }
    }
}

fn named(kind: Kind, written: &[Match]) -> Check {
    Check::Value(kind, written.iter().filter_map(Named::new).collect())
}

fn expressions(patterns: &[Pattern]) -> Check {
    let whole: Vec<String> = patterns.iter().map(|one| format!("^(?:{})$", one.text())).collect();
    let set =
        regex::bytes::RegexSetBuilder::new(&whole).size_limit(GLOB_BYTES * whole.len()).build();
    let each: Vec<Regex> = whole.iter().filter_map(|one| compiled(one)).collect();
    match set {
        Ok(set) => Check::Regex(set, each),
        Err(_) => Check::Never,
    }
}

/// A glob as an expression for the whole text: `**` stands for anything, `*` for what `one_star` says.
fn globbed(glob: &str, one_star: &str) -> Option<Regex> {
    let mut text = String::from("(?s-u)^");
    let mut rest = glob;
    while let Some(first) = rest.chars().next() {
        rest = if let Some(after) = rest.strip_prefix("**") {
            text.push_str(".*");
            after
        } else if let Some(after) = rest.strip_prefix('*') {
            text.push_str(one_star);
            after
        } else {
            match first {
                '?' => text.push_str("[^/]"),
                other => text.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
            }
            &rest[first.len_utf8()..]
        };
    }
    text.push('$');
    compiled(&text)
}

fn compiled(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).size_limit(GLOB_BYTES).build().ok()
}

/// Whether a host, lower case, fits.
pub fn is_host(pattern: &HostPattern, host: &[u8]) -> bool {
    match pattern {
        HostPattern::Exact(name) => name.as_bytes() == host,
        HostPattern::Below(name) => host.len() > name.len() && host.ends_with(name.as_bytes()),
    }
}

fn is_time(hours: Option<Hours>, days: u8, seconds: i64) -> bool {
    let on = |seconds: i64| days & (1 << weekday(seconds)) != 0;
    let Some(hours) = hours else { return on(seconds) };
    let minute = u16::try_from(seconds.rem_euclid(DAY) / 60).unwrap_or(0);
    // What passes midnight belongs to the day on which it begins.
    let begun_yesterday = hours.from >= hours.to && minute < hours.to;
    hours.contains(minute) && on(if begun_yesterday { seconds - DAY } else { seconds })
}
