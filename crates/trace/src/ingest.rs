//! Reads captures completely, one after the other, into one analysis.
//!
//! Progress is reported in bytes. Damage ends a file, not the analysis: earlier frames count. So does the number of frames
//! that can be told apart.

use std::io::Read;

use crate::analysis::{Analysis, MAX_FRAMES};
use crate::input::{CaptureDamage, CaptureReader};
use crate::report_builder::CaptureSource;

/// How a file ended.
#[derive(Debug)]
pub enum ReadOutcome {
    Complete,
    /// Damaged; frames before the damage were analysed.
    Partial(CaptureDamage),
}

/// Frames between two calls of `progress`.
const EVERY: u64 = 65_536;

/// Analyses all frames of a capture.
///
/// # Errors
///
/// When no part of the file could be read.
pub fn ingest_capture<R: Read>(
    analysis: &mut Analysis,
    source: &mut CaptureSource,
    name: &str,
    from: R,
    mut progress: impl FnMut(u64),
) -> Result<ReadOutcome, CaptureDamage> {
    source.files.push(name.to_owned());
    let mut capture = CaptureReader::open(from)?;
    let mut frames = 0_u64;
    let outcome = loop {
        match capture.frame() {
            Ok(Some(_)) if analysis.is_full() => {
                break ReadOutcome::Partial(CaptureDamage::Frames { most: MAX_FRAMES });
            }
            Ok(Some(frame)) => {
                analysis.add_frame(&frame);
                frames += 1;
            }
            Ok(None) => break ReadOutcome::Complete,
            Err(damage) => break ReadOutcome::Partial(damage),
        }
        if frames.is_multiple_of(EVERY) {
            progress(capture.offset());
        }
    };
    source.drops += capture.drops();
    source.snaplen = source.snaplen.max(capture.snaplen());
    if let ReadOutcome::Partial(damage) = &outcome {
        source.damage.get_or_insert(format!("{name}: {damage}"));
    }
    Ok(outcome)
}
