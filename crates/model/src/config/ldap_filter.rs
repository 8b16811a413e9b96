//! Search filters of LDAP in their text form (RFC 4515), parsed when the configuration is read. It encodes nothing.

use std::fmt;

use serde::{Serialize, Serializer};

/// Limit for the bytes of one filter.
/// Far above any filter that a health check needs.
const LONGEST: usize = 1_024;
/// Limit for nested parentheses, because the parser recurses.
/// Filters that people write have three or four levels.
const MAX_NESTING: usize = 16;

/// A filter that was parsed without an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LdapFilter {
    text: String,
    node: FilterNode,
}

/// A filter or a part of one (RFC 4511 §4.5.1.7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FilterNode {
    And(Vec<FilterNode>),
    Or(Vec<FilterNode>),
    Not(Box<FilterNode>),
    Present { attribute: String },
    Compare { attribute: String, comparison: FilterComparison, value: Vec<u8> },
    Substrings { attribute: String, parts: FilterSubstrings },
    Extensible(ExtensibleMatch),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FilterComparison {
    Equal,
    GreaterOrEqual,
    LessOrEqual,
    Approximate,
}

/// What stands before, between and after the asterisks; empty parts are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FilterSubstrings {
    pub first: Vec<u8>,
    pub middle: Vec<Vec<u8>>,
    pub last: Vec<u8>,
}

/// A match by a rule: `attribute:dn:rule:=value`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtensibleMatch {
    pub attribute: String,
    pub rule: String,
    /// Parts of the entry's name count as attributes.
    pub matches_name: bool,
    pub value: Vec<u8>,
}

/// Why a filter is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LdapFilterError {
    #[error("the filter is longer than {LONGEST} bytes")]
    Long,
    #[error("the filter has more than {MAX_NESTING} levels of parentheses")]
    Deep,
    #[error("found {found} at byte {at} of the filter, expected {expected}")]
    Syntax { at: usize, found: String, expected: &'static str },
}

impl LdapFilter {
    /// Parses a filter such as `(&(objectClass=person)(mail=*))`.
    ///
    /// # Errors
    /// The text is too long or nested too deeply, or not a filter.
    pub fn new(text: &str) -> Result<LdapFilter, LdapFilterError> {
        if text.len() > LONGEST {
            return Err(LdapFilterError::Long);
        }
        let mut parser = FilterParser { text: text.as_bytes(), at: 0 };
        let node = parser.filter(MAX_NESTING)?;
        match parser.peek() {
            None => Ok(LdapFilter { text: text.to_owned(), node }),
            Some(_) => Err(parser.unexpected("its end")),
        }
    }

    pub fn node(&self) -> &FilterNode {
        &self.node
    }
}

impl fmt::Display for LdapFilter {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}

impl Serialize for LdapFilter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

struct FilterParser<'t> {
    text: &'t [u8],
    at: usize,
}

impl FilterParser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: u8, expected: &'static str) -> Result<(), LdapFilterError> {
        if self.peek() != Some(wanted) {
            return Err(self.unexpected(expected));
        }
        self.at += 1;
        Ok(())
    }

    fn unexpected(&self, expected: &'static str) -> LdapFilterError {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = String::from_utf8_lossy(rest).chars().next();
        let found = found.map_or_else(|| "its end".to_owned(), |found| format!("'{found}'"));
        LdapFilterError::Syntax { at: self.at, found, expected }
    }

    fn filter(&mut self, levels: usize) -> Result<FilterNode, LdapFilterError> {
        let inner = levels.checked_sub(1).ok_or(LdapFilterError::Deep)?;
        self.take(b'(', "`(`")?;
        let node = match self.peek() {
            Some(b'&') => FilterNode::And(self.filters(inner)?),
            Some(b'|') => FilterNode::Or(self.filters(inner)?),
            Some(b'!') => {
                self.at += 1;
                FilterNode::Not(Box::new(self.filter(inner)?))
            }
            _ => self.item()?,
        };
        self.take(b')', "`)`")?;
        Ok(node)
    }

    /// One or more filters after `&` or `|`. Without any they are true and false (RFC 4526), which many servers refuse.
    fn filters(&mut self, levels: usize) -> Result<Vec<FilterNode>, LdapFilterError> {
        self.at += 1;
        let mut all = vec![self.filter(levels)?];
        while self.peek() == Some(b'(') {
            all.push(self.filter(levels)?);
        }
        Ok(all)
    }

    fn item(&mut self) -> Result<FilterNode, LdapFilterError> {
        let attribute = self.name();
        let comparison = match self.peek() {
            Some(b'=') => FilterComparison::Equal,
            Some(b'>') => FilterComparison::GreaterOrEqual,
            Some(b'<') => FilterComparison::LessOrEqual,
            Some(b'~') => FilterComparison::Approximate,
            Some(b':') => return self.extensible(attribute),
            _ => return Err(self.unexpected("`=`, `>=`, `<=`, `~=` or `:=`")),
        };
        if attribute.is_empty() {
            return Err(self.unexpected("the name of an attribute"));
        }
        if comparison != FilterComparison::Equal {
            self.at += 1;
        }
        self.take(b'=', "`=`")?;
        if comparison != FilterComparison::Equal {
            return Ok(FilterNode::Compare { attribute, comparison, value: self.value()? });
        }
        let mut parts = vec![self.value()?];
        while self.peek() == Some(b'*') {
            self.at += 1;
            parts.push(self.value()?);
        }
        let last = parts.pop().unwrap_or_default();
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else {
            return Ok(FilterNode::Compare { attribute, comparison, value: last });
        };
        let middle: Vec<Vec<u8>> = parts.filter(|part| !part.is_empty()).collect();
        if first.is_empty() && middle.is_empty() && last.is_empty() {
            return Ok(FilterNode::Present { attribute });
        }
        let parts = FilterSubstrings { first, middle, last };
        Ok(FilterNode::Substrings { attribute, parts })
    }

    fn extensible(&mut self, attribute: String) -> Result<FilterNode, LdapFilterError> {
        let mut found = ExtensibleMatch { attribute, ..ExtensibleMatch::default() };
        while self.text.get(self.at..self.at + 2) != Some(b":=") {
            self.take(b':', "`:=`")?;
            let word = self.name();
            match word.as_str() {
                "" => return Err(self.unexpected("`dn`, or the name of a matching rule")),
                "dn" if !found.matches_name && found.rule.is_empty() => found.matches_name = true,
                _ if found.rule.is_empty() => found.rule = word,
                _ => return Err(self.unexpected("`:=`")),
            }
        }
        if found.attribute.is_empty() && found.rule.is_empty() {
            return Err(self.unexpected("an attribute or a matching rule before `:=`"));
        }
        self.at += 2;
        found.value = self.value()?;
        Ok(FilterNode::Extensible(found))
    }

    /// The name of an attribute or a rule, with options; empty if there is none.
    fn name(&mut self) -> String {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.;_".contains(byte);
        let rest = self.text.get(self.at..).unwrap_or_default();
        let name: Vec<u8> = rest.iter().copied().take_while(is_part).collect();
        self.at += name.len();
        String::from_utf8_lossy(&name).into_owned()
    }

    /// A value up to `)` or `*`, with `\XX` for any byte.
    fn value(&mut self) -> Result<Vec<u8>, LdapFilterError> {
        let mut value = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b')' | b'*' => break,
                b'(' | 0 => return Err(self.unexpected("a value; `(` is written `\\28`")),
                b'\\' => {
                    let digits = self.text.get(self.at + 1..self.at + 3);
                    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
                    let digits = digits.filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
                    let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                    let Some(decoded) = decoded else {
                        return Err(self.unexpected("`\\` and two hexadecimal digits"));
                    };
                    value.push(decoded);
                    self.at += 3;
                }
                byte => {
                    value.push(byte);
                    self.at += 1;
                }
            }
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> FilterNode {
        LdapFilter::new(text).unwrap_or_else(|error| panic!("{text}: {error}")).node
    }

    fn equal(attribute: &str, value: &[u8]) -> FilterNode {
        let comparison = FilterComparison::Equal;
        FilterNode::Compare { attribute: attribute.into(), comparison, value: value.to_vec() }
    }

    #[test]
    fn filters_of_every_form() {
        assert_eq!(parse("(cn=Babs Jensen)"), equal("cn", b"Babs Jensen"));
        assert_eq!(parse("(o=Parens R Us \\28for all\\29)"), equal("o", b"Parens R Us (for all)"));
        assert_eq!(parse("(seeAlso=)"), equal("seeAlso", b""));
        assert_eq!(parse("(cn;lang-de=ü)"), equal("cn;lang-de", "ü".as_bytes()));
        assert_eq!(
            parse("(objectClass=*)"),
            FilterNode::Present { attribute: "objectClass".into() }
        );
        let substrings = |first: &[u8], middle: &[&[u8]], last: &[u8]| FilterNode::Substrings {
            attribute: "o".into(),
            parts: FilterSubstrings {
                first: first.to_vec(),
                middle: middle.iter().map(|part| part.to_vec()).collect(),
                last: last.to_vec(),
            },
        };
        assert_eq!(parse("(o=univ*of*mich*)"), substrings(b"univ", &[b"of", b"mich"], b""));
        assert_eq!(parse("(o=*x)"), substrings(b"", &[], b"x"));
        assert_eq!(parse("(o=a**b\\2a)"), substrings(b"a", &[], b"b*"));
        let FilterNode::And(all) = parse("(&(a=1)(!(b=2))(|(c>=3)(d<=4)(e~=5)))") else { panic!() };
        assert_eq!(all[1], FilterNode::Not(Box::new(equal("b", b"2"))));
        assert!(matches!(&all[2], FilterNode::Or(parts) if parts.len() == 3));
        let extensible = ExtensibleMatch {
            attribute: "cn".into(),
            rule: "2.4.6.8.10".into(),
            matches_name: true,
            value: b"x".to_vec(),
        };
        assert_eq!(parse("(cn:dn:2.4.6.8.10:=x)"), FilterNode::Extensible(extensible));
        assert!(matches!(parse("(:caseExactMatch:=x)"), FilterNode::Extensible(_)));
    }

    #[test]
    fn mistakes_say_where_and_what_was_expected() {
        for (text, message) in [
            ("", "found its end at byte 0 of the filter, expected `(`"),
            ("cn=x", "found 'c' at byte 0 of the filter, expected `(`"),
            ("(cn=x", "found its end at byte 5 of the filter, expected `)`"),
            ("(cn=x))", "found ')' at byte 6 of the filter, expected its end"),
            ("(&)", "found ')' at byte 2 of the filter, expected `(`"),
            ("(cn)", "found ')' at byte 3 of the filter, expected `=`, `>=`, `<=`, `~=` or `:=`"),
            ("(=x)", "found '=' at byte 1 of the filter, expected the name of an attribute"),
            ("(cn>x)", "found 'x' at byte 4 of the filter, expected `=`"),
            ("(cn>=a*b)", "found '*' at byte 6 of the filter, expected `)`"),
            (
                "(cn=a(b)",
                "found '(' at byte 5 of the filter, expected a value; `(` is written `\\28`",
            ),
            (
                "(cn=\\zz)",
                "found '\\' at byte 4 of the filter, expected `\\` and two hexadecimal digits",
            ),
            (
                "(cn=\\2)",
                "found '\\' at byte 4 of the filter, expected `\\` and two hexadecimal digits",
            ),
            (
                "(:=x)",
                "found ':' at byte 1 of the filter, expected an attribute or a matching rule before `:=`",
            ),
            ("(cn:a:b:=x)", "found ':' at byte 7 of the filter, expected `:=`"),
        ] {
            assert_eq!(LdapFilter::new(text).unwrap_err().to_string(), message, "{text}");
        }
        let deep = format!("{}(a=1){}", "(!".repeat(16), ")".repeat(16));
        assert_eq!(LdapFilter::new(&deep), Err(LdapFilterError::Deep));
        assert_eq!(LdapFilter::new(&"(".repeat(2_000)), Err(LdapFilterError::Long));
    }

    proptest! {
        #[test]
        fn any_text_is_a_filter_or_an_error(text in "[()&|!=<>~:*\\\\a-f0-9 ü]{0,60}") {
            if let Ok(filter) = LdapFilter::new(&text) {
                prop_assert_eq!(filter.to_string(), text);
            }
        }
    }
}
