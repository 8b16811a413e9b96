//! The responses that dig, kdig and unbound receive.

use tests::e2e::wait;

use super::setup::{NameServerSetup, ZONE};

/// Lines of a tool's output, sorted, because the order of records varies.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

// Rows: Z01
#[test]
fn dig_and_kdig_understand_every_answer() {
    let Some(world) = NameServerSetup::open(ZONE) else { return };
    for flags in [&["+short"][..], &["+short", "+tcp"], &["+short", "+noedns"]] {
        let ask = |name: &str, kind: &str| world.dig(&[&[name, kind], flags].concat());
        assert!(["127.0.0.11", "127.0.0.12"].contains(&ask("www.gslb.example", "A").as_str()));
        assert_eq!(ask("www.gslb.example", "AAAA"), "");
        assert_eq!(ask("gslb.example", "NS"), "ns.gslb.example.");
        assert!(
            ask("gslb.example", "SOA").starts_with("ns.gslb.example. hostmaster.gslb.example. 1 ")
        );
        let srv = ask("_http._tcp.www.gslb.example", "SRV");
        assert_eq!(sorted(&srv), ["0 1 8080 a.www.gslb.example.", "0 1 8080 b.www.gslb.example."]);
        assert_eq!(ask("b.www.gslb.example", "A"), "127.0.0.12");
        assert!(
            ask("www.gslb.example", "TYPE65").contains("alpn=\"h2,http/1.1\"")
                || ask("www.gslb.example", "TYPE65").contains("1 . alpn")
        );
        assert!(ask("alias.gslb.example", "A").starts_with("www.gslb.example.\n127.0.0.1"));
        assert_eq!(ask("near.gslb.example", "A"), "192.0.2.2");
        assert_eq!(ask("www.gslb.example", "ANY"), "\"RFC8482\" \"\"");
    }
    // dig retries a truncated response over TCP by itself.
    let many = world.dig(&["many.gslb.example", "A", "+short", "+noedns"]);
    assert_eq!(many.lines().count(), 32);
    let cut = world.dig(&["many.gslb.example", "A", "+noedns", "+ignore", "+qr"]);
    assert!(cut.contains("flags: qr aa tc rd;"), "{cut}");
    let tcp = world.kdig(&[
        "+tcp",
        "+keepopen",
        "ns.gslb.example",
        "A",
        "-q",
        "near.gslb.example",
        "-t",
        "AAAA",
    ]);
    assert!(tcp.contains("127.0.0.1") && tcp.contains("2001:db8::2"), "{tcp}");
}

#[test]
fn codes_flags_and_options_are_as_the_standards_say() {
    let Some(world) = NameServerSetup::open(ZONE) else { return };
    let has = |arguments: &[&str], words: &[&str]| {
        let text = world.dig(arguments);
        for word in words {
            assert!(text.contains(word), "{word} of {arguments:?}:\n{text}");
        }
    };
    has(
        &["x.gslb.example", "A"],
        &["status: NXDOMAIN", "flags: qr aa rd;", "SOA", "gslb.example.\t\t1\tIN"],
    );
    has(&["www.gslb.example", "MX"], &["status: NOERROR", "ANSWER: 0, AUTHORITY: 1"]);
    has(&["www.example", "A"], &["status: REFUSED"]);
    has(&["version.bind", "TXT", "CH"], &["status: REFUSED"]);
    has(&["+opcode=notify", "www.gslb.example"], &["status: NOTIMP"]);
    has(&["+edns=1", "+noednsnegotiation", "www.gslb.example"], &["status: BADVERS"]);
    has(&["wWw.gSlB.eXaMpLe", "A"], &["wWw.gSlB.eXaMpLe.\t1\tIN\tA"]);
    has(
        &["+subnet=198.51.100.7/24", "near.gslb.example"],
        &["CLIENT-SUBNET: 198.51.100.0/24/24", "192.0.2.1"],
    );
    has(&["+subnet=198.51.100.7/24", "www.gslb.example"], &["CLIENT-SUBNET: 198.51.100.0/24/0"]);
    has(&["+cookie", "www.gslb.example"], &["COOKIE: ", "(good)", "udp: 1232"]);
    has(&["axfr.gslb.example", "A", "+bufsize=4096"], &["status: NXDOMAIN"]);
}

#[test]
fn a_resolver_in_between_is_content() {
    let Some(mut world) = NameServerSetup::open(ZONE) else { return };
    world.resolve();
    assert!(world.resolved("www.gslb.example", "A").contains("127.0.0.1"));
    assert!(world.resolved("alias.gslb.example", "A").contains("CNAME\twww.gslb.example."));
    assert!(
        world.resolved("_http._tcp.www.gslb.example", "SRV").contains("8080 a.www.gslb.example.")
    );
    // Without EDNS, the resolver retries over TCP when a response is too long for UDP, and receives all of it.
    assert_eq!(world.resolved("many.gslb.example", "A").matches("192.0.2.").count(), 32);
    assert!(world.resolved("x.gslb.example", "A").is_empty());
}

/// With a delegation to the zone no problem is reported. Without one, the report lists the records that the parent zone
/// needs.
#[test]
fn a_zone_that_is_not_delegated_is_reported() {
    let Some(mut world) = NameServerSetup::open(ZONE) else { return };
    world.resolve();
    let file = world.balancer.dir().join("steelyard.toml");
    let file = file.to_string_lossy().into_owned();
    let doctor = |world: &NameServerSetup, file: &str| {
        let mut command = world.namespace.command(tests::e2e::balancer::program());
        command.args(["doctor", "zones", "-c", file, "--resolver", "127.0.0.1:5300"]);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // After a slow response the resolver reports SERVFAIL for a while, so the check is repeated.
    let settled = |world: &NameServerSetup, file: &str| {
        let mut last = (None, String::new());
        wait::until("the resolver gets an answer for the zone", || {
            last = doctor(world, file);
            last.0.is_some_and(|code| code < 2) && !last.1.contains("gets no good answer")
        });
        last
    };
    let (code, text) = settled(&world, &file);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("gslb.example: delegated to us"), "{text}");
    let config = std::fs::read_to_string(&file).unwrap();
    let other = config.replace("ns.gslb.example", "ns9.gslb.example");
    let other = world.balancer.dir().write("other.toml", other);
    let (code, text) = settled(&world, &other.to_string_lossy());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("delegated to ns.gslb.example alone"), "{text}");
    assert!(text.contains("gslb.example. IN NS ns9.gslb.example."), "{text}");
    assert!(text.contains("ns9.gslb.example. IN A 127.0.0.1"), "{text}");
}

#[test]
fn what_is_shown_adds_up() {
    let Some(world) = NameServerSetup::open(ZONE) else { return };
    world.dig(&["x.gslb.example", "A"]);
    world.dig(&["www.example", "A", "+tcp"]);
    let status = world.balancer.status().names.unwrap();
    assert_eq!(status.listen.len(), 1);
    assert!(status.listen[0].problem.is_none() && status.zones == ["gslb.example"]);
    let www = status.names.iter().find(|name| name.name == "www.gslb.example").unwrap();
    assert_eq!((www.up, www.candidates, www.fallback), (2, 2, false));
    let report = world.balancer.report();
    for transport in &report.names {
        let sum: u64 = transport.outcomes.values().sum();
        assert_eq!((transport.received, transport.unaccounted), (sum, 0), "{transport:?}");
    }
    assert!(report.names[0].outcomes["no-name"] >= 1 && report.names[1].outcomes["refused"] == 1);
    let text = world.steelyard(&["status"]);
    assert!(text.contains("NAMES AT") && text.contains("2 of 2 may be given"), "{text}");
    assert!(world.steelyard(&["report"]).contains("DNS QUERIES"));
    let told = world.steelyard(&["explain", "name", "near.gslb.example", "--from", "198.51.100.9"]);
    assert!(told.contains("198.51.100.9 lies in 198.51.100.0/24, which prefers east"), "{told}");
    let json =
        world.steelyard(&["explain", "name", "www.gslb.example", "--from", "192.0.2.1", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["candidates"][0]["share-percent"], 50.0, "{json}");
    assert!(
        world
            .steelyard(&["explain", "name", "x.example", "--from", "192.0.2.1"])
            .contains("refused")
    );
}
