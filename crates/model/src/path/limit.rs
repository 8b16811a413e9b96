//! How many readings of one path are looked at. It reads nothing.

use super::text::Text;

/// Readings of one path; with more it is refused.
pub const MOST: usize = 32;

/// Characters of all readings of one path together: a long path may have fewer of them.
const MOST_CHARACTERS: usize = 64 * 1_024;

/// How often a path may be encoded: each further level would be one more reading.
pub(super) const MOST_LEVELS: usize = 3;

/// More readings than are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excess;

/// Adds a text that is not there yet.
pub(super) fn add(read: &mut Vec<Text>, text: Text) -> Result<(), Excess> {
    if read.contains(&text) {
        return Ok(());
    }
    let characters: usize = read.iter().map(|text| text.0.len()).sum();
    if read.len() == MOST || characters + text.0.len() > MOST_CHARACTERS {
        return Err(Excess);
    }
    read.push(text);
    Ok(())
}
