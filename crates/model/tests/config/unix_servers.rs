//! Servers on Unix sockets: what their addresses mean, and the settings that do not fit them.

use model::config::{ServerHost, server_edit};

use super::support::{errors, good};

fn http(pool: &str) -> String {
    format!(
        "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"p\"\n[pool.p]\n{pool}\n"
    )
}

#[test]
fn addresses_are_files_and_abstract_names() {
    let long = format!("unix:/{}", "a".repeat(106));
    for (text, name, file, abstract_name) in [
        ("unix:/run/app.sock", "unix-run-app-sock", Some("/run/app.sock"), None),
        ("unix:/run/App 1/x.sock", "unix-run-app-1-x-sock", Some("/run/App 1/x.sock"), None),
        ("unix:@app", "unix-app", None, Some("app")),
        (&*long, &long.replacen(":/", "-", 1), Some(&long[5..]), None),
    ] {
        for servers in [format!("[\"{text}\"]"), format!("[{{ address = \"{text}\" }}]")] {
            let config = good(&http(&format!("servers = {servers}"))).config;
            let server = &config.pools["p"].servers[0];
            assert_eq!((&*server.name, &*server.address.to_string()), (name, text));
            let ServerHost::Unix(path) = &server.address.host else { panic!("{server:?}") };
            assert_eq!(path.file().and_then(|file| file.to_str()), file, "{text}");
            assert_eq!(path.abstract_name(), abstract_name, "{text}");
            assert_eq!(server_edit::parse_server_address(text).as_ref(), Ok(&server.address));
        }
    }
    let named = good(&http("servers = [\"unix:8080\"]")).config.pools["p"].servers[0].clone();
    assert_eq!(named.address.host, ServerHost::Name("unix".into()), "a host may be named so");
}

#[test]
fn faulty_addresses_are_refused() {
    let long = format!("unix:/{}", "a".repeat(107));
    for (text, says, near) in [
        ("unix:run/app.sock", "begins with `/`", None),
        ("unix:", "begins with `/`", None),
        ("unix:@", "missing after `@`", None),
        ("unix:/", "no empty", None),
        ("unix:/run/", "no empty", None),
        ("unix:/run/../x", "no empty, `.` or `..` part", None),
        ("unix:///run/app.sock", "no empty", Some("\"unix:/run/app.sock\"")),
        ("/run/app.sock", "has the prefix `unix:`", Some("\"unix:/run/app.sock\"")),
        ("unix:/run/a\\u0000b", "no control characters", None),
        ("unix:/run/a\\nb", "no control characters", None),
        (&*long, "at most 107 bytes", None),
    ] {
        let found = errors(&http(&format!("servers = [\"{text}\"]")));
        let [one] = &found[..] else { panic!("{text}: {found:?}") };
        assert!(one.key.starts_with("pool.p.servers[0]"), "{text}: {}", one.key);
        assert!(one.message.contains(says), "{text}: {}", one.message);
        assert_eq!(one.suggestion.as_deref(), near, "{text}");
    }
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    const ONE: &str = "servers = [\"unix:/run/a\"]\n";
    const MIXED: &str = "servers = [\"unix:/run/a\", \"10.0.0.1:80\"]\n";
    for (servers, rest, key, says) in [
        (ONE, "source = \"10.0.0.1\"", "pool.p.source", "reaches no server"),
        (ONE, "socket = { congestion = \"bbr\" }", "pool.p.socket.congestion", "no effect"),
        (ONE, "socket = { mptcp = true }", "pool.p.socket.mptcp", "no effect"),
        (ONE, "socket = { interface = \"eth0\" }", "pool.p.socket.interface", "no effect"),
        (MIXED, "socket = { transparent = true }", "pool.p.socket.transparent", "send-proxy"),
        (ONE, "probe = \"ping\"", "pool.p.servers[0].probe", "cannot reach"),
        (MIXED, "probe = { dns = \"a.example\" }", "pool.p.servers[0].probe", "cannot reach"),
        (
            ONE,
            "probe = { udp = true, send = \"x\" }",
            "pool.p.servers[0].probe",
            "cannot reach unix:/run/a",
        ),
        (ONE, "probe = { http = \"/\", port = 81 }", "pool.p.servers[0].probe.port", "no meaning"),
        (ONE, "agent = \"text\"", "pool.p.agent", "no port for an agent"),
        (ONE, "agent = \"orca\"", "pool.p.agent", "no port for an agent"),
        (
            ONE,
            "probe = { tcp = true, tls = { verify = false } }",
            "pool.p.servers[0].probe.tls.name",
            "no host name",
        ),
    ] {
        let text = http(&format!("{servers}{rest}"));
        let found = errors(&text);
        let [one] = &found[..] else { panic!("{rest}: {found:?}") };
        assert_eq!(one.key, key, "{rest}");
        assert!(one.message.contains(says), "{rest}: {}", one.message);
    }
    let tls = errors(&http(&format!("{ONE}tls = \"on\"")));
    assert!(tls.iter().any(|one| one.key == "pool.p.tls.name"), "{tls:?}");
}

#[test]
fn settings_that_fit_are_accepted() {
    for rest in [
        "send-proxy = \"v2\"",
        "probe = { http = \"/healthz\" }",
        "probe = { program = \"/bin/true\" }",
        "probe = { redis = true }",
        "tls = { name = \"app.example\" }",
        "agent = \"responses\"",
        "agent = { kind = \"text\", port = \"server\" }",
        "socket = { send-buffer = \"64KiB\", receive-buffer = \"64KiB\" }",
        "timeout = { connect = \"2s\" }",
    ] {
        good(&http(&format!("servers = [\"unix:/run/a\"]\n{rest}")));
    }
    good(&http(
        "servers = [\"unix:/run/a\", \"10.0.0.1:80\"]\nsource = \"10.0.0.2\"\nsocket = { congestion = \"bbr\" }",
    ));
}

#[test]
fn packets_and_dns_answers_need_ip_addresses() {
    let packets = "[service.s]\nlisten = \"192.0.2.1:80\"\nforward = \"nat\"\npool = \"p\"\n\
                   [packets]\nreturn = \"192.0.2.9\"\n[pool.p]\nservers = [\"unix:/run/a\"]\n";
    let found = errors(packets);
    let says = |part: &str| found.iter().any(|one| one.message.contains(part));
    assert!(says("no packet can be forwarded to unix:/run/a"), "{found:?}");
    let names = "[names]\nlisten = \"192.0.2.1:53\"\n[zone.\"gslb.example\"]\nnameservers = [\"ns.gslb.example\"]\n\
                 [name.\"www.gslb.example\"]\npool = \"p\"\n[name.\"ns.gslb.example\"]\naddresses = [\"192.0.2.1\"]\n\
                 [pool.p]\nservers = [\"unix:/run/a\"]\n";
    let found = errors(names);
    let says = |part: &str| found.iter().any(|one| one.message.contains(part));
    assert!(says("no DNS answer can name unix:/run/a"), "{found:?}");
}

#[test]
fn the_socket_of_the_api_is_no_server() {
    for (control, address) in [
        ("", "unix:/run/steelyard/control.sock"),
        ("[global.control]\nsocket = \"/run/own.sock\"\n", "unix:/run/own.sock"),
    ] {
        let found = errors(&format!("{}{control}", http(&format!("servers = [\"{address}\"]"))));
        let [one] = &found[..] else { panic!("{address}: {found:?}") };
        assert!(one.message.contains("is the socket of this API"), "{}", one.message);
    }
}
