//! `observe` of servers: which answers to clients put them out, and how many.

use crate::document::TomlTable;
use crate::duration;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::health_check::{CheckTimes, INTERVAL};

/// HAProxy's own `error-limit`.
const ERROR_LIMIT: u64 = 10;
/// HAProxy's own `fall` and `rise`.
const FALL: u64 = 3;
const RISE: u64 = 2;
/// The most `failures` and `volume` of `eject`.
const MOST_FAILURES: u64 = 10_000;
/// All statuses that HAProxy takes for errors of a server.
const ERRORS: [&str; 3] = ["500", "\"502-504\"", "\"506-599\""];

/// What a server's line says of errors in answers to clients.
#[derive(Clone, Debug, Default)]
pub struct PassiveCheck {
    observes_answers: bool,
    error_limit: Option<u64>,
    action: ErrorAction,
}

/// What follows so many errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ErrorAction {
    /// As a failed check.
    #[default]
    FailCheck,
    /// The server is down, at once or with the next failed check.
    Down,
    /// Checks are made more often.
    FastChecks,
}

impl PassiveCheck {
    /// Reads a keyword with its value. Others have no effect.
    pub fn read(&mut self, word: &str, value: &str) {
        match word {
            "observe" => self.observes_answers = value == "layer7",
            "error-limit" => self.error_limit = value.parse().ok(),
            "on-error" => {
                self.action = match value {
                    "mark-down" | "sudden-death" => ErrorAction::Down,
                    "fastinter" => ErrorAction::FastChecks,
                    _ => ErrorAction::FailCheck,
                };
            }
            _ => {}
        }
    }
}

impl PassiveCheck {
    /// Failed answers in a row that put a server with this `fall` out.
    fn failures(&self, fall: Option<&str>) -> Option<u64> {
        let limit = self.error_limit.unwrap_or(ERROR_LIMIT).max(1);
        let number = match self.action {
            ErrorAction::FailCheck => limit.saturating_mul(count(fall, FALL)),
            ErrorAction::Down => limit,
            ErrorAction::FastChecks => return None,
        };
        self.observes_answers.then_some(number.min(MOST_FAILURES))
    }

    /// What puts a server out that has these checks. Without checks nothing would bring it back, and HAProxy does not
    /// observe it.
    pub fn limit(&self, times: Option<&CheckTimes>) -> Option<AnswerLimit> {
        let times = times?;
        let failures = self.failures(times.fall.as_deref())?;
        // A server comes back with so many good checks.
        let interval = times.interval.unwrap_or(INTERVAL);
        let out_ms = interval.saturating_mul(count(times.rise.as_deref(), RISE));
        Some(AnswerLimit { failures, out_ms: out_ms.clamp(100, 86_400_000) })
    }
}

fn count(text: Option<&str>, unset: u64) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(unset).max(1)
}

/// Failed answers in a row that put a server out, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnswerLimit {
    failures: u64,
    out_ms: u64,
}

/// Writes which answers put servers of a pool out: none where nothing is observed, which is HAProxy's own.
pub fn write(limit: Option<AnswerLimit>, source: SourcePlace, pool: &mut TomlTable) {
    let Some(AnswerLimit { failures, out_ms }) = limit else {
        return pool.set("eject", value::quote("off"), SourcePlace::NONE);
    };
    let time = duration::format_duration(out_ms);
    let pairs = [
        KeyValue::new("failures", failures.to_string()),
        KeyValue::new("rate", "100"),
        KeyValue::new("truncation-rate", "100"),
        KeyValue::new("min-requests", failures.to_string()),
        KeyValue::new("base-time", time.clone()),
        KeyValue::new("max-time", time),
        // All but one: the last server is never put out.
        KeyValue::new("max-percent", "99"),
        KeyValue::new("on", value::list(ERRORS.map(str::to_owned))),
    ];
    pool.set("eject", value::table(&pairs), source);
}
