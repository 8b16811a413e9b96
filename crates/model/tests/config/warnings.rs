//! Allowed but likely mistaken settings: warnings, and none for correct files.

use model::config::Severity;

use super::support::{BASE, examples, findings, good};

fn expect_warning(added: &str, key: &str, says: &str) {
    let text = format!("{BASE}{added}");
    let found = good(&text).warnings;
    let about = found.iter().find(|f| f.key == key && f.message.contains(says));
    assert!(about.is_some(), "{text}\n{found:#?}");
    assert!(found.iter().all(|f| f.severity == Severity::Warning));
}

#[test]
fn what_has_no_effect_is_named() {
    expect_warning("[pool.spare]\nservers = [\"a:1\"]\n", "pool.spare", "no service uses");
    expect_warning(
        "[global]\nconnections = 10\n[service.shop.limit]\nconnections = 11\n",
        "service.shop.limit.connections",
        "never reached",
    );
    let own = "client-from = \"x-forwarded-for\"\n[pool.other]\nservers = [\"a:1\"]\n";
    let own = format!("[service.c]\nlisten = \":9\"\nforward = \"http\"\npool = \"other\"\n{own}");
    expect_warning(&own, "service.c.client-from", "never read");
    expect_warning("weight = 0\n", "pool.web.servers", "takes new work");
    let nothing = findings("[pool.p]\nservers = [\"a:1\"]\n");
    assert!(nothing.iter().any(|f| f.key == "service" && f.message.contains("no service")));
    let leads = findings("[link.up]\nlinks = [\"10.0.0.1\", \"10.0.1.1\"]\n");
    assert!(leads.is_empty(), "{leads:?}");
}

/// Warnings about idle timeouts of a service with this listener, method, further keys and pool.
fn idle_warnings(listen: &str, keys: &str, server: &str, probe: &str) -> Vec<String> {
    let text = format!(
        "[service.s]\nlisten = \"{listen}\"\npool = \"p\"\n{keys}\n[pool.p]\nservers = [\"{server}\"]\n{probe}\n"
    );
    let found = good(&text).warnings.into_iter();
    let about = found.filter(|f| f.key.contains("idle-timeout") || f.key.contains("tunnel"));
    about.map(|f| format!("{} {}", f.key, f.message)).collect()
}

// Rows: I03
#[test]
fn idle_timeouts_are_compared_with_the_protocol_behind() {
    let stale = |time: &str| format!("forward = \"mac\"\nidle-timeout = \"{time}\"");
    let tunnel = |time: &str| format!("forward = \"tcp\"\ntimeout.tunnel = \"{time}\"");
    for (listen, keys, server, probe, name) in [
        ("192.0.2.1:389", stale("5m"), "192.0.2.9:389", "", "short for LDAP"),
        ("192.0.2.1:4000", stale("59m"), "192.0.2.9:4000", "probe = \"ldap\"", "short for LDAP"),
        (
            "192.0.2.1:3306",
            "forward = \"nat\"".into(),
            "192.0.2.9:3306",
            "",
            "for MySQL: its servers keep idle connections for 8h",
        ),
        ("127.0.0.1:3307", tunnel("1h"), "192.0.2.9:3306", "", "short for MySQL"),
        ("127.0.0.1:5432", tunnel("10m"), "192.0.2.9:6432", "", "short for PostgreSQL"),
        ("127.0.0.1:1883", tunnel("60s"), "192.0.2.9:1883", "", "short for MQTT"),
        ("127.0.0.1:5671", tunnel("1m"), "192.0.2.9:5671", "", "short for AMQP"),
        ("127.0.0.1:22", "forward = \"tcp\"".into(), "192.0.2.9:22", "", "short for SSH"),
        ("127.0.0.1:1521", tunnel("10m"), "192.0.2.9:1521", "", "short for Oracle"),
        (
            "192.0.2.1:25",
            stale("2d"),
            "192.0.2.9:25",
            "",
            "SMTP servers close idle connections after 5m",
        ),
        (
            "192.0.2.1:3306",
            stale("30d"),
            "192.0.2.9:3306",
            "",
            "MySQL servers close idle connections after 8h",
        ),
    ] {
        let found = idle_warnings(listen, &keys, server, probe);
        assert!(found.len() == 1 && found[0].contains(name), "{name}: {listen} {keys}: {found:?}");
    }
    for (listen, keys, server, probe) in [
        ("192.0.2.1:389", stale("1h"), "192.0.2.9:389", ""),
        ("192.0.2.1:389", "forward = \"mac\"".into(), "192.0.2.9:389", ""),
        ("127.0.0.1:5432", "forward = \"tcp\"".into(), "192.0.2.9:5432", "probe = \"postgres\""),
        ("127.0.0.1:3306", tunnel("8h"), "192.0.2.9:3306", ""),
        // Both sides are seen, so that an end is not missed.
        ("192.0.2.1:25", "forward = \"nat\"\nidle-timeout = \"30d\"".into(), "192.0.2.9:25", ""),
        ("127.0.0.1:25", tunnel("7d"), "192.0.2.9:25", ""),
        // The default is nobody's choice.
        ("192.0.2.1:25", "forward = \"mac\"".into(), "192.0.2.9:25", ""),
        ("127.0.0.1:9999", tunnel("1s"), "192.0.2.9:9999", ""),
        ("127.0.0.1:389", "forward = \"http\"".into(), "192.0.2.9:389", ""),
    ] {
        let found = idle_warnings(listen, &keys, server, probe);
        assert!(found.is_empty(), "{listen} {keys}: {found:?}");
    }
}

#[test]
fn an_earlier_name_of_a_key_is_read_with_a_warning_and_refused_beside_the_name() {
    expect_warning(
        "[pool.p]\nservers = [\"x:1\"]\nprobe = { tcp = true, doubt = \"100ms\" }\n",
        "pool.p.probe.doubt",
        "called `fast-interval` now",
    );
    let text = "[service.s]\nlisten = \":9\"\nforward = \"http\"\npool = \"p\"\nsticky = { by = \"address\", expire = \"10m\", gone = \"refuse\" }\n[pool.p]\nservers = [\"x:1\"]\nprobe = { tcp = true, doubt = \"100ms\" }\n";
    let config = good(text).config;
    let probe = config.pools["p"].probe.as_ref().unwrap();
    assert_eq!(probe.fast_interval, std::time::Duration::from_millis(100));
    let both = findings(
        "[pool.p]\nservers = [\"x:1\"]\nprobe = { tcp = true, doubt = \"100ms\", fast-interval = \"90ms\" }\n",
    );
    let found = both.iter().find(|f| f.key == "pool.p.probe.doubt").unwrap();
    assert_eq!(found.severity, Severity::Error, "{found:?}");
    assert!(found.message.contains("an earlier name of `fast-interval`"), "{found:?}");
}

#[test]
fn doubtful_choices_are_named() {
    expect_warning(
        "[service.t]\nlisten = \":9\"\nforward = \"tcp\"\npool = \"web\"\naccept-proxy = \"0.0.0.0/0\"\n",
        "service.t.accept-proxy.from",
        "everybody is believed",
    );
    expect_warning(
        "[service.all]\nlisten = \":8080\"\nforward = \"http\"\npool = \"web\"\n",
        "service.shop.listen",
        "taken out of 0.0.0.0:8080",
    );
    expect_warning(
        "[pool.p]\nservers = [{ name = \"a\", address = \"x:1\" }, { name = \"b\", address = \"x:1\" }]\n",
        "pool.p.servers[1].address",
        "both at x:1",
    );
    expect_warning(
        "balance = { by = \"maglev\", size = 17 }\n",
        "pool.web.balance.size",
        "uneven shares",
    );
}

// Rows: C01
#[test]
fn the_buffers_of_the_study_are_warned_about_with_the_rate_they_carry() {
    for (bytes, says) in [
        (32_768, "32,768 bytes at 130ms carry at most 2.0 Mbit/s"),
        (65_535, "65,535 bytes at 130ms carry at most 4.0 Mbit/s"),
        (131_072, "131,072 bytes at 130ms carry at most 8.1 Mbit/s"),
        (262_143, "262,143 bytes at 130ms carry at most 16.1 Mbit/s"),
    ] {
        let path = "path = { rate = \"100Mbit/s\", round-trip = \"130ms\" }";
        for owner in ["service.shop", "pool.web"] {
            let text = format!("[{owner}.socket]\n{path}\nsend-buffer = \"{bytes}B\"\n");
            expect_warning(&text, &format!("{owner}.socket.send-buffer"), says);
        }
        // A setting in `[global]` causes one warning, at its place.
        let text = format!("{BASE}[global.socket]\n{path}\nreceive-buffer = \"{bytes}B\"\n");
        let keys: Vec<_> = good(&text).warnings.into_iter().map(|f| f.key).collect();
        assert_eq!(keys, ["global.socket.receive-buffer"]);
    }
    let enough = "[pool.web.socket]\npath = { rate = \"7.5Mbit/s\", round-trip = \"130ms\" }\nsend-buffer = ";
    assert_eq!(good(&format!("{BASE}{enough}\"121875B\"\n")).warnings, []);
    let found = good(&format!("{BASE}{enough}\"121874B\"\n")).warnings;
    let expected = found[0].expected.as_deref().unwrap();
    assert!(expected.contains("\"120KiB\" (121,875 bytes) for 7.5 Mbit/s"), "{expected}");
}

#[test]
fn good_files_are_not_warned_about() {
    assert_eq!(good(BASE).warnings, []);
    for (name, text) in examples() {
        let warned: Vec<_> = good(&text).warnings.into_iter().map(|f| f.key).collect();
        assert_eq!(warned, Vec::<String>::new(), "{name}");
    }
}
