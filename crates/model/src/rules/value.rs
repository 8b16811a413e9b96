//! Named values of a request that a condition compares: fields, cookies, parameters.
//!
//! Servers parse them differently, so each is compared in every reading that `request_head`, `cookie` and `query`
//! provide. The rule decides about ambiguous requests.

use regex::bytes::Regex;

use super::glob::{compile_value_glob, unescape_literal};
use super::reading_set::TernaryTruth;
use crate::config::NameValuePattern;
use crate::cookie::{self, CookieSyntax};
use crate::query::{self, QuerySeparators};
use crate::request_head::ParsedHead;

/// The source of a named value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSource {
    Field,
    Cookie,
    /// A parameter of the query.
    Parameter,
}

/// Named values, one of which must match.
#[derive(Debug)]
pub struct NamedValues {
    kind: ValueSource,
    matchers: Box<[ValueMatch]>,
}

/// A named value and its pattern.
#[derive(Debug)]
struct ValueMatch {
    name: Box<[u8]>,
    value: ValuePattern,
}

#[derive(Debug)]
enum ValuePattern {
    Any,
    Exact(Box<[u8]>),
    Glob(Regex),
}

/// Results for servers that use any, the first or the last of several values of one name.
#[derive(Clone, Copy, Default)]
struct ValueChoice {
    any_value: bool,
    first_value: Option<bool>,
    last_value: bool,
}

/// The results over all readings.
struct ReadingTally {
    some: bool,
    all: bool,
}

impl NamedValues {
    /// Compiles the patterns of the configuration.
    pub fn new(kind: ValueSource, written: &[NameValuePattern]) -> NamedValues {
        NamedValues { kind, matchers: written.iter().filter_map(ValueMatch::new).collect() }
    }

    /// Whether one of them matches. `refuses`: the rule denies what it matches, and also tests each of several values
    /// of a name alone.
    pub fn evaluate(&self, head: &ParsedHead<'_>, refuses: bool) -> TernaryTruth {
        match self.kind {
            ValueSource::Field => self.evaluate_fields(head),
            ValueSource::Cookie => self.evaluate_cookies(head, refuses),
            ValueSource::Parameter => self.evaluate_parameters(head, refuses),
        }
    }

    /// Some servers treat another spelling of a name as another name, some as the same name, and some let it replace
    /// the right one.
    fn evaluate_fields(&self, head: &ParsedHead<'_>) -> TernaryTruth {
        let mut right = false;
        let mut both = false;
        let mut in_place = false;
        for named in &self.matchers {
            let mut own = false;
            let mut other = false;
            let mut came = false;
            for spelled in head.field_spellings(&named.name) {
                let fits = named.matches(spelled.value);
                if spelled.exact {
                    own |= fits;
                } else {
                    came = true;
                    other |= fits;
                }
            }
            right |= own;
            both |= own || other;
            in_place |= if came { other } else { own };
        }
        let mut tally = ReadingTally::new();
        [right, both, in_place].into_iter().for_each(|holds| tally.add(holds));
        tally.truth()
    }

    fn evaluate_cookies(&self, head: &ParsedHead<'_>, refuses: bool) -> TernaryTruth {
        let plain = head.field(b"cookie").all(cookie::is_plain);
        let readings = if plain { &CookieSyntax::ALL[..1] } else { &CookieSyntax::ALL[..] };
        let mut tally = ReadingTally::new();
        for reading in readings {
            let choice = self.choose_values(|named, choice| {
                for all in head.field(b"cookie") {
                    cookie::visit_values(all, *reading, &named.name, &mut |value| {
                        choice.add(named.matches(value));
                    });
                }
            });
            tally.add_choice(choice, refuses);
        }
        tally.truth()
    }

    /// A match as written or decoded once holds in every server; a match after further decoding may hold.
    fn evaluate_parameters(&self, head: &ParsedHead<'_>, refuses: bool) -> TernaryTruth {
        let query = head.query().get(1..).unwrap_or_default();
        let mut tally = ReadingTally::new();
        let any = |matches: &dyn Fn(&ValueMatch) -> bool| self.matchers.iter().any(matches);
        let usual = any(&|named| {
            query::any_value_matches(query, &named.name, |value| named.matches(value))
        });
        tally.add(usual);
        if !usual {
            let far = any(&|named| {
                query::any_deep_decoded_matches(query, &named.name, |value| named.matches(value))
            });
            tally.add(far);
        } else if refuses {
            for separators in QuerySeparators::relevant_in(query) {
                let choice = self.choose_values(|named, choice| {
                    query::visit_values(query, *separators, &named.name, &mut |value| {
                        choice
                            .add(query::matches_decoded(value, &|decoded| named.matches(decoded)));
                    });
                });
                tally.add_choice(choice, refuses);
            }
        }
        tally.truth()
    }

    fn choose_values(&self, visit: impl Fn(&ValueMatch, &mut ValueChoice)) -> ValueChoice {
        let mut all = ValueChoice { first_value: Some(false), ..ValueChoice::default() };
        for named in &self.matchers {
            let mut choice = ValueChoice::default();
            visit(named, &mut choice);
            all.any_value |= choice.any_value;
            all.first_value =
                Some(all.first_value == Some(true) || choice.first_value == Some(true));
            all.last_value |= choice.last_value;
        }
        all
    }
}

impl ValueMatch {
    fn new(written: &NameValuePattern) -> Option<ValueMatch> {
        let value = match &written.value {
            None => ValuePattern::Any,
            Some(value) => match unescape_literal(value) {
                Some(literal) => ValuePattern::Exact(literal.as_bytes().into()),
                None => ValuePattern::Glob(compile_value_glob(value)?),
            },
        };
        Some(ValueMatch { name: written.name.as_bytes().into(), value })
    }

    fn matches(&self, value: &[u8]) -> bool {
        match &self.value {
            ValuePattern::Any => true,
            ValuePattern::Exact(exact) => **exact == *value,
            ValuePattern::Glob(glob) => glob.is_match(value),
        }
    }
}

impl ValueChoice {
    /// Adds the next value's result.
    fn add(&mut self, fits: bool) {
        self.any_value |= fits;
        self.first_value.get_or_insert(fits);
        self.last_value = fits;
    }
}

impl ReadingTally {
    fn new() -> ReadingTally {
        ReadingTally { some: false, all: true }
    }

    fn add(&mut self, holds: bool) {
        self.some |= holds;
        self.all &= holds;
    }

    fn add_choice(&mut self, choice: ValueChoice, alone: bool) {
        self.add(choice.any_value);
        if alone {
            self.add(choice.first_value == Some(true));
            self.add(choice.last_value);
        }
    }

    fn truth(&self) -> TernaryTruth {
        match (self.some, self.all) {
            (true, true) => TernaryTruth::Yes,
            (true, false) => TernaryTruth::Unsure,
            (false, _) => TernaryTruth::No,
        }
    }
}
