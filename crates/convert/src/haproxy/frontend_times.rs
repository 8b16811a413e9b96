//! The times of a service towards its clients, from a frontend and its first backend, and those of its rules.

use crate::document::{Document, TomlTable};
use crate::duration::{self, TimeSetting};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::settings::ProxySettings;

/// Writes the times of the service at `path`, the longest ones where none is written: HAProxy waits without an end then.
/// `pool`: the settings of the first backend that the frontend uses.
pub fn write(
    path: &str,
    settings: &ProxySettings,
    pool: Option<&ProxySettings>,
    document: &mut Document,
) {
    let longest = duration::LONGEST_TIMEOUT;
    let mut times = TomlTable::new(format!("{path}.timeout"), SourcePlace::NONE, "");
    let mut set = |key: &'static str, time: TimeSetting| {
        times.set(key, duration::format_duration(time.ms), time.source);
    };
    let client = settings.time_or(&["client"], longest);
    if settings.http {
        set("header", settings.time_or(&["http-request", "client"], longest));
        let idle = ["http-keep-alive", "http-request", "client"];
        set("idle", settings.time_or(&idle, longest));
        set("between-bytes", client);
    }
    set("tunnel", tunnel_time(settings, pool));
    if !settings.http {
        // The longer of both times has no effect then.
        let written = [settings.time("client"), pool.and_then(|pool| pool.time("server"))];
        times.add_sources(
            "tunnel",
            &written.into_iter().flatten().map(|time| time.source).collect::<Vec<_>>(),
        );
    }
    document.push(times);
}

/// The time of a silent tunnel: that of the backend, else of the frontend, else the shorter time of both sides.
fn tunnel_time(settings: &ProxySettings, pool: Option<&ProxySettings>) -> TimeSetting {
    let longest = duration::LONGEST_TIMEOUT;
    let client = settings.time_or(&["client"], longest);
    let server = pool.map(|pool| pool.time_or(&["server"], longest));
    let tunnel = pool.unwrap_or(settings).time("tunnel").or(settings.time("tunnel"));
    match tunnel {
        Some(TimeSetting { ms: 0, source }) => TimeSetting { ms: longest, source },
        Some(tunnel) => TimeSetting { ms: tunnel.ms.min(longest), ..tunnel },
        None => server.filter(|server| server.ms < client.ms).unwrap_or(client),
    }
}

/// The times of a rule that leads to `pool`, where they are not those of the service, whose first backend is `first`.
pub fn rule_times(
    settings: &ProxySettings,
    first: Option<&ProxySettings>,
    pool: &ProxySettings,
    notes: &mut ConversionNotes,
) -> Option<KeyValue> {
    let own = tunnel_time(settings, Some(pool));
    // The times that decide, and those that have no effect beside them.
    let server = pool.time("server").filter(|_| !settings.http);
    for time in [pool.time("tunnel"), server].into_iter().flatten() {
        notes.converted(time.source);
    }
    let tunnel = KeyValue::new("tunnel", duration::format_duration(own.ms));
    (own.ms != tunnel_time(settings, first).ms)
        .then(|| KeyValue::new("timeout", value::table(&[tunnel])))
}
