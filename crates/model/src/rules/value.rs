//! Named values of a request that a condition compares: fields, cookies, parameters.
//!
//! Servers parse them differently, so each is compared in every reading that `request_head`, `cookie` and `query`
//! provide. The rule decides about ambiguous requests.

use regex::bytes::Regex;

use super::glob::{compile_value_glob, compile_value_pattern, unescape_literal};
use super::list_field::{ListReading, any_element_matches};
use super::reading_set::TernaryTruth;
use crate::config::{FieldPattern, NameValuePattern};
use crate::cookie::{self, CookieSyntax};
use crate::query::{self, QuerySeparators};
use crate::request_head::ParsedHead;

/// The source of a named value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSource {
    Field,
    /// An element of a field that is a list.
    FieldElement,
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
    ExactIgnoreCase(Box<[u8]>),
    Regex(Regex),
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

    /// Compiles expressions for whole values of fields; `None`: one no longer compiles.
    pub fn from_expressions(written: &[FieldPattern]) -> Option<NamedValues> {
        let compile = |field: &FieldPattern| {
            let value = ValuePattern::Regex(compile_value_pattern(&field.pattern)?);
            Some(ValueMatch { name: field.name.as_bytes().into(), value })
        };
        let matchers = written.iter().map(compile).collect::<Option<_>>()?;
        Some(NamedValues { kind: ValueSource::Field, matchers })
    }

    /// Whether one of them matches. `refuses`: the rule denies what it matches, and also tests each of several values
    /// of a name alone.
    pub fn evaluate(&self, head: &ParsedHead<'_>, refuses: bool) -> TernaryTruth {
        match self.kind {
            ValueSource::Field => self.evaluate_fields(head, refuses),
            ValueSource::FieldElement => self.evaluate_elements(head),
            ValueSource::Cookie => self.evaluate_cookies(head, refuses),
            ValueSource::Parameter => self.evaluate_parameters(head, refuses),
        }
    }

    /// Whether a field of an answer is one of them.
    pub fn matches_field(&self, name: &[u8], value: &[u8]) -> bool {
        let is_meant =
            |named: &ValueMatch| named.name.eq_ignore_ascii_case(name) && named.matches(value);
        self.matchers.iter().any(is_meant)
    }

    fn evaluate_fields(&self, head: &ParsedHead<'_>, refuses: bool) -> TernaryTruth {
        let mut tally = ReadingTally::new();
        self.add_spellings(head, refuses, &mut tally, &|named, value| named.matches(value));
        tally.truth()
    }

    /// Lines of a list are one list, so that no server uses one of them alone.
    fn evaluate_elements(&self, head: &ParsedHead<'_>) -> TernaryTruth {
        let quoted = |named: &ValueMatch| {
            head.field_spellings(&named.name).any(|spelled| spelled.value.contains(&b'"'))
        };
        let several = self.matchers.iter().any(quoted);
        let readings = if several { &ListReading::ALL[..] } else { &ListReading::ALL[..1] };
        let mut tally = ReadingTally::new();
        for reading in readings {
            self.add_spellings(head, false, &mut tally, &|named, value| {
                any_element_matches(value, *reading, &|element| named.matches(element))
            });
        }
        tally.truth()
    }

    /// A name in another spelling is another name to some servers, the same name to others, and replaces the right one
    /// in a third kind. `alone`: of several lines of a name the first and the last are also tested alone.
    fn add_spellings(
        &self,
        head: &ParsedHead<'_>,
        alone: bool,
        tally: &mut ReadingTally,
        matches: &dyn Fn(&ValueMatch, &[u8]) -> bool,
    ) {
        let [mut right, mut both, mut in_place] = [ValueChoice::none(); 3];
        for named in &self.matchers {
            let [mut own, mut all, mut other] = [ValueChoice::default(); 3];
            for spelled in head.field_spellings(&named.name) {
                let fits = matches(named, spelled.value);
                let spelling = if spelled.exact { &mut own } else { &mut other };
                spelling.add(fits);
                all.add(fits);
            }
            right.join(own);
            both.join(all);
            in_place.join(if other.first_value.is_some() { other } else { own });
        }
        [right, both, in_place].into_iter().for_each(|choice| tally.add_choice(choice, alone));
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
        let mut all = ValueChoice::none();
        for named in &self.matchers {
            let mut choice = ValueChoice::default();
            visit(named, &mut choice);
            all.join(choice);
        }
        all
    }
}

impl ValueMatch {
    fn new(written: &NameValuePattern) -> Option<ValueMatch> {
        let value = match &written.value {
            None => ValuePattern::Any,
            Some(value) => match unescape_literal(value) {
                Some(literal) if written.ignore_case => {
                    ValuePattern::ExactIgnoreCase(literal.as_bytes().into())
                }
                Some(literal) => ValuePattern::Exact(literal.as_bytes().into()),
                None => ValuePattern::Regex(compile_value_glob(value, written.ignore_case)?),
            },
        };
        Some(ValueMatch { name: written.name.as_bytes().into(), value })
    }

    fn matches(&self, value: &[u8]) -> bool {
        match &self.value {
            ValuePattern::Any => true,
            ValuePattern::Exact(exact) => **exact == *value,
            ValuePattern::ExactIgnoreCase(exact) => exact.eq_ignore_ascii_case(value),
            ValuePattern::Regex(regex) => regex.is_match(value),
        }
    }
}

impl ValueChoice {
    /// No value matches.
    fn none() -> ValueChoice {
        ValueChoice { first_value: Some(false), ..ValueChoice::default() }
    }

    /// One of both matches.
    fn join(&mut self, other: ValueChoice) {
        self.any_value |= other.any_value;
        self.first_value = Some(self.first_value == Some(true) || other.first_value == Some(true));
        self.last_value |= other.last_value;
    }

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
