//! Verifies listening addresses of all services, the metrics endpoint and the API.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::listen_range::ListenRange;
use crate::config::schema::MAX_OBJECTS;
use crate::config::section::ConfigSection;
use crate::config::source_text::SourceSpan;
use crate::config::unsupported_keys::forwards_packets;

struct ListenerAddress<'e> {
    address: SocketAddr,
    path: &'e str,
    span: SourceSpan,
}

/// Two listeners on one address are an error. A single address beside a wildcard with the same port is a warning,
/// because it may be intended. The kernel gives the specific address its connections and the wildcard the rest.
pub fn verify_listeners(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    let paths = collect_listeners(effective);
    let mut listeners: Vec<ListenerAddress<'_>> = Vec::new();
    for (path, section) in paths.iter().filter(|(_, section)| !forwards_packets(section)) {
        let place = section.span_of("listen");
        if !section.is_invalid("listen")
            && section.sockets("listen").is_empty()
            && !section.listen_ranges("listen").is_empty()
        {
            let trouble =
                FindingDetails::new("ranges of ports and any port belong to packet forwarding")
                    .with_expected("an address with one port, or a list of them");
            sink.error(place, path, trouble);
        }
        let addresses = section.sockets("listen").iter();
        listeners.extend(addresses.map(|address| ListenerAddress {
            address: *address,
            path,
            span: place,
        }));
    }
    // In the order of the file, so that the later listener gets the message.
    listeners.sort_by_key(|listener| listener.span);
    let mut taken: HashMap<SocketAddr, ListenerAddress<'_>> = HashMap::new();
    let mut count = 0;
    for listener in listeners {
        count += 1;
        if count == MAX_OBJECTS + 1 {
            let message = format!("the file has more than {MAX_OBJECTS} listening addresses");
            sink.error(listener.span, listener.path, FindingDetails::new(message));
            return;
        }
        match taken.get(&listener.address) {
            Some(first) => {
                let line = sink.source().lines.line(first.span);
                let message = format!(
                    "{} is already taken by `{}` at line {line}",
                    listener.address, first.path
                );
                sink.error(listener.span, listener.path, FindingDetails::new(message));
            }
            None => {
                taken.insert(listener.address, listener);
            }
        }
    }
    verify_listen_ranges(&paths, &taken, sink);
    let mut narrow: Vec<&ListenerAddress<'_>> =
        taken.values().filter(|one| !one.address.ip().is_unspecified()).collect();
    narrow.sort_by_key(|one| (one.span, one.address));
    for one in narrow {
        let all =
            if one.address.is_ipv4() { [0; 4].into() } else { std::net::IpAddr::from([0u16; 8]) };
        if let Some(wide) = taken.get(&SocketAddr::new(all, one.address.port())) {
            let message = format!(
                "{} is taken out of {} of `{}`: connections to it come here",
                one.address, wide.address, wide.path
            );
            sink.warning(one.span, one.path, FindingDetails::new(message));
        }
    }
}

/// All listeners with the path of the key that has the address.
fn collect_listeners(effective: &EffectiveSettings) -> Vec<(String, &ConfigSection)> {
    effective
        .services
        .iter()
        .map(|service| (format!("service.{}.listen", quote_key(&service.name)), service))
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

/// With packet forwarding, two services on one port are an error. A wildcard beside a port is allowed, because the most
/// specific range counts; a proxy's own address is the most specific of all.
fn verify_listen_ranges(
    paths: &[(String, &ConfigSection)],
    sockets: &HashMap<SocketAddr, ListenerAddress<'_>>,
    sink: &mut FindingCollector<'_, '_>,
) {
    type Taken<'p> = (ListenRange, bool, bool, &'p str, SourceSpan);
    let mut all: Vec<Taken<'_>> = Vec::new();
    for (path, service) in paths.iter().filter(|(_, section)| forwards_packets(section)) {
        let words = service.keywords("protocol");
        let tcp = words.contains(&"tcp");
        let udp = words.contains(&"udp");
        let place = service.span_of("listen");
        all.extend(
            service
                .listen_ranges("listen")
                .into_iter()
                .map(|span| (span, tcp, udp, path.as_str(), place)),
        );
    }
    if all.len() > MAX_OBJECTS
        && let Some((_, _, _, path, place)) = all.get(MAX_OBJECTS)
    {
        let message = format!("the file has more than {MAX_OBJECTS} listening addresses");
        sink.error(*place, path, FindingDetails::new(message));
        return;
    }
    all.sort_by_key(|(span, ..)| *span);
    // In the order of address and first port, a range can only collide with the earlier range that reaches farthest.
    let mut reach: [Option<Taken<'_>>; 2] = [None, None];
    for one in all {
        let (span, tcp, udp, path, place) = one;
        if let Some(port) = span.exact_port().filter(|_| tcp)
            && let Some(proxy) = sockets.get(&SocketAddr::new(span.address, port))
        {
            let line = sink.source().lines.line(proxy.span);
            let message = format!("{span} is already taken by `{}` at line {line}", proxy.path);
            sink.error(place, path, FindingDetails::new(message));
        }
        for (last, mine) in reach.iter_mut().zip([tcp, udp]) {
            if !mine {
                continue;
            }
            if let Some((other, _, _, path_before, place_before)) =
                last.filter(|(other, ..)| other.overlaps(span))
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
                sink.error(later, at, FindingDetails::new(message));
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
