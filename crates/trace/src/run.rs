//! Reads captures to their end, one after the other, into one analysis.
//!
//! Progress is told in bytes to whoever wants it. Damage ends a file, not the analysis: what came before counts.

use std::io::Read;

use crate::analysis::Analysis;
use crate::compose::Source;
use crate::input::{Capture, Damage};

/// How a file ended.
#[derive(Debug)]
pub enum Outcome {
    /// At its end.
    Whole,
    /// With damage; frames before it were taken.
    Partial(Damage),
}

/// Frames between two calls of `progress`.
const EVERY: u64 = 65_536;

/// Takes all frames of a capture.
///
/// # Errors
///
/// When nothing in it could be understood.
pub fn read<R: Read>(
    analysis: &mut Analysis,
    source: &mut Source,
    name: &str,
    from: R,
    mut progress: impl FnMut(u64),
) -> Result<Outcome, Damage> {
    source.files.push(name.to_owned());
    let mut capture = Capture::open(from)?;
    let mut frames = 0_u64;
    let outcome = loop {
        match capture.frame() {
            Ok(Some(frame)) => {
                analysis.take(&frame);
                frames += 1;
            }
            Ok(None) => break Outcome::Whole,
            Err(damage) => break Outcome::Partial(damage),
        }
        if frames.is_multiple_of(EVERY) {
            progress(capture.offset());
        }
    };
    source.drops += capture.drops();
    source.snaplen = source.snaplen.max(capture.snaplen());
    if let Outcome::Partial(damage) = &outcome {
        source.damage.get_or_insert(format!("{name}: {damage}"));
    }
    Ok(outcome)
}
