//! The hardware of this machine, for results: nodes, sockets, cores and threads, and each interface. Facts missing in
//! /sys are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Descriptions by part: `processors`, and each interface by name.
pub fn read_topology() -> BTreeMap<String, String> {
    read_topology_from(Path::new("/sys"))
}

fn read_topology_from(sys: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    out.extend(describe_processors(sys).map(|text| ("processors".to_owned(), text)));
    for name in list_names(&sys.join("class/net")) {
        let text = describe_interface(&sys.join("class/net").join(&name));
        out.insert(format!("interface {name}"), text);
    }
    out
}

fn describe_processors(sys: &Path) -> Option<String> {
    let numbered = |folder: &str, prefix: &str| -> Vec<String> {
        let is_one = |name: &String| {
            let number = name.strip_prefix(prefix);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
        };
        list_names(&sys.join(folder)).into_iter().filter(is_one).collect()
    };
    let mut sockets = BTreeSet::new();
    let mut cores = BTreeSet::new();
    let mut threads = 0;
    for name in numbered("devices/system/cpu", "cpu") {
        let place = sys.join("devices/system/cpu").join(name).join("topology");
        // An offline processor has no topology.
        let Some(socket) = read_word(&place.join("physical_package_id")) else { continue };
        let core = read_word(&place.join("core_id")).unwrap_or_default();
        threads += 1;
        cores.insert((socket.clone(), core));
        sockets.insert(socket);
    }
    let nodes = numbered("devices/system/node", "node").len().max(1);
    let sockets = sockets.len();
    let cores = cores.len();
    (threads > 0)
        .then(|| format!("nodes {nodes}, sockets {sockets}, cores {cores}, threads {threads}"))
}

fn describe_interface(place: &Path) -> String {
    let driver = fs::read_link(place.join("device/driver")).ok();
    let driver =
        driver.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let queues = list_names(&place.join("queues"));
    let receive = queues.iter().filter(|name| name.starts_with("rx-")).count();
    // Links without a rate report -1 or nothing.
    let rate =
        read_word(&place.join("speed")).filter(|rate| rate.parse().is_ok_and(|rate: i64| rate > 0));
    let parts = [
        driver.or_else(|| Some("no device".to_owned())),
        read_word(&place.join("operstate")),
        rate.map(|rate| format!("{rate} Mbit/s")),
        read_word(&place.join("mtu")).map(|bytes| format!("mtu {bytes}")),
        Some(format!("receive queues {receive}, send queues {}", queues.len() - receive)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Sorted names in a directory.
fn list_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The trimmed text of a file; `None`: empty or unreadable.
fn read_word(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_processors_and_a_loopback() {
        let found = read_topology();
        assert!(found["processors"].contains("threads "), "{found:?}");
        assert!(found["interface lo"].starts_with("no device, "), "{found:?}");
        assert!(found["interface lo"].contains("mtu "), "{found:?}");
    }

    #[test]
    fn unreadable_topology_is_left_out() {
        assert_eq!(read_topology_from(Path::new("/proc/self/fdinfo")), BTreeMap::new());
    }
}
