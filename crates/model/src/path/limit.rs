//! Bounds on the readings of one path. It reads nothing.

use super::text::PathText;

/// Readings of one path; a path with more is refused. Bounds the work for hostile paths.
pub const MAX_READINGS: usize = 32;

/// Characters of all readings of one path together: a long path may have fewer readings. Bounds their memory.
const MAX_CHARACTERS: usize = 64 * 1_024;

/// How often a path may be encoded: each further level would be one more reading.
/// Two proxies that decode, and the server.
pub(super) const MAX_DECODINGS: usize = 3;

/// The path has too many readings.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooManyReadings;

/// Adds a text that is not in the list yet.
pub(super) fn add_reading(read: &mut Vec<PathText>, text: PathText) -> Result<(), TooManyReadings> {
    if read.contains(&text) {
        return Ok(());
    }
    let characters: usize = read.iter().map(|text| text.0.len()).sum();
    if read.len() == MAX_READINGS || characters + text.0.len() > MAX_CHARACTERS {
        return Err(TooManyReadings);
    }
    read.push(text);
    Ok(())
}
