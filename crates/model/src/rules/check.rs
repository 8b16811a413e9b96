//! A condition made ready to be held against a request, a connection or the state of a pool.
//!
//! Every check is a pure question but for `rate`, which takes one of what is left; the configuration sees to it that
//! nothing is asked behind it.

use regex::bytes::{Regex, RegexSet};

use super::ask::{Facts, View};
use super::glob::{expressions, path_glob};
use super::those::{Fit, Those, Truth};
use super::value::{Kind, Values};
use crate::calendar::{DAY, weekday};
use crate::config::{
    Condition, Counted, HostPattern, Hours, PathCase, PathPattern, PoolState, Prefix, Range,
};
use crate::head::Head;
use crate::path::as_compared;

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
    /// One of these named values.
    Value(Values),
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

/// What a condition is held against, but for the path.
pub struct Asked<'a> {
    /// The rule that asks, by its position.
    pub rule: usize,
    /// Its pool.
    pub pool: usize,
    /// It refuses what fits.
    pub refuses: bool,
    /// The request or connection.
    pub view: &'a View<'a>,
    /// The state.
    pub facts: &'a dyn Facts,
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

/// A path.
#[derive(Debug)]
pub enum PathCheck {
    /// Exactly this.
    Exact(Box<[u8]>, PathCase),
    /// What begins so.
    Prefix(Box<[u8]>, PathCase),
    /// A glob.
    Glob(Regex),
}

impl Check {
    /// Compiles a condition. `pool` gives names of pools their positions.
    pub fn new(
        condition: &Condition,
        case: PathCase,
        pool: &mut dyn FnMut(&str) -> usize,
    ) -> Check {
        let mut several = |list: &[Condition]| -> Box<[Check]> {
            list.iter().map(|one| Check::new(one, case, &mut *pool)).collect()
        };
        match condition {
            Condition::All(all) => Check::All(several(all)),
            Condition::Any(any) => Check::Any(several(any)),
            Condition::Not(not) => Check::Not(Box::new(Check::new(not, case, pool))),
            Condition::Host(hosts) => Check::Host(hosts.clone()),
            Condition::Path(paths) => {
                Check::Path(paths.iter().filter_map(|one| PathCheck::new(one, case)).collect())
            }
            Condition::PathRegex(patterns) => match expressions(patterns, case) {
                Some((set, each)) => Check::Regex(set, each),
                None => Check::Never,
            },
            Condition::Method(methods) => Check::Method(methods.clone()),
            Condition::Header(fields) => Check::Value(Values::new(Kind::Field, fields)),
            Condition::Cookie(cookies) => Check::Value(Values::new(Kind::Cookie, cookies)),
            Condition::Query(parameters) => Check::Value(Values::new(Kind::Parameter, parameters)),
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

    /// For which readings of a path it holds: for sure, and perhaps. What does not look at the path is asked once, so that
    /// all readings meet the same state, and one request takes one of a `rate`.
    pub fn fit(&self, asked: &Asked<'_>, paths: &[&[u8]]) -> Fit {
        let count = paths.len();
        match self {
            Check::All(all) => {
                let mut fit = Fit::of(Truth::Yes, count);
                for one in all {
                    if fit.possible.none() {
                        break;
                    }
                    fit = fit.and(one.fit(asked, paths));
                }
                fit
            }
            Check::Any(any) => {
                let mut fit = Fit::of(Truth::No, count);
                for one in any {
                    fit = fit.or(one.fit(asked, paths));
                    if fit.sure.every(count) {
                        break;
                    }
                }
                fit
            }
            Check::Not(not) => not.fit(asked, paths).not(count),
            Check::Path(_) | Check::Regex(..) if asked.view.head.is_none() => {
                Fit::of(Truth::No, count)
            }
            Check::Path(wanted) => {
                Fit::sure(Those::which(paths, |path| wanted.iter().any(|one| one.holds(path))))
            }
            Check::Regex(set, _) => Fit::sure(Those::which(paths, |path| set.is_match(path))),
            other => Fit::of(other.truth(asked), count),
        }
    }

    /// Whether what looks at no path holds.
    fn truth(&self, asked: &Asked<'_>) -> Truth {
        let view = asked.view;
        let of_head = |ask: &dyn Fn(&Head<'_>) -> Truth| view.head.map_or(Truth::No, ask);
        let holds = match self {
            Check::Method(methods) => return of_head(&|head| is_method(methods, head.method())),
            Check::Value(values) => return of_head(&|head| values.truth(head, asked.refuses)),
            Check::Host(hosts) => {
                view.head.is_some_and(|head| hosts.iter().any(|one| is_host(one, head.host())))
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
            Check::State(state) => state.holds(asked.rule, asked.pool, asked.facts),
            // The first five are asked elsewhere.
            Check::All(_)
            | Check::Any(_)
            | Check::Not(_)
            | Check::Path(_)
            | Check::Regex(..)
            | Check::Never => false,
        };
        Truth::from(holds)
    }

    /// Whether a path is one of those that it asks for, whatever else it asks for.
    pub fn takes_path(&self, path: &[u8]) -> bool {
        let mut takes = true;
        self.each(&mut |check| match check {
            Check::Path(paths) => takes &= paths.iter().any(|one| one.holds(path)),
            Check::Regex(set, _) => takes &= set.is_match(path),
            _ => {}
        });
        takes
    }

    /// What the last `*` of the rule's path stood for, and the groups of its expression.
    pub fn parts<'p>(&self, path: &'p [u8]) -> (&'p [u8], [&'p [u8]; 9]) {
        let (mut rest, mut groups) = (&b""[..], [&b""[..]; 9]);
        self.each(&mut |check| match check {
            Check::Path(paths) => {
                let prefix = paths.iter().find_map(|one| match one {
                    PathCheck::Prefix(prefix, _) if one.holds(path) => path.get(prefix.len()..),
                    _ => None,
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
    fn new(pattern: &PathPattern, case: PathCase) -> Option<PathCheck> {
        let compared = |path: &str| -> Box<[u8]> { as_compared(path.as_bytes()).into() };
        Some(match pattern {
            PathPattern::Exact(path) => PathCheck::Exact(compared(path), case),
            PathPattern::Prefix(path) => PathCheck::Prefix(compared(path), case),
            PathPattern::Glob(glob) => PathCheck::Glob(path_glob(glob, case)?),
        })
    }

    fn holds(&self, path: &[u8]) -> bool {
        let same = |one: &[u8], other: &[u8], case| match case {
            PathCase::Exact => one == other,
            PathCase::Ignore => one.eq_ignore_ascii_case(other),
        };
        match self {
            PathCheck::Exact(exact, case) => same(exact, path, *case),
            PathCheck::Prefix(prefix, case) => {
                path.get(..prefix.len()).is_some_and(|begin| same(prefix, begin, *case))
            }
            PathCheck::Glob(glob) => glob.is_match(path),
        }
    }
}

/// Whether a method is one of these. Some servers take one in other letters for it.
fn is_method(methods: &[String], method: &[u8]) -> Truth {
    let some =
        |same: fn(&[u8], &[u8]) -> bool| methods.iter().any(|one| same(one.as_bytes(), method));
    match some(|one, other| one == other) {
        true => Truth::Yes,
        false if some(<[u8]>::eq_ignore_ascii_case) => Truth::Unsure,
        false => Truth::No,
    }
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
