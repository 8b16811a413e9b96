//! Judges the API over TCP, hooks, schedules and sources of servers.

use std::collections::HashSet;

use super::super::finding::{Sink, Trouble};
use super::super::section::Section;

/// Hooks: each program by its whole path, each name once.
pub fn hooks(global: &Section, sink: &mut Sink<'_, '_>) {
    let mut names = HashSet::new();
    for (at, hook) in global.list("hook").iter().enumerate() {
        let path = format!("global.hook[{at}]");
        if let Some(run) = hook.text("run").filter(|run| !run.starts_with('/')) {
            let trouble = Trouble::new(format!("`{run}` is not a whole path"))
                .expected("a path from the root: no shell and no PATH looks for it");
            sink.error(hook.place_of("run"), &format!("{path}.run"), trouble);
        }
        if let Some(name) = hook.text("name").filter(|name| !names.insert((*name).to_owned())) {
            let trouble = Trouble::new(format!("two hooks are named `{name}`"));
            sink.error(hook.place_of("name"), &format!("{path}.name"), trouble);
        }
    }
}

/// The API over TCP: from elsewhere only with TLS and tokens; what belongs to it says nothing without it.
pub fn remote(global: &Section, sink: &mut Sink<'_, '_>) {
    let Some(control) = global.table("control") else { return };
    let Some(listen) = control.sockets("listen").first() else {
        for key in ["tokens", "certificate", "client-authorities", "hosts"] {
            if control.setting(key).is_some() && !control.broken("listen") {
                let message = format!("`{key}` says nothing: the API is not served over TCP");
                let trouble =
                    Trouble::new(message).expected("`listen = \"127.0.0.1:9180\"` beside it");
                sink.error(control.place_of(key), &format!("global.control.{key}"), trouble);
            }
        }
        return;
    };
    if control.setting("client-authorities").is_some() {
        for key in ["certificate", "tokens"] {
            if control.setting(key).is_none() {
                let message = format!("`client-authorities` says nothing without `{key}`");
                let trouble = Trouble::new(message).expected(
                    "`certificate` to speak TLS with, and `tokens` to say what each client may do",
                );
                let place = control.place_of("client-authorities");
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
            let trouble = Trouble::new(message).expected(format!("a loopback address, or `{key}`"));
            sink.error(control.place_of("listen"), "global.control.listen", trouble);
        }
    }
}

/// Schedules: each says what it wants.
pub fn schedule(section: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    for (at, rule) in section.list("schedule").iter().enumerate() {
        if rule.setting("drain").is_none() && rule.setting("disable").is_none() {
            let trouble = Trouble::new("the schedule does not say what it wants")
                .expected("`drain = \"22:00-06:00\"` or `disable = \"22:00-06:00\"`");
            sink.error(rule.place, &format!("{path}.schedule[{at}]"), trouble);
        }
    }
}

/// A source: a name or a file, and a port where no record brings one.
pub fn discovery(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(from) = pool.table("servers-from") else { return };
    let path = format!("{path}.servers-from");
    let dns = from.setting("dns").is_some();
    if !dns && from.setting("file").is_none() {
        let trouble = Trouble::new("the source does not say where to look")
            .expected("`dns = \"web.internal\"` or `file = \"/etc/steelyard/web\"`");
        sink.error(from.place, &path, trouble);
    }
    let srv = from.text("type") == Some("srv");
    if dns && !srv && from.setting("port").is_none() {
        let trouble = Trouble::new("addresses come without a port").expected("`port = 8080`");
        sink.error(from.place, &format!("{path}.port"), trouble);
    }
    if dns && srv && from.wrote("port") {
        let trouble = Trouble::new("SRV records bring their own port");
        sink.error(from.place_of("port"), &format!("{path}.port"), trouble);
    }
    let (min, max): (Option<u64>, Option<u64>) = (from.count("min"), from.count("max"));
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        let trouble = Trouble::new(format!("at least {min} and at most {max} servers"));
        sink.error(from.place_of("min"), &format!("{path}.min"), trouble);
    }
}
