//! `LocalRateLimit`: a bucket of tokens as the limit of rules.

use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::reader::{leave_out, note_changed, take_number, take_text, take_time};

/// What a `LocalRateLimit` becomes.
pub enum LimitOutcome {
    /// It is not enabled.
    None,
    Written(String),
    Unwritable,
}

pub fn read_limit(config: &ConfigNode, notes: &mut ConversionNotes) -> LimitOutcome {
    take_text(config, "stat_prefix", notes);
    let mut enabled = true;
    for key in ["filter_enabled", "filter_enforced"] {
        match config.get(key) {
            None => enabled = false,
            Some(field) => {
                let value = field.get("default_value").unwrap_or(field);
                enabled &= take_number(value, "numerator", notes).unwrap_or(0) > 0;
                note_changed(field, "a limit holds for all requests", "`limit` of rules", notes);
            }
        }
    }
    let bucket = config.get("token_bucket");
    let limit = bucket.and_then(|bucket| token_bucket(bucket, notes));
    let outcome = match (enabled, bucket.is_some(), limit) {
        (false, ..) | (_, false, _) => LimitOutcome::None,
        (true, true, Some(limit)) => LimitOutcome::Written(limit),
        (true, true, None) => LimitOutcome::Unwritable,
    };
    for other in config.unread_entries() {
        leave_out(other, "a limit has a rate and a burst", "`limit` of rules", notes);
    }
    if let (LimitOutcome::Written(_), Some(bucket)) = (&outcome, bucket) {
        let reason = "each rule counts for itself what this filter counts together";
        notes.changed(bucket.source, bucket.describe(), reason, "`limit` of rules");
    }
    outcome
}

/// A `TokenBucket` as a rule's `limit`. `None` if it is slower than once in a second.
fn token_bucket(bucket: &ConfigNode, notes: &mut ConversionNotes) -> Option<String> {
    let most = take_number(bucket, "max_tokens", notes)?;
    let fill = take_number(bucket, "tokens_per_fill", notes).unwrap_or(1);
    let every = take_time(bucket, "fill_interval", notes)?;
    let rate = fill.saturating_mul(1_000).checked_div(every.ms)?;
    let pairs =
        [KeyValue::new("rate", rate.to_string()), KeyValue::new("burst", most.max(1).to_string())];
    (rate > 0).then(|| value::table(&pairs))
}
