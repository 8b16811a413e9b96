//! Named values of a request that a condition compares: fields, cookies, parameters.
//!
//! Servers do not read them alike, so each is compared in every reading that `head`, `cookie` and `query` know. What
//! follows from a doubt is the rule's matter.

use regex::bytes::Regex;

use super::glob::{literal, value_glob};
use super::those::Truth;
use crate::config::Match;
use crate::cookie::{self, CookieSyntax};
use crate::head::Head;
use crate::query::{self, Separators};

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

/// Named values, one of which must be there.
#[derive(Debug)]
pub struct Values {
    kind: Kind,
    each: Box<[ValueMatch]>,
}

/// A named value and what it must be.
#[derive(Debug)]
struct ValueMatch {
    name: Box<[u8]>,
    value: Text,
}

#[derive(Debug)]
enum Text {
    Any,
    Exact(Box<[u8]>),
    Glob(Regex),
}

/// What servers come to that take any, the first or the last of several values of one name.
#[derive(Clone, Copy, Default)]
struct Choice {
    any: bool,
    first: Option<bool>,
    last: bool,
}

/// What readings come to.
struct Tally {
    some: bool,
    all: bool,
}

impl Values {
    /// Compiles what was written.
    pub fn new(kind: Kind, written: &[Match]) -> Values {
        Values { kind, each: written.iter().filter_map(ValueMatch::new).collect() }
    }

    /// Whether one of them is there. `refuses`: the rule refuses what fits, and asks for each of several values of a name
    /// alone, too.
    pub fn truth(&self, head: &Head<'_>, refuses: bool) -> Truth {
        match self.kind {
            Kind::Field => self.of_fields(head),
            Kind::Cookie => self.of_cookies(head, refuses),
            Kind::Parameter => self.of_parameters(head, refuses),
        }
    }

    /// A name in another spelling is another name to some servers, the same name to others, and takes the place of the
    /// right one with a third kind.
    fn of_fields(&self, head: &Head<'_>) -> Truth {
        let (mut right, mut both, mut in_place) = (false, false, false);
        for named in &self.each {
            let (mut own, mut other, mut came) = (false, false, false);
            for spelled in head.spellings(&named.name) {
                let fits = named.fits(spelled.value);
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
        let mut tally = Tally::new();
        [right, both, in_place].into_iter().for_each(|holds| tally.add(holds));
        tally.truth()
    }

    fn of_cookies(&self, head: &Head<'_>, refuses: bool) -> Truth {
        let plain = head.field(b"cookie").all(cookie::is_plain);
        let readings = if plain { &CookieSyntax::ALL[..1] } else { &CookieSyntax::ALL[..] };
        let mut tally = Tally::new();
        for reading in readings {
            let choice = self.chosen(|named, choice| {
                for all in head.field(b"cookie") {
                    cookie::each(all, *reading, &named.name, &mut |value| {
                        choice.add(named.fits(value));
                    });
                }
            });
            tally.take(choice, refuses);
        }
        tally.truth()
    }

    /// What fits as it stands or decoded once is there, as in every server; what fits when it is decoded further may be.
    fn of_parameters(&self, head: &Head<'_>, refuses: bool) -> Truth {
        let query = head.query().get(1..).unwrap_or_default();
        let mut tally = Tally::new();
        let any = |one: &dyn Fn(&ValueMatch) -> bool| self.each.iter().any(one);
        let usual = any(&|named| query::any(query, &named.name, |value| named.fits(value)));
        tally.add(usual);
        if !usual {
            let far = any(&|named| query::any_further(query, &named.name, |it| named.fits(it)));
            tally.add(far);
        } else if refuses {
            for separators in Separators::of(query) {
                let choice = self.chosen(|named, choice| {
                    query::each(query, *separators, &named.name, &mut |value| {
                        choice.add(query::fits(value, &|it| named.fits(it)));
                    });
                });
                tally.take(choice, refuses);
            }
        }
        tally.truth()
    }

    fn chosen(&self, visit: impl Fn(&ValueMatch, &mut Choice)) -> Choice {
        let mut all = Choice { first: Some(false), ..Choice::default() };
        for named in &self.each {
            let mut choice = Choice::default();
            visit(named, &mut choice);
            all.any |= choice.any;
            all.first = Some(all.first == Some(true) || choice.first == Some(true));
            all.last |= choice.last;
        }
        all
    }
}

impl ValueMatch {
    fn new(written: &Match) -> Option<ValueMatch> {
        let value = match &written.value {
            None => Text::Any,
            Some(value) => match literal(value) {
                Some(literal) => Text::Exact(literal.as_bytes().into()),
                None => Text::Glob(value_glob(value)?),
            },
        };
        Some(ValueMatch { name: written.name.as_bytes().into(), value })
    }

    fn fits(&self, value: &[u8]) -> bool {
        match &self.value {
            Text::Any => true,
            Text::Exact(exact) => **exact == *value,
            Text::Glob(glob) => glob.is_match(value),
        }
    }
}

impl Choice {
    /// The next value fits or does not.
    fn add(&mut self, fits: bool) {
        self.any |= fits;
        self.first.get_or_insert(fits);
        self.last = fits;
    }
}

impl Tally {
    fn new() -> Tally {
        Tally { some: false, all: true }
    }

    fn add(&mut self, holds: bool) {
        self.some |= holds;
        self.all &= holds;
    }

    fn take(&mut self, choice: Choice, alone: bool) {
        self.add(choice.any);
        if alone {
            self.add(choice.first == Some(true));
            self.add(choice.last);
        }
    }

    fn truth(&self) -> Truth {
        match (self.some, self.all) {
            (true, true) => Truth::Yes,
            (true, false) => Truth::Unsure,
            (false, _) => Truth::No,
        }
    }
}
