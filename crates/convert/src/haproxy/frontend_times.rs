//! The times of a service towards its clients, from a frontend and its first backend.

use crate::document::{Document, TomlTable};
use crate::duration::{self, TimeSetting};
use crate::source::SourcePlace;

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
    let server = pool.map(|pool| pool.time_or(&["server"], longest));
    if settings.http {
        set("header", settings.time_or(&["http-request", "client"], longest));
        let idle = ["http-keep-alive", "http-request", "client"];
        set("idle", settings.time_or(&idle, longest));
        set("between-bytes", client);
    }
    // A tunnel belongs to the backend.
    let tunnel = pool.unwrap_or(settings).time("tunnel").or(settings.time("tunnel"));
    let tunnel = match tunnel {
        Some(TimeSetting { ms: 0, source }) => TimeSetting { ms: longest, source },
        Some(tunnel) => TimeSetting { ms: tunnel.ms.min(longest), ..tunnel },
        None => server.filter(|server| server.ms < client.ms).unwrap_or(client),
    };
    set("tunnel", tunnel);
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
