//! Judges listening addresses over all services and the metrics endpoint.

use std::collections::HashMap;
use std::net::SocketAddr;

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::resolve::Effective;
use super::super::schema::OBJECTS;
use super::super::section::Section;
use super::super::source::Place;

struct Listener<'e> {
    address: SocketAddr,
    path: &'e str,
    place: Place,
}

/// Two on one address are an error. A single address beside all addresses of one port is a warning: the kernel
/// gives it its connections and the other the rest, which may be meant.
pub fn verify(effective: &Effective, sink: &mut Sink<'_, '_>) {
    let paths: Vec<(String, &Section)> = effective
        .services
        .iter()
        .map(|service| (format!("service.{}.listen", quoted(&service.name)), service))
        .chain(
            effective
                .global
                .table("metrics")
                .map(|metrics| ("global.metrics.listen".to_owned(), metrics)),
        )
        .collect();
    let mut listeners: Vec<Listener<'_>> = Vec::new();
    for (path, section) in &paths {
        let place = section.place_of("listen");
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
