//! Builds heartbeats.

use std::net::IpAddr;
use std::path::PathBuf;

use super::super::heartbeat::{BeatPath, By, Heartbeat, Place, Reach, Witness};
use super::super::section::Section;

pub(super) fn heartbeat(section: &Section) -> Heartbeat {
    let address = |path: &Section, key: &str| {
        path.addresses(key).first().copied().unwrap_or(IpAddr::from([0; 4]))
    };
    let path = |path: &Section| BeatPath {
        local: address(path, "local"),
        peer: address(path, "peer"),
        interface: path.text("interface").map(str::to_owned),
    };
    Heartbeat {
        peer: section.name.clone(),
        name: section.text("name").unwrap_or_default().to_owned(),
        secret: PathBuf::from(section.text("secret").unwrap_or_default()),
        paths: section.list("paths").iter().map(path).collect(),
        port: section.number("port"),
        every: section.span("every"),
        timeout: section.span("timeout"),
        reach: section.table("reach").map(|reach| Reach {
            echo: reach.addresses("echo").to_vec(),
            connect: reach.sockets("connect").to_vec(),
            every: reach.span("every"),
            timeout: reach.span("timeout"),
            rise: reach.number("rise"),
            fall: reach.number("fall"),
            settle: reach.span("settle"),
        }),
        witness: section.table("witness").map(witness),
    }
}

fn witness(section: &Section) -> Witness {
    let etcd = section.texts("etcd");
    let (by, written) = match section.text("http") {
        Some(http) => (By::Http, vec![http]),
        None => (By::Etcd, etcd.iter().map(String::as_str).collect()),
    };
    let file = |key: &str| section.text(key).map(PathBuf::from);
    Witness {
        by,
        at: written.into_iter().filter_map(Place::parse).collect(),
        lease: section.span("lease"),
        token: file("token"),
        ca: file("ca"),
    }
}
