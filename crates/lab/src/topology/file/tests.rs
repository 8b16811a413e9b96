//! Valid and invalid network files, with the expected error messages.

use std::time::Duration;

use super::*;
use crate::link_emulation::LinkFault;

const WAN: &str = r#"
[host.client]
gateway = "10.0.1.1"

[host.server]
gateway = "10.0.2.1"
set = { "net/ipv4/tcp_rmem" = "4096 131072 6291456" }

[router.edge]

[bridge.lan]

[[link]]
ends = ["client", "edge"]
addresses = ["10.0.1.2/24", "10.0.1.1/24"]
delay = "65ms"
rate = "200Mbit/s"
back = { loss = "0.1%", fault = "window-scale" }

[[link]]
ends = ["edge:lan", "lan"]
addresses = [["10.0.2.1/24", "2001:db8:2::1/64"]]

[[link]]
ends = ["lan", "server"]
addresses = [[], "10.0.2.2/24"]
mtu = 9000
"#;

#[test]
fn a_network_is_as_written() {
    let plan = parse_topology(WAN, "wan").unwrap();
    assert_eq!((plan.name.as_str(), plan.nodes.len(), plan.links.len()), ("wan", 4, 3));
    let [far, trunk, near] = plan.links.as_slice() else { panic!() };
    let [there, back] = &far.shapes;
    assert_eq!((there.delay, back.delay), (Duration::from_millis(65), Duration::from_millis(65)));
    assert_eq!((there.loss_ppm, back.loss_ppm), (0, 1_000));
    assert_eq!((there.fault, back.fault), (LinkFault::None, LinkFault::WindowScale));
    assert!(!far.is_plain() && trunk.is_plain() && near.is_plain());
    assert_eq!((near.mtu, far.mtu), (9_000, 1_500));
    assert_eq!(
        (trunk.ends[0].interface.as_str(), trunk.ends[1].interface.as_str()),
        ("lan", "eth0")
    );
    assert_eq!(near.ends[0].interface, "eth1", "the bridge's second");
    let description = "client:eth0 — edge:eth0, there 65ms, 200Mbit/s, back 65ms, 200Mbit/s, 0.1% lost, window scale broken";
    assert_eq!(plan.describe_link(far), description);
    assert_eq!(plan.describe_link(near), "lan:eth1 — server:eth0");
}

/// The error message after replacing a part of the network's file.
fn said(from: &str, to: &str) -> String {
    assert!(WAN.contains(from), "{from}");
    parse_topology(&WAN.replacen(from, to, 1), "wan").unwrap_err().to_string()
}

/// Original text, replacement, and expected message.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "delay = \"65ms\"",
        "delay = \"65\"",
        "link 1, delay: found `65`, expected a time up to 10s, such as \"65ms\"",
    ),
    (
        "delay = \"65ms\"",
        "delay = \"11s\"",
        "link 1, delay: found `11s`, expected a time up to 10s",
    ),
    ("delay = \"65ms\"", "delay = 65", "link 1, delay: found a number, expected a text in quotes"),
    ("delay = ", "dely = ", "link 1: `dely` is not known; did you mean `delay`?"),
    (
        "loss = \"0.1%\"",
        "loss = \"101%\"",
        "link 1, back, loss: found `101%`, expected a share up to 100%",
    ),
    (
        "loss = \"0.1%\"",
        "reorder = \"1%\"",
        "packets back are overtaken, and by how much is not said",
    ),
    ("fault = \"window-scale\"", "fault = \"gremlin\"", "link 1, back, fault: found `gremlin`"),
    (
        "rate = \"200Mbit/s\"",
        "queue = \"64KiB\"",
        "link 1, queue: nothing waits where no rate is set",
    ),
    (
        "\"client\", \"edge\"",
        "\"clint\", \"edge\"",
        "link 1: no node is called `clint`; did you mean `client`?",
    ),
    ("\"client\", \"edge\"", "\"client\"", "link 1, ends: found 1, expected two"),
    ("\"client\", \"edge\"", "\"client\", \"client\"", "link 1: both ends are the same node"),
    ("\"edge:lan\"", "\"edge:eth0\"", "link 2: edge has another link at `eth0`"),
    ("\"edge:lan\"", "\"edge:lo\"", "link 2: `lo` is no interface"),
    ("10.0.1.2/24", "10.0.1.2", "found `10.0.1.2`, expected an address with its network's length"),
    (
        "\"10.0.1.2/24\"",
        "\"10.0.7.2/24\"",
        "link 1: 10.0.7.2/24 and 10.0.1.1/24 are on different networks",
    ),
    (
        "[[], \"10.0.2.2/24\"]",
        "[\"10.0.2.9/24\", \"10.0.2.2/24\"]",
        "link 3: lan is a bridge and has no address",
    ),
    (
        "[[], \"10.0.2.2/24\"]",
        "[[], \"10.0.1.2/24\"]",
        "server: client has the address 10.0.1.2 as well",
    ),
    (
        "gateway = \"10.0.1.1\"",
        "gateway = \"10.0.9.1\"",
        "host client: 10.0.9.1 is on none of its networks; it has 10.0.1.2/24",
    ),
    (
        "gateway = \"10.0.1.1\"",
        "gateway = \"edge\"",
        "host client, gateway: found `edge`, expected an address",
    ),
    (
        "net/ipv4/tcp_rmem",
        "kernel/panic",
        "host server, set: found `kernel/panic`, expected a setting of the network",
    ),
    ("net/ipv4/tcp_rmem", "net/../kernel/panic", "expected a setting of the network"),
    ("[bridge.lan]", "[bridge.lan]\ngateway = \"10.0.2.1\"", "bridge lan: `gateway` is not known"),
    ("[bridge.lan]", "[bridge.lan]\n[host.idle]", "host idle: no link leads to it"),
    ("[bridge.lan]", "[bridge.lan]\n[host.lan]", "another node has this name"),
    ("[bridge.lan]", "[bridge.lan]\n[host.\"a b\"]", "host a b: expected a name of letters"),
    ("mtu = 9000", "mtu = 100", "link 3, mtu: found 100, expected a number from 1280 to 65535"),
    ("[router.edge]", "[ruoter.edge]", "the file: `ruoter` is not known; did you mean `router`?"),
    ("[[link]]", "[link", "line 13, column 6: the header is not closed: expected `]`"),
];

#[test]
fn mistakes_say_where_what_and_what_to_do() {
    for (from, to, says) in MISTAKES {
        let found = said(from, to);
        assert!(found.contains(says), "{to}: `{says}` is not in: {found}");
    }
    assert!(parse_topology("", "x").unwrap_err().to_string().contains("no host"));
    assert!(
        parse_topology("name = \"a/b\"", "x")
            .unwrap_err()
            .to_string()
            .contains("name: found `a/b`")
    );
    let many: String = (0..70).map(|n| format!("[host.h{n}]\n")).collect();
    assert!(parse_topology(&many, "x").unwrap_err().to_string().contains("70 nodes; at most 64"));
}

proptest::proptest! {
    #[test]
    fn no_file_is_too_odd_to_be_read(at in 0..WAN.len(), cut in 0..40_usize, put in "[a-z0-9 =\"\\[\\]{}.,:/%-]{0,12}") {
        let text = format!("{}{put}{}", &WAN[..at], &WAN[(at + cut).min(WAN.len())..]);
        match parse_topology(&text, "odd") {
            Ok(plan) => proptest::prop_assert!(plan.nodes.len() <= 64 && plan.links.len() <= 4),
            Err(error) => proptest::prop_assert!(!error.to_string().is_empty()),
        }
    }
}
