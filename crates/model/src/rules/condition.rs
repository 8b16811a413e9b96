//! Compiled conditions, which are evaluated against a request, a connection or the state of a pool.
//!
//! Every check is pure except `rate`, which takes a token; the configuration ensures that nothing is evaluated after
//! it.

use regex::bytes::{Regex, RegexSet};

use super::context::{ReportedLoads, RuleContext, RuleState};
use super::glob::{compile_host_patterns, compile_path_glob, compile_patterns};
use super::path_captures::PathCaptures;
use super::reading_set::{ReadingMatch, ReadingSet, TernaryTruth};
use super::value::{NamedValues, ValueSource};
use crate::calendar::{DAY, weekday};
use crate::config::{
    ActiveCountScope, Condition, DailyWindow, HostPart, HostPattern, IpPrefix, NumberRange,
    PathCase, PathPattern, PoolCondition,
};
use crate::path::comparison_form;
use crate::request_head::ParsedHead;

#[derive(Debug)]
pub enum CompiledCondition {
    All(Box<[CompiledCondition]>),
    Any(Box<[CompiledCondition]>),
    Not(Box<CompiledCondition>),
    Host(Vec<HostPattern>),
    HostPart(Vec<HostPart>),
    HostRegex(RegexSet),
    Path(Box<[PathCheck]>),
    Regex(RegexSet, Vec<Regex>),
    Method(Vec<String>),
    Value(NamedValues),
    Client(Vec<IpPrefix>),
    ClientPort(u16, u16),
    Sni(Vec<HostPattern>),
    /// The type of service byte.
    Tos(u8),
    /// A time of the week.
    Time(Option<DailyWindow>, u8),
    State(StateCheck),
    /// Never matches: an expression that no longer compiles.
    Never,
}

/// The input of a condition, except for the path.
pub struct ConditionInput<'a> {
    /// The rule whose condition this is, by its position.
    pub rule: usize,
    pub pool: usize,
    /// The rule denies what it matches.
    pub refuses: bool,
    pub context: &'a RuleContext<'a>,
    pub state: &'a dyn RuleState,
}

/// A condition on the state of pools and rates.
#[derive(Clone, Debug)]
pub enum StateCheck {
    Rate,
    Active(NumberRange, ActiveCountScope),
    Arrivals(NumberRange),
    Bandwidth(u64),
    SharedBandwidth(u64),
    /// A pool's state; `None`: the rule's own pool.
    Servers(Option<usize>, PoolCondition),
}

#[derive(Debug)]
pub enum PathCheck {
    Exact(Box<[u8]>, PathCase),
    Prefix(Box<[u8]>, PathCase),
    Glob(Regex),
}

impl CompiledCondition {
    /// Compiles a condition. `pool` resolves names of pools to positions.
    pub fn new(
        condition: &Condition,
        case: PathCase,
        pool: &mut dyn FnMut(&str) -> usize,
    ) -> CompiledCondition {
        let mut several = |list: &[Condition]| -> Box<[CompiledCondition]> {
            list.iter()
                .map(|condition| CompiledCondition::new(condition, case, &mut *pool))
                .collect()
        };
        match condition {
            Condition::All(all) => CompiledCondition::All(several(all)),
            Condition::Any(any) => CompiledCondition::Any(several(any)),
            Condition::Not(not) => {
                CompiledCondition::Not(Box::new(CompiledCondition::new(not, case, pool)))
            }
            Condition::Host(hosts) => CompiledCondition::Host(hosts.clone()),
            Condition::HostPart(parts) => CompiledCondition::HostPart(parts.clone()),
            Condition::HostRegex(patterns) => compile_host_patterns(patterns)
                .map_or(CompiledCondition::Never, CompiledCondition::HostRegex),
            Condition::Path(paths) => CompiledCondition::Path(
                paths.iter().filter_map(|path| PathCheck::new(path, case)).collect(),
            ),
            Condition::PathRegex(patterns) => match compile_patterns(patterns, case) {
                Some(compiled) => CompiledCondition::Regex(compiled.set, compiled.each),
                None => CompiledCondition::Never,
            },
            Condition::Method(methods) => CompiledCondition::Method(methods.clone()),
            Condition::Header(fields) => {
                CompiledCondition::Value(NamedValues::new(ValueSource::Field, fields))
            }
            Condition::HeaderList(fields) => {
                CompiledCondition::Value(NamedValues::new(ValueSource::FieldElement, fields))
            }
            Condition::HeaderRegex(fields) => match NamedValues::from_expressions(fields) {
                Some(values) => CompiledCondition::Value(values),
                None => CompiledCondition::Never,
            },
            Condition::Cookie(cookies) => {
                CompiledCondition::Value(NamedValues::new(ValueSource::Cookie, cookies))
            }
            Condition::Query(parameters) => {
                CompiledCondition::Value(NamedValues::new(ValueSource::Parameter, parameters))
            }
            Condition::Client(networks) => CompiledCondition::Client(networks.clone()),
            Condition::ClientPort(first, last) => CompiledCondition::ClientPort(*first, *last),
            Condition::Sni(names) => CompiledCondition::Sni(names.clone()),
            Condition::Tos(tos) => CompiledCondition::Tos(*tos),
            Condition::Time(hours, days) => CompiledCondition::Time(*hours, *days),
            Condition::Rate(_) => CompiledCondition::State(StateCheck::Rate),
            Condition::Active(range, counted) => {
                CompiledCondition::State(StateCheck::Active(*range, *counted))
            }
            Condition::Arrivals(range) => CompiledCondition::State(StateCheck::Arrivals(*range)),
            Condition::Bandwidth(bits) => CompiledCondition::State(StateCheck::Bandwidth(*bits)),
            Condition::SharedBandwidth(bits) => {
                CompiledCondition::State(StateCheck::SharedBandwidth(*bits))
            }
            Condition::Servers(state) => {
                let of = state.of.as_deref().map(pool);
                CompiledCondition::State(StateCheck::Servers(of, state.clone()))
            }
        }
    }

    /// The readings of a path that the condition matches, certainly or possibly. Conditions that do not depend on the
    /// path are evaluated once, so that all readings use the same state, and one request takes one token of a `rate`.
    pub fn match_readings(&self, input: &ConditionInput<'_>, paths: &[&[u8]]) -> ReadingMatch {
        let count = paths.len();
        match self {
            CompiledCondition::All(all) => {
                let mut fit = ReadingMatch::from_truth(TernaryTruth::Yes, count);
                for condition in all {
                    if fit.possible.is_empty() {
                        break;
                    }
                    fit = fit.and(condition.match_readings(input, paths));
                }
                fit
            }
            CompiledCondition::Any(any) => {
                let mut fit = ReadingMatch::from_truth(TernaryTruth::No, count);
                for condition in any {
                    fit = fit.or(condition.match_readings(input, paths));
                    if fit.certain.is_complete(count) {
                        break;
                    }
                }
                fit
            }
            CompiledCondition::Not(not) => not.match_readings(input, paths).not(count),
            CompiledCondition::Path(_) | CompiledCondition::Regex(..)
                if input.context.head.is_none() =>
            {
                ReadingMatch::from_truth(TernaryTruth::No, count)
            }
            CompiledCondition::Path(wanted) => {
                ReadingMatch::from_readings(ReadingSet::matching(paths, |path| {
                    wanted.iter().any(|path_check| path_check.matches(path))
                }))
            }
            CompiledCondition::Regex(set, _) => {
                ReadingMatch::from_readings(ReadingSet::matching(paths, |path| set.is_match(path)))
            }
            other => ReadingMatch::from_truth(other.evaluate(input), count),
        }
    }

    /// Evaluates a condition that does not depend on the path.
    fn evaluate(&self, input: &ConditionInput<'_>) -> TernaryTruth {
        let view = input.context;
        let of_head =
            |ask: &dyn Fn(&ParsedHead<'_>) -> TernaryTruth| view.head.map_or(TernaryTruth::No, ask);
        let holds = match self {
            CompiledCondition::Method(methods) => {
                return of_head(&|head| method_truth(methods, head.method()));
            }
            CompiledCondition::Value(values) => {
                return of_head(&|head| values.evaluate(head, input.refuses));
            }
            CompiledCondition::Host(hosts) => view
                .head
                .is_some_and(|head| hosts.iter().any(|pattern| matches_host(pattern, head.host()))),
            CompiledCondition::HostPart(parts) => {
                return of_head(&|head| {
                    host_truth(head, &|host| parts.iter().any(|part| part.matches(host)))
                });
            }
            CompiledCondition::HostRegex(set) => {
                return of_head(&|head| host_truth(head, &|host| set.is_match(host)));
            }
            CompiledCondition::Client(networks) => {
                let client = view.client.ip().to_canonical();
                networks.iter().any(|network| network.contains(client))
            }
            CompiledCondition::ClientPort(first, last) => {
                (*first..=*last).contains(&view.client.port())
            }
            CompiledCondition::Sni(names) => view.sni.is_some_and(|sni| {
                names.iter().any(|pattern| matches_host(pattern, sni.as_bytes()))
            }),
            CompiledCondition::Tos(tos) => view.tos == Some(*tos),
            CompiledCondition::Time(hours, days) => matches_time(*hours, *days, view.unix_seconds),
            CompiledCondition::State(state) => state.matches(input.rule, input.pool, input.state),
            // The first five are evaluated by `match_readings`.
            CompiledCondition::All(_)
            | CompiledCondition::Any(_)
            | CompiledCondition::Not(_)
            | CompiledCondition::Path(_)
            | CompiledCondition::Regex(..)
            | CompiledCondition::Never => false,
        };
        TernaryTruth::from(holds)
    }

    /// Whether the condition names the path, regardless of its other requirements.
    pub fn matches_path(&self, path: &[u8]) -> bool {
        let mut takes = true;
        self.visit_required(&mut |check| match check {
            CompiledCondition::Path(paths) => {
                takes &= paths.iter().any(|path_check| path_check.matches(path))
            }
            CompiledCondition::Regex(set, _) => takes &= set.is_match(path),
            _ => {}
        });
        takes
    }

    /// The text that the last `*` of the rule's path matched, and the groups of its expression.
    pub fn path_captures<'p>(&self, path: &'p [u8]) -> PathCaptures<'p> {
        let mut rest = &b""[..];
        let mut groups = [&b""[..]; 9];
        self.visit_required(&mut |check| match check {
            CompiledCondition::Path(paths) => {
                let prefix = paths.iter().find_map(|path_check| match path_check {
                    PathCheck::Prefix(prefix, _) if path_check.matches(path) => {
                        path.get(prefix.len()..)
                    }
                    _ => None,
                });
                rest = prefix.unwrap_or(rest);
            }
            CompiledCondition::Regex(_, each) => {
                let captures = each.iter().find_map(|regex| regex.captures(path));
                for (at, group) in groups.iter_mut().enumerate() {
                    let text = captures.as_ref().and_then(|captures| captures.get(at + 1));
                    *group = text.map_or(*group, |text| text.as_bytes());
                }
            }
            _ => {}
        });
        PathCaptures { rest, groups }
    }

    /// Visits the conditions that must hold: not those under `any` or `not`.
    fn visit_required<'c>(&'c self, visit: &mut dyn FnMut(&'c CompiledCondition)) {
        match self {
            CompiledCondition::All(all) => {
                all.iter().for_each(|condition| condition.visit_required(visit))
            }
            condition => visit(condition),
        }
    }
}

impl StateCheck {
    fn matches(&self, rule: usize, pool: usize, facts: &dyn RuleState) -> bool {
        match self {
            StateCheck::Rate => facts.take_rate_token(rule),
            StateCheck::Active(range, counted) => {
                range.contains(facts.active_count(rule, pool, *counted))
            }
            StateCheck::Arrivals(range) => range.contains(facts.arrivals_per_second()),
            StateCheck::Bandwidth(bits) => facts.rule_bits(rule) < *bits,
            StateCheck::SharedBandwidth(bits) => facts.service_bits() < *bits,
            StateCheck::Servers(of, wanted) => {
                let pool_load = facts.pool_load(of.unwrap_or(pool));
                let within = |range: Option<NumberRange>, number: u64| {
                    range.is_none_or(|r| r.contains(number))
                };
                // Servers that report no load match no range.
                let load =
                    |range: Option<NumberRange>,
                     ask: &dyn Fn(NumberRange, ReportedLoads) -> bool| {
                        range
                            .is_none_or(|range| pool_load.load.is_some_and(|load| ask(range, load)))
                    };
                within(wanted.up, pool_load.up)
                    && within(wanted.busy, pool_load.in_flight_per_server)
                    && load(wanted.load, &|range, loads| range.contains(loads.average))
                    && load(wanted.each_load, &|range, loads| {
                        range.contains(loads.lowest) && range.contains(loads.highest)
                    })
            }
        }
    }
}

impl PathCheck {
    fn new(pattern: &PathPattern, case: PathCase) -> Option<PathCheck> {
        let compared = |path: &str| -> Box<[u8]> { comparison_form(path.as_bytes()).into() };
        Some(match pattern {
            PathPattern::Exact(path) => PathCheck::Exact(compared(path), case),
            PathPattern::Prefix(path) => PathCheck::Prefix(compared(path), case),
            PathPattern::Glob(glob) => PathCheck::Glob(compile_path_glob(glob, case)?),
        })
    }

    fn matches(&self, path: &[u8]) -> bool {
        let same = |a: &[u8], b: &[u8], case| match case {
            PathCase::Exact => a == b,
            PathCase::Ignore => a.eq_ignore_ascii_case(b),
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

/// Whether a host holds. What a server reads in a host that is too long to be compared is not known.
fn host_truth(head: &ParsedHead<'_>, holds: &dyn Fn(&[u8]) -> bool) -> TernaryTruth {
    if head.host_is_too_long() {
        return TernaryTruth::Unsure;
    }
    TernaryTruth::from(holds(head.host()))
}

/// Whether a method is one of these. Some servers ignore the case of methods.
fn method_truth(methods: &[String], method: &[u8]) -> TernaryTruth {
    let some =
        |same: fn(&[u8], &[u8]) -> bool| methods.iter().any(|name| same(name.as_bytes(), method));
    match some(|a, b| a == b) {
        true => TernaryTruth::Yes,
        false if some(<[u8]>::eq_ignore_ascii_case) => TernaryTruth::Unsure,
        false => TernaryTruth::No,
    }
}

/// Whether a host, lower case, matches.
pub fn matches_host(pattern: &HostPattern, host: &[u8]) -> bool {
    match pattern {
        HostPattern::Exact(name) => name.as_bytes() == host,
        HostPattern::Below(name) => host.len() > name.len() && host.ends_with(name.as_bytes()),
    }
}

/// Whether a moment, in seconds since 1970 of local time, is within hours on days (bits, Monday first).
pub fn matches_time(hours: Option<DailyWindow>, days: u8, seconds: i64) -> bool {
    let on = |seconds: i64| days & (1 << weekday(seconds)) != 0;
    let Some(hours) = hours else { return on(seconds) };
    let minute = u16::try_from(seconds.rem_euclid(DAY) / 60).unwrap_or(0);
    // A window that passes midnight belongs to the day on which it starts.
    let begun_yesterday = hours.from >= hours.to && minute < hours.to;
    hours.contains(minute) && on(if begun_yesterday { seconds - DAY } else { seconds })
}
