//! Judges the API over TCP, hooks, schedules and sources of servers.

use std::collections::HashSet;

use super::super::finding::{FindingCollector, FindingDetails};
use super::super::section::ConfigSection;

/// Hooks: each program by its whole path, each name once.
pub fn verify_hooks(global: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    let mut names = HashSet::new();
    for (at, hook) in global.list("hook").iter().enumerate() {
        let path = format!("global.hook[{at}]");
        if let Some(run) = hook.text("run").filter(|run| !run.starts_with('/')) {
            let trouble = FindingDetails::new(format!("`{run}` is not a whole path"))
                .with_expected("a path from the root: no shell and no PATH looks for it");
            sink.error(hook.span_of("run"), &format!("{path}.run"), trouble);
        }
        if let Some(name) = hook.text("name").filter(|name| !names.insert((*name).to_owned())) {
            let trouble = FindingDetails::new(format!("two hooks are named `{name}`"));
            sink.error(hook.span_of("name"), &format!("{path}.name"), trouble);
        }
    }
}

/// The API over TCP: from elsewhere only with TLS and tokens; what belongs to it says nothing without it.
pub fn verify_remote_api(global: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    let Some(control) = global.table("control") else { return };
    let Some(listen) = control.sockets("listen").first() else {
        for key in ["tokens", "certificate", "client-authorities", "hosts"] {
            if control.setting(key).is_some() && !control.is_invalid("listen") {
                let message = format!("`{key}` says nothing: the API is not served over TCP");
                let trouble = FindingDetails::new(message)
                    .with_expected("`listen = \"127.0.0.1:9180\"` beside it");
                sink.error(control.span_of(key), &format!("global.control.{key}"), trouble);
            }
        }
        return;
    };
    if control.setting("client-authorities").is_some() {
        for key in ["certificate", "tokens"] {
            if control.setting(key).is_none() {
                let message = format!("`client-authorities` says nothing without `{key}`");
                let trouble = FindingDetails::new(message).with_expected(
                    "`certificate` to speak TLS with, and `tokens` to say what each client may do",
                );
                let place = control.span_of("client-authorities");
                sink.error(place, "global.control.client-authorities", trouble);
            }
        }
    }
    let wanted = [
        ("certificate", "whoever listens on the way would read the tokens"),
        ("tokens", "nobody could use it"),
    ];
    for (key, because) in wanted {
        if !listen.ip().is_loopback() && control.setting(key).is_none() {
            let message =
                format!("{listen} is not a loopback address and has no `{key}`: {because}");
            let trouble = FindingDetails::new(message)
                .with_expected(format!("a loopback address, or `{key}`"));
            sink.error(control.span_of("listen"), "global.control.listen", trouble);
        }
    }
}

/// Schedules: each says what it wants.
pub fn verify_schedule(section: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    for (at, rule) in section.list("schedule").iter().enumerate() {
        if rule.setting("drain").is_none() && rule.setting("disable").is_none() {
            let trouble = FindingDetails::new("the schedule does not say what it wants")
                .with_expected("`drain = \"22:00-06:00\"` or `disable = \"22:00-06:00\"`");
            sink.error(rule.span, &format!("{path}.schedule[{at}]"), trouble);
        }
    }
}

/// A source: a name or a file, and a port where no record brings one.
pub fn verify_discovery(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let Some(from) = pool.table("servers-from") else { return };
    let path = format!("{path}.servers-from");
    let dns = from.setting("dns").is_some();
    if !dns && from.setting("file").is_none() {
        let trouble = FindingDetails::new("the source does not say where to look")
            .with_expected("`dns = \"web.internal\"` or `file = \"/etc/steelyard/web\"`");
        sink.error(from.span, &path, trouble);
    }
    let srv = from.text("type") == Some("srv");
    if dns && !srv && from.setting("port").is_none() {
        let trouble =
            FindingDetails::new("addresses come without a port").with_expected("`port = 8080`");
        sink.error(from.span, &format!("{path}.port"), trouble);
    }
    if dns && srv && from.is_written("port") {
        let trouble = FindingDetails::new("SRV records bring their own port");
        sink.error(from.span_of("port"), &format!("{path}.port"), trouble);
    }
    let (min, max): (Option<u64>, Option<u64>) = (from.count("min"), from.count("max"));
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        let trouble = FindingDetails::new(format!("at least {min} and at most {max} servers"));
        sink.error(from.span_of("min"), &format!("{path}.min"), trouble);
    }
}
