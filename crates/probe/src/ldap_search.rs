//! A search of LDAP (RFC 4511 §4.5): its request, its entries one by one, and what they must be. It opens no connection
//! and keeps no entry.

use model::config::{
    FilterComparison, FilterNode, FilterSubstrings, LdapFilter, LdapScope, LdapSearch, NumberRange,
};
use regex::bytes::Regex;

use crate::ber;
use crate::dialogue::{ProbeResult, printable_text};
use crate::ldap_result::{ENUMERATED, LdapResult, OCTETS, SEQUENCE};

/// Tags of RFC 4511 §4.5.
const SEARCH_REQUEST: u8 = 0x63;
const SEARCH_ENTRY: u8 = 0x64;
const SEARCH_DONE: u8 = 0x65;
const SEARCH_REFERENCE: u8 = 0x73;
const SET: u8 = 0x31;
/// The result of a search that found more than the limit in the request, or than the server gives.
const SIZE_LIMIT_EXCEEDED: i64 = 4;
/// Entries that are read at most; the configuration has no larger range.
const MAX_ENTRIES: u64 = 1_000;
/// The name that asks for no attribute (RFC 4511 §4.5.1.8).
const NO_ATTRIBUTES: &str = "1.1";

/// A search, and what it found so far.
#[derive(Debug)]
pub struct EntrySearch {
    request: Vec<u8>,
    base: String,
    entries: NumberRange,
    attribute: Option<WantedAttribute>,
    found: u64,
    /// The first value that matched.
    matched: Option<String>,
    /// The first value of the attribute, for a message.
    other: Option<String>,
}

#[derive(Debug)]
struct WantedAttribute {
    name: String,
    expect: Option<Regex>,
}

/// What follows an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchStep {
    /// More answers to the search come.
    More,
    Done(ProbeResult),
    NotLdap,
}

impl EntrySearch {
    pub fn new(search: &LdapSearch, expect: Option<Regex>) -> EntrySearch {
        let name = search.attribute.clone();
        EntrySearch {
            request: encode_request(search),
            base: search.base.clone(),
            entries: search.entries,
            attribute: name.map(|name| WantedAttribute { name, expect }),
            found: 0,
            matched: None,
            other: None,
        }
    }

    /// The search as it is sent, without the message around it.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Takes an answer to the search.
    pub fn take_answer(&mut self, tag: u8, contents: &[u8]) -> SearchStep {
        match tag {
            SEARCH_ENTRY => match self.take_entry(contents) {
                None => SearchStep::NotLdap,
                Some(()) if self.is_decided() => SearchStep::Done(self.judge()),
                Some(()) => SearchStep::More,
            },
            SEARCH_REFERENCE => SearchStep::More,
            SEARCH_DONE => match LdapResult::parse(contents) {
                None => SearchStep::NotLdap,
                Some(LdapResult { code: 0 | SIZE_LIMIT_EXCEEDED, .. }) => {
                    SearchStep::Done(self.judge())
                }
                Some(result) => {
                    let base = if self.base.is_empty() { "the root DSE" } else { &self.base };
                    SearchStep::Done(Err(format!("ldap search at {base}: {}", result.describe())))
                }
            },
            _ => SearchStep::NotLdap,
        }
    }

    fn take_entry(&mut self, contents: &[u8]) -> Option<()> {
        self.found += 1;
        let name = ber::read_tagged(OCTETS, contents)?;
        let mut attributes = ber::read_tagged(SEQUENCE, name.rest)?.contents;
        while !attributes.is_empty() {
            let attribute = ber::read_tagged(SEQUENCE, attributes)?;
            attributes = attribute.rest;
            let kind = ber::read_tagged(OCTETS, attribute.contents)?;
            let mut values = ber::read_tagged(SET, kind.rest)?.contents;
            while !values.is_empty() {
                let value = ber::read_tagged(OCTETS, values)?;
                values = value.rest;
                self.take_value(kind.contents, value.contents);
            }
        }
        Some(())
    }

    fn take_value(&mut self, name: &[u8], value: &[u8]) {
        let Some(wanted) = &self.attribute else { return };
        if !is_attribute(name, &wanted.name) || self.matched.is_some() {
            return;
        }
        if wanted.expect.as_ref().is_none_or(|expect| expect.is_match(value)) {
            self.matched = Some(printable_text(value));
        } else if self.other.is_none() {
            self.other = Some(printable_text(value));
        }
    }

    /// Whether further entries change nothing.
    fn is_decided(&self) -> bool {
        let enough = self.entries.max == u64::MAX && self.found >= self.entries.min;
        let complete = enough && (self.attribute.is_none() || self.matched.is_some());
        complete || self.found > self.entries.max || self.found >= MAX_ENTRIES
    }

    fn judge(&self) -> ProbeResult {
        let EntrySearch { found, entries, .. } = self;
        let noun = if *found == 1 { "entry" } else { "entries" };
        if !entries.contains(*found) {
            let more = if found > &entries.max { "at least " } else { "" };
            let expected = describe_range(*entries);
            return Err(format!("ldap search found {more}{found} {noun}, expected {expected}"));
        }
        let Some(WantedAttribute { name, expect }) = &self.attribute else {
            return Ok(format!("ldap search found {found} {noun}"));
        };
        match (&self.matched, &self.other, expect) {
            (Some(value), _, _) => Ok(format!("ldap search found {name}: {value}")),
            (None, Some(value), Some(expect)) => {
                Err(format!("ldap search found {name}: {value}, expected {}", expect.as_str()))
            }
            _ => Err(format!("ldap search found {found} {noun}, none with {name}")),
        }
    }
}

fn describe_range(range: NumberRange) -> String {
    match range {
        NumberRange { min, max: u64::MAX } => format!("at least {min}"),
        NumberRange { min, max } if min == max => min.to_string(),
        NumberRange { min, max } => format!("{min} to {max}"),
    }
}

/// Whether an attribute is the wanted one; options such as `;lang-de` may follow its name (RFC 4512 §2.5).
fn is_attribute(found: &[u8], wanted: &str) -> bool {
    let name = found.split(|byte| *byte == b';').next().unwrap_or_default();
    found.eq_ignore_ascii_case(wanted.as_bytes()) || name.eq_ignore_ascii_case(wanted.as_bytes())
}

fn encode_request(search: &LdapSearch) -> Vec<u8> {
    let LdapSearch { base, scope, filter, entries, attribute, .. } = search;
    let scope = match scope {
        LdapScope::Base => 0,
        LdapScope::One => 1,
        LdapScope::Sub => 2,
    };
    // One more than is allowed shows that there are too many.
    let limit = match (entries.max, attribute) {
        (u64::MAX, None) => entries.min.max(1),
        (u64::MAX, Some(_)) => MAX_ENTRIES,
        (most, _) => most.saturating_add(1),
    };
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    let wanted = attribute.as_deref().unwrap_or(NO_ATTRIBUTES);
    let parts = [
        ber::encode_element(OCTETS, base.as_bytes()),
        ber::encode_element(ENUMERATED, &[scope]),
        // Aliases are not followed; no time limit, because the health check has its own.
        ber::encode_element(ENUMERATED, &[0]),
        ber::encode_integer(limit),
        ber::encode_integer(0),
        ber::encode_element(0x01, &[0]),
        encode_filter(filter),
        ber::encode_element(SEQUENCE, &ber::encode_element(OCTETS, wanted.as_bytes())),
    ];
    ber::encode_element(SEARCH_REQUEST, &parts.concat())
}

fn encode_filter(filter: &LdapFilter) -> Vec<u8> {
    encode_node(filter.node())
}

/// A filter by RFC 4511 §4.5.1.7. Its depth was bounded when it was parsed.
fn encode_node(node: &FilterNode) -> Vec<u8> {
    let all = |parts: &[FilterNode]| parts.iter().flat_map(encode_node).collect::<Vec<u8>>();
    let octets = |bytes: &[u8]| ber::encode_element(OCTETS, bytes);
    match node {
        FilterNode::And(parts) => ber::encode_element(0xa0, &all(parts)),
        FilterNode::Or(parts) => ber::encode_element(0xa1, &all(parts)),
        FilterNode::Not(part) => ber::encode_element(0xa2, &encode_node(part)),
        FilterNode::Compare { attribute, comparison, value } => {
            let tag = match comparison {
                FilterComparison::Equal => 0xa3,
                FilterComparison::GreaterOrEqual => 0xa5,
                FilterComparison::LessOrEqual => 0xa6,
                FilterComparison::Approximate => 0xa8,
            };
            ber::encode_element(tag, &[octets(attribute.as_bytes()), octets(value)].concat())
        }
        FilterNode::Substrings { attribute, parts } => {
            let FilterSubstrings { first, middle, last } = parts;
            let mut inner = Vec::new();
            if !first.is_empty() {
                inner.extend(ber::encode_element(0x80, first));
            }
            middle.iter().for_each(|part| inner.extend(ber::encode_element(0x81, part)));
            if !last.is_empty() {
                inner.extend(ber::encode_element(0x82, last));
            }
            let inner = ber::encode_element(SEQUENCE, &inner);
            ber::encode_element(0xa4, &[octets(attribute.as_bytes()), inner].concat())
        }
        FilterNode::Present { attribute } => ber::encode_element(0x87, attribute.as_bytes()),
        FilterNode::Extensible(wanted) => {
            let mut inner = Vec::new();
            for (tag, name) in [(0x81, &wanted.rule), (0x82, &wanted.attribute)] {
                if !name.is_empty() {
                    inner.extend(ber::encode_element(tag, name.as_bytes()));
                }
            }
            inner.extend(ber::encode_element(0x83, &wanted.value));
            if wanted.matches_name {
                inner.extend(ber::encode_element(0x84, &[0xff]));
            }
            ber::encode_element(0xa9, &inner)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str) -> Vec<u8> {
        encode_filter(&LdapFilter::new(text).unwrap())
    }

    #[test]
    fn filters_are_encoded_by_their_tags() {
        for (text, expected) in [
            ("(a=*)", &b"\x87\x01a"[..]),
            ("(a=b)", b"\xa3\x06\x04\x01a\x04\x01b"),
            ("(a>=b)", b"\xa5\x06\x04\x01a\x04\x01b"),
            ("(a<=b)", b"\xa6\x06\x04\x01a\x04\x01b"),
            ("(a~=b)", b"\xa8\x06\x04\x01a\x04\x01b"),
            ("(!(a=*))", b"\xa2\x03\x87\x01a"),
            ("(&(a=*)(b=*))", b"\xa0\x06\x87\x01a\x87\x01b"),
            ("(|(a=*)(b=*))", b"\xa1\x06\x87\x01a\x87\x01b"),
            ("(a=x*y*z)", b"\xa4\x0e\x04\x01a\x30\x09\x80\x01x\x81\x01y\x82\x01z"),
            ("(a:dn:r:=v)", b"\xa9\x0c\x81\x01r\x82\x01a\x83\x01v\x84\x01\xff"),
        ] {
            assert_eq!(encoded(text), expected, "{text}");
        }
    }

    #[test]
    fn options_of_attributes_are_left_out_of_the_comparison() {
        assert!(is_attribute(b"CN", "cn") && is_attribute(b"cn;lang-de", "cn"));
        assert!(is_attribute(b"cn;lang-de", "cn;lang-de") && !is_attribute(b"cn", "cn;lang-de"));
        assert!(!is_attribute(b"cnx", "cn"));
    }
}
