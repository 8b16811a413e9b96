//! The path of a request in the forms in which servers may interpret it.
//!
//! Servers disagree about `%2F`, `\`, `;params`, `//`, `..` and paths that are encoded twice. `possible_readings` takes
//! each step that some server takes, once done and once left out, and returns every result. Rules are compared
//! elsewhere. Letter case, trailing dots or blanks, and what a framework makes of a path are out of scope.

mod limit;
mod text;
mod transform;

pub use limit::MAX_READINGS;
use limit::{MAX_DECODINGS, TooManyReadings, add_reading};
use text::PathText;
pub(crate) use text::push_encoded;

/// The possible readings of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathReadings {
    One,
    /// One of these, the usual one first.
    Several(Vec<Vec<u8>>),
    /// More than `MAX_READINGS`.
    TooMany,
}

/// Whether every server reads this path as written: one scan without a branch, and true for nearly all paths.
#[inline]
pub fn is_plain(path: &[u8]) -> bool {
    let mut special = 0;
    let mut before = 0;
    for &byte in path {
        let class = CLASSES[usize::from(byte)];
        special |= (class & SPECIAL) | ((class >> 1) & before & SLASH);
        before = class;
    }
    special == 0
}

/// Bits of a class. `AFTER_SLASH` must be twice `SLASH`: the loop above shifts one onto the other.
const SLASH: u8 = 1;
/// Not plain after a slash.
const AFTER_SLASH: u8 = 2;
const SPECIAL: u8 = 4;

/// The class of each byte.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    classes[b'%' as usize] = SPECIAL;
    classes[b'\\' as usize] = SPECIAL;
    classes[b';' as usize] = SPECIAL;
    classes[b'/' as usize] = SLASH | AFTER_SLASH;
    classes[b'.' as usize] = AFTER_SLASH;
    classes
};

/// The usual reading: visible characters are decoded except `/`, `%`, `?` and `#`, dot segments are resolved, and
/// repeated slashes are merged (RFC 3986 §6.2.2).
pub fn usual_form(path: &[u8]) -> Vec<u8> {
    if !path.starts_with(b"/") {
        return path.to_vec();
    }
    let decoded = transform::decoded(&PathText::from_bytes(path), false);
    transform::normalize_segments(decoded).comparison_form()
}

/// All readings that servers may have of a path.
pub fn possible_readings(path: &[u8]) -> PathReadings {
    if is_plain(path) || !path.starts_with(b"/") {
        return PathReadings::One;
    }
    let Ok(read) = interpretations(path).and_then(|mut read| {
        transform::apply_to_each(&mut read, transform::without_dots)?;
        Ok(read)
    }) else {
        return PathReadings::TooMany;
    };
    let mut all = vec![usual_form(path)];
    for text in read {
        let text = text.comparison_form();
        if !all.contains(&text) {
            all.push(text);
        }
    }
    if all.len() == 1 { PathReadings::One } else { PathReadings::Several(all) }
}

/// The form in which a path is forwarded: only characters that need an encoding have one, dot segments are resolved,
/// and repeated slashes are merged. `%2F`, `%5C`, `%3B` and `;` stay as they are.
pub fn normal_form(path: &[u8]) -> Vec<u8> {
    if !path.starts_with(b"/") {
        return path.to_vec();
    }
    transform::normalize_segments(PathText::from_bytes(path)).sendable_form()
}

/// A path from the configuration, in the form in which paths are compared.
pub fn comparison_form(written: &[u8]) -> Vec<u8> {
    if !written.contains(&b'%') {
        return written.to_vec();
    }
    transform::decoded(&PathText::from_bytes(written), false).comparison_form()
}

/// Whether some server would leave the prefix of this path: because of dot segments, or of a host at its beginning.
pub fn escapes_prefix(path: &[u8]) -> bool {
    if is_plain(path) {
        return false;
    }
    match interpretations(path) {
        Ok(read) => read.iter().any(|text| text.has_dots() || text.has_authority()),
        Err(TooManyReadings) => true,
    }
}

/// All readings before dot segments are resolved at the end.
fn interpretations(path: &[u8]) -> Result<Vec<PathText>, TooManyReadings> {
    let mut read = vec![PathText::from_bytes(path)];
    for raw in [transform::without_backslashes, transform::without_parameters] {
        transform::apply_to_each(&mut read, raw)?;
    }
    for raw in [transform::without_empty, transform::without_dots] {
        transform::apply_to_each(&mut read, raw)?;
    }
    read = decoded_variants(read)?;
    let mut newest = read.clone();
    for level in 1.. {
        // A server may resolve dot segments between two decodings.
        for between in [transform::without_empty, transform::without_dots] {
            transform::apply_to_each(&mut newest, between)?;
        }
        newest.retain(PathText::has_escapes);
        if newest.is_empty() {
            break;
        }
        if level == MAX_DECODINGS {
            return Err(TooManyReadings);
        }
        newest = decoded_variants(newest.iter().map(PathText::decode_once_more).collect())?;
        for text in &newest {
            add_reading(&mut read, text.clone())?;
        }
    }
    for step in [
        transform::without_backslashes,
        transform::without_parameters,
        // Resolved before the cut, and again at the end.
        transform::without_empty,
        transform::without_dots,
        transform::cut_at_parameters,
        transform::cut_at_zero,
        transform::cut_at_query,
        transform::without_strange,
        transform::without_authority,
        transform::without_empty,
    ] {
        transform::apply_to_each(&mut read, step)?;
    }
    Ok(read)
}

/// Each text decoded, strictly and leniently, with `%2F` as a slash and as itself.
fn decoded_variants(mut read: Vec<PathText>) -> Result<Vec<PathText>, TooManyReadings> {
    transform::apply_to_each(&mut read, transform::leniently_decoded)?;
    let mut out = Vec::with_capacity(read.len());
    for text in &read {
        add_reading(&mut out, transform::decoded(text, false))?;
        add_reading(&mut out, transform::decoded(text, true))?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
