//! Judges a heartbeat's witness: whether it can be asked, and whether groups can go by it.

use super::super::super::decode::quoted;
use super::super::super::finding::{Sink, Trouble};
use super::super::super::heartbeat::Place;
use super::super::super::section::Section;
use super::super::super::unit::Time;

/// Members of an etcd that are asked.
const ETCD: usize = 9;
/// The priority of an address' owner.
const OWNER: u64 = 255;

/// Judge it.
pub fn verify(
    witness: &Section,
    path: &str,
    heartbeat: &Section,
    groups: &[Section],
    sink: &mut Sink<'_, '_>,
) {
    places(witness, path, sink);
    let every = heartbeat.span("every");
    if witness.span("lease") < every * 4 {
        let trouble = Trouble::new("members would not agree in time before it is over")
            .found(Time(witness.span("lease")).to_string())
            .expected(format!("at least four times `every`, {}", Time(every * 4)));
        sink.error(witness.place_of("lease"), &format!("{path}.lease"), trouble);
    }
    for group in groups {
        let at = |key: &str| (group.place_of(key), format!("vrrp.{}.{key}", quoted(&group.name)));
        if group.count("priority") == Some(OWNER) {
            let (place, path) = at("priority");
            let message = "an owner takes its address whoever else has it, and there is a witness";
            sink.error(place, &path, Trouble::new(message).expected("at most 254"));
        }
        if group.time("dead-man").is_none() && group.wrote("dead-man") {
            let (place, path) = at("dead-man");
            let message = "a daemon that hangs would keep the address, and there is a witness";
            sink.error(place, &path, Trouble::new(message).expected("a time"));
        }
    }
}

fn places(witness: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let (http, etcd) = (witness.text("http"), witness.texts("etcd"));
    if witness.broken("http") || witness.broken("etcd") {
        return;
    }
    let key = if http.is_some() { "http" } else { "etcd" };
    let count = usize::from(http.is_some()) + etcd.len();
    if count == 0 || (http.is_some() && count > 1) || count > ETCD {
        let trouble = Trouble::new("a witness is one server, or one etcd");
        let trouble = trouble.expected("`http` or `etcd`, one to nine members");
        return sink.error(witness.place, path, trouble);
    }
    let all = http.into_iter().chain(etcd.iter().map(String::as_str));
    for text in all {
        let mut wrong = |trouble: Trouble| {
            sink.error(witness.place_of(key), &format!("{path}.{key}"), trouble);
        };
        match Place::parse(text) {
            None => {
                let trouble = Trouble::new("this is no place to ask").found(format!("{text:?}"));
                wrong(trouble.expected("`https://HOST:PORT/PATH` or `http://…`"));
            }
            Some(place) if !place.secure && !place.near() && witness.wrote("token") => {
                let trouble = Trouble::new("without TLS everybody on the way could read the token");
                wrong(trouble.found(format!("{text:?}")).expected("`https://…`"));
            }
            Some(_) => {}
        }
    }
}
