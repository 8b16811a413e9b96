//! The path of a request in the forms in which servers may read it.
//!
//! Servers disagree about `%2F`, `\`, `;params`, `//`, `..` and paths that are encoded twice. `readings` takes each step
//! that some server takes, once done and once left out, and returns every result. It compares nothing with rules, and it
//! does not know letter case, trailing dots or blanks, or what a framework makes of a path.

mod limit;
mod step;
mod text;

pub use limit::MOST;
use limit::{Excess, MOST_LEVELS, add};
use text::Text;
pub(crate) use text::push_encoded;

/// What a path may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readings {
    /// One thing.
    One,
    /// One of these, the usual one first.
    Several(Vec<Vec<u8>>),
    /// More than is looked at.
    TooMany,
}

/// Whether every server reads this path as it stands: one scan without a branch, and true for nearly all.
#[inline]
pub fn is_plain(path: &[u8]) -> bool {
    let (mut found, mut before) = (0, 0);
    for &byte in path {
        let class = CLASSES[usize::from(byte)];
        found |= (class & SPECIAL) | ((class >> 1) & before & SLASH);
        before = class;
    }
    found == 0
}

/// A slash.
const SLASH: u8 = 1;
/// Not plain behind a slash.
const BEHIND_SLASH: u8 = 2;
/// Not plain anywhere.
const SPECIAL: u8 = 4;

/// The class of each byte.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    classes[b'%' as usize] = SPECIAL;
    classes[b'\\' as usize] = SPECIAL;
    classes[b';' as usize] = SPECIAL;
    classes[b'/' as usize] = SLASH | BEHIND_SLASH;
    classes[b'.' as usize] = BEHIND_SLASH;
    classes
};

/// The usual reading: visible characters decoded but for `/`, `%`, `?` and `#`, dot segments resolved, several slashes
/// one (RFC 3986 §6.2.2).
pub fn usual(path: &[u8]) -> Vec<u8> {
    if !path.starts_with(b"/") {
        return path.to_vec();
    }
    let decoded = step::decoded(&Text::of(path), false);
    step::settled(decoded).compared()
}

/// Everything that servers may take a path for.
pub fn readings(path: &[u8]) -> Readings {
    if is_plain(path) || !path.starts_with(b"/") {
        return Readings::One;
    }
    let Ok(read) = interpreted(path).and_then(|mut read| {
        step::each(&mut read, step::without_dots)?;
        Ok(read)
    }) else {
        return Readings::TooMany;
    };
    let mut all = vec![usual(path)];
    for text in read {
        let text = text.compared();
        if !all.contains(&text) {
            all.push(text);
        }
    }
    if all.len() == 1 { Readings::One } else { Readings::Several(all) }
}

/// The form in which a path may be sent on: what needs no `%` is decoded, what needs one has it, dot segments are
/// resolved, several slashes are one. `%2F`, `%5C`, `%3B` and `;` stay what they are.
pub fn normal_form(path: &[u8]) -> Vec<u8> {
    if !path.starts_with(b"/") {
        return path.to_vec();
    }
    step::settled(Text::of(path)).sent()
}

/// What a configuration writes of a path, in the form in which paths are compared.
pub fn as_compared(written: &[u8]) -> Vec<u8> {
    if !written.contains(&b'%') {
        return written.to_vec();
    }
    step::decoded(&Text::of(written), false).compared()
}

/// Whether some server would leave the place where this path stands: because of dot segments, or of a host at its
/// beginning.
pub fn leaves(path: &[u8]) -> bool {
    if is_plain(path) {
        return false;
    }
    match interpreted(path) {
        Ok(read) => read.iter().any(|text| text.has_dots() || text.has_authority()),
        Err(Excess) => true,
    }
}

/// All readings before dot segments are resolved at the end.
fn interpreted(path: &[u8]) -> Result<Vec<Text>, Excess> {
    let mut read = vec![Text::of(path)];
    for raw in [step::without_backslashes, step::without_parameters] {
        step::each(&mut read, raw)?;
    }
    for raw in [step::without_empty, step::without_dots] {
        step::each(&mut read, raw)?;
    }
    read = decoded(read)?;
    let mut newest = read.clone();
    for level in 1.. {
        // Between two that decode, one may resolve.
        for between in [step::without_empty, step::without_dots] {
            step::each(&mut newest, between)?;
        }
        newest.retain(Text::has_escapes);
        if newest.is_empty() {
            break;
        }
        if level == MOST_LEVELS {
            return Err(Excess);
        }
        newest = decoded(newest.iter().map(Text::again).collect())?;
        for text in &newest {
            add(&mut read, text.clone())?;
        }
    }
    for step in [
        step::without_backslashes,
        step::without_parameters,
        // Resolved before it is cut, and once more at the end.
        step::without_empty,
        step::without_dots,
        step::cut_at_parameters,
        step::cut_at_zero,
        step::cut_at_query,
        step::without_strange,
        step::without_authority,
        step::without_empty,
    ] {
        step::each(&mut read, step)?;
    }
    Ok(read)
}

/// Each text decoded, strictly and leniently, with `%2F` as a slash and as what it is.
fn decoded(mut read: Vec<Text>) -> Result<Vec<Text>, Excess> {
    step::each(&mut read, step::leniently_decoded)?;
    let mut out = Vec::with_capacity(read.len());
    for text in &read {
        add(&mut out, step::decoded(text, false))?;
        add(&mut out, step::decoded(text, true))?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
