//! The elements of a list between commas, from its end. It parses no element.
//!
//! Reading from the end makes each element independent of those before it: an open quote of a client cannot swallow what
//! a proxy has appended.

/// The elements of one line of a field that are not empty, the last one first.
pub(super) struct BackwardList<'v> {
    /// What is not read yet; `None`: nothing.
    rest: Option<&'v [u8]>,
    /// Whether commas in quoted strings separate nothing (RFC 9110 §5.6.4).
    has_quotes: bool,
}

impl<'v> BackwardList<'v> {
    pub(super) fn plain(line: &'v [u8]) -> BackwardList<'v> {
        BackwardList { rest: Some(line), has_quotes: false }
    }

    pub(super) fn quoting(line: &'v [u8]) -> BackwardList<'v> {
        BackwardList { rest: Some(line), has_quotes: true }
    }
}

impl<'v> Iterator for BackwardList<'v> {
    type Item = &'v [u8];

    fn next(&mut self) -> Option<&'v [u8]> {
        loop {
            let rest = self.rest?;
            let element = match last_comma(rest, self.has_quotes) {
                Some(at) => {
                    self.rest = rest.get(..at);
                    rest.get(at + 1..).unwrap_or_default()
                }
                None => {
                    self.rest = None;
                    rest
                }
            };
            let element = element.trim_ascii();
            if !element.is_empty() {
                return Some(element);
            }
        }
    }
}

/// The place of the last comma, outside of quoted strings where there are some.
fn last_comma(list: &[u8], has_quotes: bool) -> Option<usize> {
    let mut is_quoted = false;
    for (at, byte) in list.iter().enumerate().rev() {
        match byte {
            b'"' if has_quotes && !(is_quoted && is_escaped(list, at)) => is_quoted = !is_quoted,
            b',' if !is_quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Whether an odd number of backslashes stands before this place.
fn is_escaped(list: &[u8], at: usize) -> bool {
    let before = list.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}
