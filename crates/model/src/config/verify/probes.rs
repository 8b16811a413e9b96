//! Judges one probe or agent: whether it says what to do, whether its keys belong together, whether its times fit.

use super::super::finding::{Sink, Trouble};
use super::super::resolve::probe_kind;
use super::super::section::Section;
use super::super::tables::agent::OF_AGENTS;
use super::super::tables::probe::{FLAGS, KINDS, OF_KINDS};
use super::super::unit::Time;

/// Judge a probe in force.
pub fn verify(probe: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(kind) = probe_kind(probe) else {
        let trouble = Trouble::new("the probe does not say what to do").expected(format!(
            "`tcp = true`, `http = \"/PATH\"`, or another kind: {}, program, tls",
            KINDS.join(", ")
        ));
        sink.error(probe.place, path, trouble);
        return times(probe, path, sink);
    };
    for flag in FLAGS.iter().chain(&["udp", "radius"]) {
        if probe.wrote(flag) && !probe.broken(flag) && !probe.flag(flag) {
            let trouble = Trouble::new(format!("`{flag}` can only be true"))
                .expected(format!("`{flag} = true`, or `probe = \"off\"`"));
            sink.error(probe.place_of(flag), &format!("{path}.{flag}"), trouble);
        }
    }
    for (key, kinds) in OF_KINDS {
        if probe.wrote(key) && !kinds.contains(&kind) && !silent(probe, key) {
            let trouble = Trouble::new(format!("`{key}` means nothing for a probe `{kind}`"))
                .expected(format!("a probe of {}", kinds.join(", ")));
            sink.error(probe.place_of(key), &format!("{path}.{key}"), trouble);
        }
    }
    together(probe, kind, path, sink);
    times(probe, path, sink);
}

/// Judge an agent in force.
pub fn agent(agent: &Section, path: &str, http: bool, sink: &mut Sink<'_, '_>) {
    let kind = agent.text("kind").unwrap_or_default();
    for (key, owners) in OF_AGENTS {
        if agent.wrote(key) && !owners.contains(&kind) && !agent.broken("kind") {
            let trouble = Trouble::new(format!("`{key}` means nothing for an agent `{kind}`"))
                .expected(format!("`kind` {}", owners.join(" or ")));
            sink.error(agent.place_of(key), &format!("{path}.{key}"), trouble);
        }
    }
    if kind == "answers" && !http {
        let message = "answers have a head only in `http` services, and none uses this pool";
        sink.error(agent.place_of("kind"), &format!("{path}.kind"), Trouble::new(message));
    }
    within(agent, &["timeout"], path, sink);
    let (Some(every), Some(age)) = (agent.time("every"), agent.time("age")) else { return };
    if age < every {
        let culprit = if agent.wrote("age") { "age" } else { "every" };
        let message = format!(
            "every report would be too old before the next one: `age` ({}) is shorter than `every` ({})",
            Time(age),
            Time(every)
        );
        sink.error(agent.place_of(culprit), &format!("{path}.{culprit}"), Trouble::new(message));
    }
}

/// Written as the word for nothing, or wrongly, which has been reported.
fn silent(probe: &Section, key: &str) -> bool {
    let unset = matches!(probe.value(key), Some(super::super::value::Value::Unset(_)));
    unset || probe.broken(key)
}

fn together(probe: &Section, kind: &str, path: &str, sink: &mut Sink<'_, '_>) {
    let mut say = |key: &str, message: &str| {
        sink.error(probe.place_of(key), &format!("{path}.{key}"), Trouble::new(message));
    };
    let has = |key: &str| probe.text(key).is_some() || probe.broken(key);
    if kind == "tcp" && has("send") && !has("expect") {
        say("send", "what is sent proves nothing unless `expect` says what must come");
    }
    if kind == "udp" && !has("send") {
        say("udp", "a server answers only what is sent: `send` is missing");
    }
    if kind == "radius" && !has("secret-file") {
        say("radius", "`secret-file` is missing: only a signed question is answered");
    }
    if kind == "ldap" && has("secret-file") && !has("user") {
        say("secret-file", "a password needs a `user`");
    }
    if kind == "program" && !probe.broken("program") && !has_root(probe.text("program")) {
        say("program", "the path must be absolute: it begins with `/`");
    }
    let bodiless = probe.text("method").is_some_and(|method| method == "HEAD");
    for key in ["expect", "digest"] {
        if bodiless && has(key) && matches!(kind, "http" | "http2") {
            say(key, "an answer to HEAD has no body to look at");
        }
    }
}

fn has_root(path: Option<&str>) -> bool {
    path.is_some_and(|path| path.starts_with('/'))
}

fn times(probe: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    within(probe, &["timeout", "doubt"], path, sink);
}

/// Times that must not be longer than the interval.
fn within(section: &Section, keys: &[&str], path: &str, sink: &mut Sink<'_, '_>) {
    let Some(every) = section.time("every") else { return };
    for key in keys {
        let Some(time) = section.time(key).filter(|time| *time > every) else { continue };
        let culprit = if section.wrote(key) { key } else { "every" };
        let message = format!("`{key}` ({}) is longer than `every` ({})", Time(time), Time(every));
        sink.error(section.place_of(culprit), &format!("{path}.{culprit}"), Trouble::new(message));
    }
}
