//! Judges listening addresses over all services, the metrics endpoint and the API.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::packets::Span;
use super::super::resolve::Effective;
use super::super::schema::OBJECTS;
use super::super::section::Section;
use super::super::source::Place;
use super::method::forwards_packets;

struct Listener<'e> {
    address: SocketAddr,
    path: &'e str,
    place: Place,
}

/// Two on one address are an error. A single address beside all addresses of one port is a warning: the kernel
/// gives it its connections and the other the rest, which may be meant.
pub fn verify(effective: &Effective, sink: &mut Sink<'_, '_>) {
    let paths = listening(effective);
    let mut listeners: Vec<Listener<'_>> = Vec::new();
    for (path, section) in paths.iter().filter(|(_, section)| !forwards_packets(section)) {
        let place = section.place_of("listen");
        if !section.broken("listen")
            && section.sockets("listen").is_empty()
            && !section.spans("listen").is_empty()
        {
            let trouble = Trouble::new("ranges of ports and any port belong to packet forwarding")
                .expected("an address with one port, or a list of them");
            sink.error(place, path, trouble);
        }
        let addresses = section.sockets("listen").iter();
        listeners.extend(addresses.map(|address| Listener { address: *address, path, place }));
    }
    // In the order of the file, so that it is the later one that is complained about.
    listeners.sort_by_key(|listener| listener.place);
    let mut taken: HashMap<SocketAddr, Listener<'_>> = HashMap::new();
    let mut count = 0;
    for listener in listeners {
        count += 1;
        if count == OBJECTS + 1 {
            let message = format!("the file has more than {OBJECTS} listening addresses");
            sink.error(listener.place, listener.path, Trouble::new(message));
            return;
        }
        match taken.get(&listener.address) {
            Some(first) => {
                let line = sink.source().lines.line(first.place);
                let message = format!(
                    "{} is already taken by `{}` at line {line}",
                    listener.address, first.path
                );
                sink.error(listener.place, listener.path, Trouble::new(message));
            }
            None => {
                taken.insert(listener.address, listener);
            }
        }
    }
    spans(&paths, &taken, sink);
    let mut narrow: Vec<&Listener<'_>> =
        taken.values().filter(|one| !one.address.ip().is_unspecified()).collect();
    narrow.sort_by_key(|one| (one.place, one.address));
    for one in narrow {
        let all =
            if one.address.is_ipv4() { [0; 4].into() } else { std::net::IpAddr::from([0u16; 8]) };
        if let Some(wide) = taken.get(&SocketAddr::new(all, one.address.port())) {
            let message = format!(
                "{} is taken out of {} of `{}`: connections to it come here",
                one.address, wide.address, wide.path
            );
            sink.warning(one.place, one.path, Trouble::new(message));
        }
    }
}

/// What listens, each with the path of the key that says where.
fn listening(effective: &Effective) -> Vec<(String, &Section)> {
    effective
        .services
        .iter()
        .map(|service| (format!("service.{}.listen", quoted(&service.name)), service))
        .chain(
            effective
                .global
                .table("metrics")
                .map(|metrics| ("global.metrics.listen".to_owned(), metrics)),
        )
        .chain(
            effective
                .global
                .table("control")
                .filter(|control| control.setting("listen").is_some())
                .map(|control| ("global.control.listen".to_owned(), control)),
        )
        .collect()
}

/// Where packets are forwarded: two services on one port are an error, a wildcard beside a port is not, since the most
/// specific one counts. A proxy's own address is the most specific of all.
fn spans(
    paths: &[(String, &Section)],
    sockets: &HashMap<SocketAddr, Listener<'_>>,
    sink: &mut Sink<'_, '_>,
) {
    type Taken<'p> = (Span, bool, bool, &'p str, Place);
    let mut all: Vec<Taken<'_>> = Vec::new();
    for (path, service) in paths.iter().filter(|(_, section)| forwards_packets(section)) {
        let words = service.words("protocol");
        let (tcp, udp) = (words.contains(&"tcp"), words.contains(&"udp"));
        let place = service.place_of("listen");
        all.extend(
            service.spans("listen").into_iter().map(|span| (span, tcp, udp, path.as_str(), place)),
        );
    }
    if all.len() > OBJECTS
        && let Some((_, _, _, path, place)) = all.get(OBJECTS)
    {
        let message = format!("the file has more than {OBJECTS} listening addresses");
        sink.error(*place, path, Trouble::new(message));
        return;
    }
    all.sort_by_key(|(span, ..)| *span);
    // Ordered by address and first port, a span collides with one before it that reaches farthest, if with any.
    let mut reach: [Option<Taken<'_>>; 2] = [None, None];
    for one in all {
        let (span, tcp, udp, path, place) = one;
        if let Some(port) = span.single().filter(|_| tcp)
            && let Some(proxy) = sockets.get(&SocketAddr::new(span.address, port))
        {
            let line = sink.source().lines.line(proxy.place);
            let message = format!("{span} is already taken by `{}` at line {line}", proxy.path);
            sink.error(place, path, Trouble::new(message));
        }
        for (last, mine) in reach.iter_mut().zip([tcp, udp]) {
            if !mine {
                continue;
            }
            if let Some((other, _, _, path_before, place_before)) =
                last.filter(|(other, ..)| other.collides(span))
            {
                let (first, later) = if place_before <= place {
                    (place_before, place)
                } else {
                    (place, place_before)
                };
                let (by, at) =
                    if place_before <= place { (path_before, path) } else { (path, path_before) };
                let line = sink.source().lines.line(first);
                let message =
                    format!("{span} and {other} overlap: `{by}` at line {line} has it already");
                sink.error(later, at, Trouble::new(message));
                break;
            }
            let farther = last.is_none_or(|(other, ..)| {
                other.address != span.address || other.last < span.last || other.is_any_port()
            });
            if farther {
                *last = Some(one);
            }
        }
    }
}
