//! The URL of a Location or Refresh field that begins as the configuration says, with another beginning.
//!
//! What a server writes behind the beginning chooses no other host: it neither goes on with one nor begins one.

use crate::config::PrefixRewrite;
use crate::config::value_template::{RequestFacts, ValueBudget, ValueTemplate};
use crate::path::push_encoded;

#[derive(Clone, Debug)]
pub struct LocationRewrite {
    from: Vec<u8>,
    /// Bytes of its scheme and host, whose letter case does not count.
    origin: usize,
    to: ValueTemplate,
}

impl LocationRewrite {
    /// `None`: its target is no template.
    pub fn new(written: &PrefixRewrite) -> Option<LocationRewrite> {
        let from = written.from.clone().into_bytes();
        Some(LocationRewrite {
            origin: origin_length(&from),
            to: ValueTemplate::parse(&written.to).ok()?,
            from,
        })
    }

    pub fn wants_forwarded_for(&self) -> bool {
        self.to.wants_forwarded_for()
    }

    /// The new beginning, with what a URL may not have encoded; `None`: the budget is used up.
    pub fn fill(&self, facts: &RequestFacts<'_>, budget: &mut ValueBudget) -> Option<Vec<u8>> {
        let mut filled = Vec::new();
        self.to.fill(facts, budget, &mut filled)?;
        let mut encoded = Vec::with_capacity(filled.len());
        for byte in filled {
            match byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
                true => encoded.push(byte),
                false => push_encoded(&mut encoded, byte),
            }
        }
        Some(encoded)
    }

    /// The URL with its new beginning; `None`: it begins otherwise.
    pub fn rewrite(&self, url: &[u8], to: &[u8]) -> Option<Vec<u8>> {
        let (begin, mut rest) = url.split_at_checked(self.from.len())?;
        let (origin, path) = begin.split_at(self.origin);
        let fits = origin.eq_ignore_ascii_case(&self.from[..self.origin])
            && path == &self.from[self.origin..];
        let whole_host = self.origin == 0 || self.origin < self.from.len();
        let ended = whole_host || matches!(rest.first(), None | Some(b'/' | b'?' | b'#'));
        if !fits || !ended {
            return None;
        }
        let slash = |byte: &u8| matches!(byte, b'/' | b'\\');
        if to.is_empty() || to.ends_with(b"/") {
            let slashes = rest.iter().take_while(|byte| slash(byte)).count();
            let kept = usize::from(to.is_empty() && slashes > 0);
            rest = &rest[slashes - kept..];
        }
        let goes_on = !matches!(rest.first(), None | Some(b'/' | b'?' | b'#'));
        let in_host = !to.is_empty() && origin_length(to) == to.len();
        let between: &[u8] = if goes_on && in_host { b"/" } else { b"" };
        Some([to, between, rest].concat())
    }
}

/// Bytes of the scheme and the host that a URL begins with.
fn origin_length(url: &[u8]) -> usize {
    let Some(at) = url.windows(2).position(|two| two == b"//") else { return 0 };
    if at > 0 && url[at - 1] != b':' {
        return 0;
    }
    let host = url[at + 2..].iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    host.map_or(url.len(), |end| at + 2 + end)
}

/// Where the URL of a Refresh field begins: behind `;`, `url`, `=` and a quote.
pub fn refresh_url(value: &[u8]) -> Option<usize> {
    let blanks = |from: usize| {
        let rest = value.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    };
    let at = blanks(value.iter().position(|byte| matches!(byte, b';' | b','))? + 1);
    if !value.get(at..at + 3)?.eq_ignore_ascii_case(b"url") {
        return None;
    }
    let equals = blanks(at + 3);
    if value.get(equals) != Some(&b'=') {
        return None;
    }
    let begin = blanks(equals + 1);
    let quoted = matches!(value.get(begin), Some(b'"' | b'\''));
    Some(begin + usize::from(quoted))
}
