//! Which servers get clients' certificates, reserved fields for them, and how probes of a pool use its TLS.

use std::path::Path;

use model::config::{Config, ProbeKind, ProbeTls, load};

fn config(text: &str) -> Config {
    load(text, "t.toml").unwrap_or_else(|findings| panic!("{findings}")).config
}

const SERVICES: &str = r#"
[service.secure]
listen = "127.0.0.1:1"
forward = "http"
pool = "web"
tls = { certificates = "/c.pem", client = { ca = "/ca.pem", headers = "X-Staff" } }
rule = [{ when = { path = "/a" }, rewrite = { set = ["X-Role: guest"], response-remove = ["X-In"] } }]

[service.plain]
listen = "127.0.0.1:2"
forward = "http"
pool = "beside"

[service.other]
listen = "127.0.0.1:3"
forward = "http"
pool = "other"
rule = [{ when = { path = "/b" }, pool = "far" }]

[service.ruled]
listen = "127.0.0.1:4"
forward = "http"
pool = "other"
rule = [{ when = { path = "/b" }, pool = "web" }]

[pool.web]
servers = ["10.0.0.1:80"]
[pool.beside]
servers = ["10.0.0.9:80", "10.0.0.1:80"]
[pool.other]
servers = ["10.0.0.2:80"]
[pool.far]
servers = ["10.0.0.3:80"]
"#;

#[test]
fn fields_are_reserved_on_every_service_that_reaches_the_same_servers() {
    let config = config(&SERVICES.replace("X-Staff", "x-staff"));
    let reserved = |name: &str| config.services[name].reserved.clone();
    for name in ["secure", "plain", "ruled"] {
        assert_eq!(*reserved(name).prefixes, ["x-staff".to_owned()], "{name}");
        assert_eq!(*reserved(name).request, ["x-role".to_owned()], "{name}");
    }
    assert_eq!(*reserved("secure").answer, ["x-in".to_owned()]);
    // It shares the pool `other` with a service that forwards no certificates.
    assert!(!reserved("other").applies_to_requests());
}

#[test]
fn a_probe_without_tls_settings_uses_those_of_its_pool() {
    let tls =
        "tls = { name = \"b.example\", ca = \"/ca.pem\", crl = \"/crl.pem\", minimum = \"1.3\" }";
    let pool = |tls: &str, probe: &str, server: &str| {
        let text = format!(
            "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"p\"\n\
             [pool.p]\n{tls}\n{probe}\nservers = [{{ address = \"10.0.0.1:443\"{server} }}]\n"
        );
        config(&text).pools["p"].clone()
    };
    let own = ProbeTls::from_pool(pool(tls, "", "").tls.as_ref().unwrap());
    assert_eq!(own.ca.as_deref(), Some(Path::new("/ca.pem")));
    assert_eq!((own.revoked.files.len(), own.name.as_deref()), (1, Some("b.example")));
    let probed = |probe: &str| {
        let probe = pool(tls, probe, "").servers[0].probe.clone().unwrap();
        (probe.kind, probe.tls)
    };
    for probe in ["http = \"/\"", "tcp = true", "interval = \"1s\"", "grpc = \"\"", "redis = true"]
    {
        let (kind, tls) = probed(&format!("probe = {{ {probe} }}"));
        assert_eq!(tls.as_ref(), Some(&own), "{probe}");
        assert_eq!(kind == ProbeKind::Tcp, probe.starts_with(['t', 'i']), "{probe}");
    }
    for probe in [
        "http = \"/\", tls = \"off\"",
        "http = \"/\", port = 8080",
        "mysql = true",
        "ping = true",
        "udp = true, send = \"a\"",
    ] {
        assert_eq!(probed(&format!("probe = {{ {probe} }}")).1, None, "{probe}");
    }
    let (_, other) = probed("probe = { http = \"/\", tls = { verify = false } }");
    assert_eq!(other, Some(ProbeTls { verify: false, ..ProbeTls::default() }));
    let server = pool(tls, "probe = { http = \"/\" }", ", probe = { port = 8080 }");
    assert_eq!(server.servers[0].probe.as_ref().unwrap().tls, None, "another port");
    let plain = pool("", "probe = { http = \"/\" }", "");
    assert_eq!(plain.servers[0].probe.as_ref().unwrap().tls, None);
}

#[test]
fn fields_that_describe_certificates_take_no_other_away() {
    for (headers, reserved) in [
        ("host", Some("`host`")),
        ("ho", Some("`host`")),
        ("content", Some("`content-length`")),
        ("transfer-encoding", Some("`transfer-encoding`")),
        ("x", Some("`x-forwarded-for`")),
        ("x-forwarded", Some("`x-forwarded-for`")),
        ("cookie", Some("`cookie`")),
        ("client-cert", Some("`client-cert-chain`")),
        ("x-steelyard", Some("`x-steelyard-`")),
        ("x-client-cert", None),
        ("x-ssl", None),
        ("host-certificate", None),
    ] {
        let text = SERVICES.replace("X-Staff", headers);
        match (load(&text, "t.toml"), reserved) {
            (Ok(_), None) => {}
            (Ok(_), Some(_)) => panic!("{headers} is taken"),
            (Err(findings), reserved) => {
                let message = findings.to_string();
                let reserved = reserved.unwrap_or("nothing");
                assert!(
                    message.contains(reserved) && message.contains("is taken away"),
                    "{message}"
                );
            }
        }
    }
}

#[test]
fn settings_without_effect_are_named() {
    for (tls, says) in [
        ("tls = { expired-crl = \"accept\" }", "`expired-crl` has no effect without `crl`"),
        ("tls = { verify = \"off\", crl = \"/crl.pem\" }", "`crl` has no effect"),
        ("tls = { crl = \"crl.pem\" }", "depends on where the daemon was started"),
    ] {
        let text = format!(
            "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"p\"\n\
             [pool.p]\n{tls}\nservers = [\"10.0.0.1:443\"]\n"
        );
        let message = load(&text, "t.toml").unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    }
}
