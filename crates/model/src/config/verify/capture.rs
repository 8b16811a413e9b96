//! Judges captures that rules make: a rule says when, and of which service.

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::resolve::Effective;
use super::super::section::Section;
use super::super::suggest::nearest;

/// What says when.
const WHEN: [&str; 4] = ["latency", "cause", "from", "errors"];

/// Judge all of them. `whole`: the file was read to its end.
pub fn verify(effective: &Effective, whole: bool, sink: &mut Sink<'_, '_>) {
    for rule in &effective.captures {
        let path = format!("capture.{}", quoted(&rule.name));
        if whole && !WHEN.iter().any(|key| rule.wrote(key)) {
            let trouble = Trouble::new("nothing says when a capture is made").found("nothing");
            let expected = "`latency`, `cause`, `from` or `errors`";
            sink.error(rule.place, &path, trouble.expected(expected));
        }
        if rule.wrote("errors") && WHEN[..3].iter().any(|key| rule.wrote(key)) {
            let message = "failures are counted over a service, not for single exchanges";
            let trouble = Trouble::new(message);
            let trouble = trouble.expected("`errors` in a capture of its own");
            sink.error(rule.place_of("errors"), &format!("{path}.errors"), trouble);
        }
        service(rule, &path, effective, whole, sink);
    }
}

fn service(
    rule: &Section,
    path: &str,
    effective: &Effective,
    whole: bool,
    sink: &mut Sink<'_, '_>,
) {
    let Some(name) = rule.text("service").filter(|_| whole) else { return };
    let found = effective.services.iter().find(|service| service.name == name);
    let key = format!("{path}.service");
    match found.map(|service| service.text("forward")) {
        None => {
            let names = effective.services.iter().map(|service| service.name.as_str());
            let near = if sink.searches() { nearest(name, names) } else { None };
            let trouble = Trouble::new(format!("there is no service `{name}`"))
                .expected("the name of a table `[service.NAME]`")
                .suggest(near.map(|name| format!("\"{name}\"")));
            sink.error(rule.place_of("service"), &key, trouble);
        }
        Some(Some("mac" | "nat" | "tunnel")) => {
            let message = "exchanges of packet services are not measured, so nothing calls for one";
            let trouble = Trouble::new(message).expected("a service with `http` or `tcp`");
            sink.error(rule.place_of("service"), &key, trouble);
        }
        Some(_) => {}
    }
}
