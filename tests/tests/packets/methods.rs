//! Forwarding by `mac`, in both versions, in the driver and in the generic hook: requests, datagrams, bulk arrive.
//!
//! What the method promises of addresses is looked at from the server's side.

use std::collections::BTreeMap;
use std::net::IpAddr;

use lab::net::{Checksums, Layout};
use tests::e2e::nginx::Nginx;
use tests::e2e::place::said;
use tests::e2e::plane::{BOTH, Plane, ready};
use tests::e2e::process::Process;
use tests::e2e::tools::program;
use tests::e2e::wait;
use tests::e2e::words::Words;

/// Requests and datagrams of each kind.
const EACH: usize = 12;

fn near(checksums: Checksums) -> Layout {
    Layout { near: 2, checksums, ..Layout::default() }
}

/// Every server answers requests and datagrams, none is lost, and nothing is left unexplained.
fn everything_arrives(plane: &Plane) {
    for version in BOTH {
        let answers = plane.curl(version, EACH);
        let told = || format!("{version:?}: {answers:?}\n{}", plane.told());
        assert_eq!(answers.values().sum::<usize>(), EACH, "{}", told());
        assert_eq!(answers.len(), plane.site.servers.len(), "{}", told());
        for bytes in [1, 1_200] {
            let datagrams = plane.datagrams(version, EACH, bytes);
            assert_eq!(datagrams.len(), plane.site.servers.len(), "{version:?}: {datagrams:?}");
        }
    }
}

/// The address of the client as each server's nginx sees it.
fn sources_seen(plane: &Plane) -> BTreeMap<IpAddr, usize> {
    let mut seen = BTreeMap::new();
    for version in BOTH {
        let url = format!("http://{}/who", version.service());
        let mut curl = plane.site.client.command(program("curl"));
        let answer = {
            curl.args(["-sS", "--max-time", "20", "-g", &url]);
            said(curl)
        };
        assert_eq!(answer.code, 0, "{answer:?}\n{}", plane.told());
        *seen.entry(answer.out.trim().parse().unwrap()).or_default() += 1;
    }
    seen
}

fn with_nginx(forward: &'static str) -> (Plane, Vec<Nginx>) {
    let mut plane = Plane::silent(&near(Checksums::Computed), Words::new(forward, &[0, 1]));
    let who = "location = /who { return 200 \"$remote_addr\\n\"; }";
    let servers = plane.site.servers.iter().enumerate();
    let start = |(number, node): (usize, &lab::net::Node)| {
        Nginx::inside(node.name(), &format!("server{number}"), "80; listen [::]:80", who)
    };
    let servers = servers.map(start).collect();
    plane.start();
    plane.all_up();
    (plane, servers)
}

#[test]
fn mac_in_the_driver() {
    if ready() {
        everything_arrives(&Plane::open(&near(Checksums::Computed), Words::new("mac", &[0, 1])));
    }
}

#[test]
fn mac_in_the_generic_hook_with_checksums_left_to_devices() {
    if ready() {
        let words = Words::new("mac", &[0, 1]).packets("mode = \"generic\"\n");
        everything_arrives(&Plane::open(&near(Checksums::Offloaded), words));
    }
}

/// One service more, for iperf3, whose connections must all reach one server.
fn bulk(forward: &'static str, checksums: Checksums, mode: &str) {
    let mut more = String::new();
    for (name, listen, server) in [
        ("bulk4", "198.51.100.10:5201", "10.10.0.11:5201"),
        ("bulk6", "[2001:db8:e::10]:5201", "[2001:db8:a::b]:5201"),
    ] {
        more.push_str(&format!(
            "[service.{name}]\nlisten = \"{listen}\"\nforward = \"{forward}\"\nprotocol = [\"tcp\", \"udp\"]\n\
             pool = \"{name}\"\n[pool.{name}]\nservers = [\"{server}\"]\n"
        ));
    }
    let words = Words::new(forward, &[0]).packets(&format!("mode = \"{mode}\"\n")).more(&more);
    let plane = Plane::open(&Layout { near: 1, checksums, ..Layout::default() }, words);
    let mut serve = plane.site.servers[0].command(program("iperf3"));
    serve.args(["-s", "-p", "5201", "--forceflush"]);
    let server = Process::start(serve);
    wait::until("iperf3 listens", || server.said().contains("listening"));
    for version in BOTH {
        for direction in [&["-t", "1"][..], &["-t", "1", "-R"]] {
            let ip = version.service().ip().to_string();
            let mut client = plane.site.client.command(program("iperf3"));
            client.args(["-c", &ip, "-p", "5201", "-J", "--connect-timeout", "5000"]);
            let answer = {
                client.args(direction);
                said(client)
            };
            let report: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
            let bytes = report["end"]["sum_received"]["bytes"].as_f64().unwrap_or_default();
            assert!(bytes > 1e6, "{version:?} {direction:?}: {}{}", answer.out, plane.told());
        }
    }
}

#[test]
fn servers_of_direct_return_see_the_client() {
    if !ready() {
        return;
    }
    let (plane, servers) = with_nginx("mac");
    let host = plane.site.client.host;
    let seen = sources_seen(&plane);
    assert_eq!(seen, [(host.v4.into(), 1), (host.v6.into(), 1)].into());
    drop((plane, servers));
}

#[test]
fn bulk_flows_both_ways_by_mac() {
    if ready() {
        bulk("mac", Checksums::Computed, "native");
    }
}

#[test]
fn whole_segments_of_devices_that_compute_checksums_pass_the_generic_hook() {
    if ready() {
        bulk("mac", Checksums::Offloaded, "generic");
    }
}
