//! `steelyard doctor server`: its findings are correct, and its commands fix them.

use lab::net::{NetworkNamespace, SiteLayout, SysctlSetting, TestSite, find, run_command};
use serde_json::Value;
use tests::e2e::cli_environment::CommandOutput;
use tests::e2e::packet_balancer::{PacketBalancer, ready};

const SERVICES: [&str; 2] = ["198.51.100.10", "2001:db8:e::10"];

fn doctor(server: &NetworkNamespace, words: &[&str]) -> (i32, Value) {
    let all = [&["doctor", "server", "--json"], &SERVICES[..], words].concat();
    let CommandOutput { code, stdout: out, stderr: err } =
        PacketBalancer::run_verb_on(server, &all);
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
}

/// The failed checks, and all commands that fix them.
fn wrong(answer: &Value) -> (Vec<String>, Vec<String>) {
    let findings = answer["findings"].as_array().unwrap().iter();
    let wrong: Vec<&Value> = findings.filter(|finding| finding["verdict"] == "wrong").collect();
    let commands = wrong.iter().flat_map(|finding| finding["commands"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (wrong.iter().map(|finding| text(&finding["check"])).collect(), commands.map(text).collect())
}

// Rows: I47
#[test]
fn a_server_of_direct_return_is_ready_and_its_commands_mend_it_when_it_is_not() {
    if !ready() {
        return;
    }
    let site = TestSite::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() }).unwrap();
    let server = &site.servers[0];
    let (code, answer) = doctor(server, &[]);
    assert_eq!((code, &answer["ready"]), (0, &Value::Bool(true)), "{answer:#}");

    // An alias with the network's mask, an address that answers ARP and ND, and announcements of it.
    server
        .ip("addr del 198.51.100.10/32 dev lo\naddr add 198.51.100.10/24 dev lo\n\
             addr del 2001:db8:e::10/128 dev lo\naddr add 2001:db8:e::10/64 dev eth0 nodad\n")
        .unwrap();
    server
        .write_sysctls(&[
            SysctlSetting { path: "net/ipv4/conf/all/arp_ignore", value: "0" },
            SysctlSetting { path: "net/ipv4/conf/all/arp_announce", value: "0" },
        ])
        .unwrap();
    let (code, answer) = doctor(server, &[]);
    assert_eq!(code, 1);
    let (checks, commands) = wrong(&answer);
    let expected = ["extra-route", "service-address", "arp-ignore", "arp-announce"];
    assert_eq!(checks, expected, "{answer:#}");
    let people = PacketBalancer::run_verb_on(server, &["doctor", "server", SERVICES[0]]);
    assert!(people.code == 1 && people.stdout.contains("3 wrong; as root:"), "{people:?}");

    for command in &commands {
        let mut shell = server.command(find("sh"));
        run_command(shell.args(["-c", command])).unwrap_or_else(|error| panic!("{error}"));
    }
    let (code, answer) = doctor(server, &[]);
    assert_eq!(code, 0, "{answer:#}");
}

#[test]
fn a_server_of_tunnels_needs_unpacking_and_room() {
    if !ready() {
        return;
    }
    let site = TestSite::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() }).unwrap();
    let server = &site.servers[0];
    let (code, answer) = doctor(server, &["--forward", "tunnel", "--encapsulation", "gre"]);
    assert_eq!(code, 1);
    assert_eq!(wrong(&answer).0, ["decapsulation", "segment-size", "segment-size"], "{answer:#}");
    site.limit_segment_size(server, 1396).unwrap();
    let (_, answer) = doctor(server, &["--forward", "tunnel", "--encapsulation", "gre"]);
    assert_eq!(wrong(&answer).0, ["decapsulation"], "{answer:#}");
    assert_eq!(
        PacketBalancer::run_verb_on(server, &["doctor", "server", "shop"]).code,
        2,
        "no address"
    );
}
