//! Conversion of keepalived's checkers and instances: what holds without a setting, and blocks that add up.

use convert::dialect::Dialect;
use convert::notes::NoteKind;
use convert::run::convert;

use super::{ConversionCase, rows};

const CHECKERS: &[ConversionCase] = &[
    (
        "real_server 10.0.0.2 80 {\n TCP_CHECK {\n }\n }",
        "interval = \"1m\", timeout = \"5s\", fall = 2, rise = 1, fast-interval = \"1s\"",
        false,
    ),
    (
        "real_server 10.0.0.2 80 {\n HTTP_GET {\n url {\n path /\n }\n }\n }",
        "fall = 2, rise = 1, fast-interval = \"3s\"",
        false,
    ),
    (
        "real_server 10.0.0.2 80 {\n MISC_CHECK {\n misc_path /bin/true\n }\n }",
        "fall = 1, rise = 1",
        false,
    ),
    (
        "delay_loop 20\n real_server 10.0.0.2 80 {\n DNS_CHECK {\n name a.example\n }\n }",
        "interval = \"20s\", timeout = \"5s\", fall = 4, rise = 1, fast-interval = \"20s\"",
        false,
    ),
    // The root of the names is not asked for.
    ("real_server 10.0.0.2 80 {\n DNS_CHECK {\n }\n }", "dns = \"localhost\"", true),
    // A checker has the settings of its server, and these of the virtual server.
    (
        "connect_timeout 2\n retry 4\n delay_loop 9\n real_server 10.0.0.2 80 {\n retry 1\n delay_loop 8\n TCP_CHECK {\n delay_loop 7\n }\n }",
        "interval = \"7s\", timeout = \"2s\", fall = 2",
        false,
    ),
    ("lb_algo fo", "balance = \"round-robin\"", true),
    ("persistence_granularity 255.255.255.0", "sticky = { expire = \"6m\", mask4 = 24 }", false),
];

#[test]
fn checkers_do_what_keepalived_does_without_a_setting() {
    rows(Dialect::Keepalived, CHECKERS);
}

#[test]
fn blocks_of_an_instance_add_up_and_its_protections_are_reported() {
    let instance = |more: &str| {
        let text = format!(
            "vrrp_instance V {{\n interface eth0\n virtual_router_id 5\n {more}\n virtual_ipaddress {{\n 10.0.0.4\n }}\n virtual_ipaddress {{\n 10.0.0.5\n }}\n}}\n"
        );
        let result = convert(&text, "x", Dialect::Keepalived);
        let left = result.notes.iter().filter(|note| note.kind == NoteKind::LeftOut).count();
        assert!(result.text.unwrap().contains("[\"10.0.0.4\", \"10.0.0.5\"]"), "{more}");
        left
    };
    for (setting, left) in [
        ("accept", 0),
        ("no_accept", 1),
        ("strict_mode", 1),
        ("check_unicast_src", 1),
        ("preempt", 0),
    ] {
        assert_eq!(instance(setting), left, "{setting}");
    }
}

#[test]
fn a_virtual_server_whose_group_has_no_address_is_reported() {
    let text = "virtual_server_group g {\n nonsense x\n}\nvirtual_server group g {\n protocol TCP\n real_server 10.0.0.2 80 {\n }\n}\n";
    let result = convert(text, "x", Dialect::Keepalived);
    assert!(result.notes.iter().any(|note| note.line == 4 && note.kind == NoteKind::LeftOut));
    assert_eq!(result.unsettled, 0);
}
