//! `expires`: how long clients may keep an answer.

use crate::duration;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::scope::DirectiveScope;

/// Statuses whose answers `expires` and `add_header` change.
pub const USUAL_STATUSES: &str = "[200, 201, 204, 206, 301, 302, 303, 304, 307, 308]";

/// The fields of an `expires`.
struct ExpiryFields {
    cache_control: String,
    /// `None`: a time that depends on the answer's.
    expires: Option<&'static str>,
}

const FIELDS: [&str; 2] = ["Expires", "Cache-Control"];
const PAST: &str = "Thu, 01 Jan 1970 00:00:01 GMT";

/// The fields of a word of `expires`. `None`: it is none that can be written.
fn read(word: &str) -> Option<ExpiryFields> {
    let no_cache = || ExpiryFields { cache_control: "no-cache".to_owned(), expires: Some(PAST) };
    match word {
        "epoch" => Some(no_cache()),
        "max" => Some(ExpiryFields {
            cache_control: "max-age=315360000".to_owned(),
            expires: Some("Thu, 31 Dec 2037 23:55:55 GMT"),
        }),
        word if word.starts_with('-') => {
            duration::parse_duration(&word[1..], 1_000).map(|_| no_cache())
        }
        word => {
            let seconds = seconds(word)?;
            Some(ExpiryFields { cache_control: format!("max-age={seconds}"), expires: None })
        }
    }
}

/// A time in seconds. Beside the usual units there are months of 30 days and years of 365.
fn seconds(word: &str) -> Option<u64> {
    let days = match word.strip_suffix('y') {
        Some(years) => years.parse::<u64>().ok()?.checked_mul(365),
        None => {
            word.strip_suffix('M').and_then(|months| months.parse::<u64>().ok()?.checked_mul(30))
        }
    };
    match days {
        Some(days) => days.checked_mul(86_400),
        None => duration::parse_duration(word, 1_000).map(|ms| ms / 1_000),
    }
}

/// The entries of `response-add`.
pub fn added_fields(scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) -> Vec<String> {
    let Some(directive) = scope.get("expires") else { return Vec::new() };
    let source = directive.source;
    let text = directive.text();
    if directive.word(0) == "off" {
        directive.mark_converted();
        return Vec::new();
    }
    let Some(fields) = written(scope) else {
        directive.args();
        let reason = "only a time from the answer on, `epoch` and `max` are written";
        notes.left_out(source, &text, reason, "`rewrite.response-add` with Cache-Control");
        return Vec::new();
    };
    let reason = match fields.expires {
        None => {
            "the time stands in Cache-Control alone, and what servers say of it is removed from all answers"
        }
        Some(_) => "what servers say of it is removed from all answers",
    };
    notes.changed(source, &text, reason, "`rewrite.response-add`");
    let control = Some(format!("Cache-Control: {}", fields.cache_control));
    let expires = fields.expires.map(|time| format!("Expires: {time}"));
    let entry = |field: String| {
        value::table(&[
            KeyValue::new("field", value::quote(&field)),
            KeyValue::new("statuses", USUAL_STATUSES),
            KeyValue::new("own", "true"),
        ])
    };
    expires.into_iter().chain(control).map(entry).collect()
}

fn written(scope: &DirectiveScope<'_>) -> Option<ExpiryFields> {
    let directive = scope.get("expires").filter(|one| one.peek(1).is_empty())?;
    read(directive.word(0))
}

/// The fields of servers that are replaced.
pub fn replaced_fields(scope: &DirectiveScope<'_>) -> Vec<String> {
    let fields = written(scope).map(|_| FIELDS.map(str::to_owned).to_vec());
    fields.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_from_now() {
        for (word, control) in [
            ("30d", Some("max-age=2592000")),
            ("1y", Some("max-age=31536000")),
            ("2M", Some("max-age=5184000")),
            ("1h30m", Some("max-age=5400")),
            ("-1", Some("no-cache")),
            ("epoch", Some("no-cache")),
            ("@15h", None),
            ("$x", None),
            ("99999999999999999999y", None),
        ] {
            assert_eq!(read(word).map(|one| one.cache_control).as_deref(), control, "{word}");
        }
    }
}
