//! The explanation: origins are true, and its output loads as the same configuration.

use super::support::{BASE, examples, good};

// Rows: I41
#[test]
fn what_is_explained_loads_as_the_same_configuration() {
    let tcp = "[global.timeout]\nheader = \"3s\"\nfirst-byte = \"4s\"\n[service.t]\nlisten = \":9\"\nforward = \"tcp\"\n\
               pool = \"t\"\n[pool.t]\nservers = [\"a:1\"]\ntimeout = { connect = \"5s\" }\nlimit = { queue = 3 }\n";
    let odd =
        "[global]\naccess-log = \"/tmp/a\\\"b\\\\c\"\n[global.socket]\nkeep-alive = \"off\"\n";
    let files = examples().into_iter().map(|(_, text)| text);
    for text in files.chain([BASE.to_owned(), format!("{BASE}{tcp}"), format!("{BASE}{odd}")]) {
        let checked = good(&text);
        let explained = model::config::explain(&checked);
        let reloaded = good(&explained);
        assert_eq!(reloaded.config, checked.config, "{explained}");
        // A second explanation differs only in its origins.
        let values = |text: &str| -> Vec<String> {
            text.lines()
                .map(|line| line.split(" # ").next().unwrap_or_default().trim().to_owned())
                .collect()
        };
        assert_eq!(values(&model::config::explain(&reloaded)), values(&explained));
    }
}

// Rows: I41
#[test]
fn every_value_names_its_origin() {
    let text = format!("{BASE}weight = 3\nprobe = \"tcp\"\n[global.timeout]\nidle = \"9s\"\n");
    let checked = good(&text);
    let entries = checked.origins.entries();
    let origin = |key: &str| {
        let entry = entries.iter().find(|entry| entry.key == key);
        let entry = entry.unwrap_or_else(|| panic!("{key}"));
        (entry.value.as_str(), entry.origin.as_str())
    };
    assert_eq!(origin("service.shop.listen"), ("[\"127.0.0.1:8080\"]", "line 2"));
    assert_eq!(origin("service.shop.timeout.idle"), ("\"9s\"", "global.timeout.idle at line 10"));
    assert_eq!(origin("pool.web.timeout.idle"), ("\"9s\"", "global.timeout.idle at line 10"));
    assert_eq!(origin("global.timeout.idle"), ("\"9s\"", "line 10"));
    assert_eq!(origin("service.shop.timeout.header"), ("\"10s\"", "default"));
    assert_eq!(origin("service.shop.timeout.drain"), ("\"30s\"", "default: as global.drain"));
    assert_eq!(
        origin("pool.web.servers[0].weight"),
        ("3", "inherited from pool.web.weight at line 7")
    );
    assert_eq!(
        origin("pool.web.servers[1].probe.tcp"),
        ("true", "inherited from pool.web.probe.tcp at line 8")
    );
    assert_eq!(origin("pool.web.servers[1].probe.interval"), ("\"2s\"", "default"));
    assert_eq!(origin("pool.web.servers[1].name").1, "default: from its address");
    assert_eq!(origin("pool.web.balance.by").1, "default: an http service uses the pool");
    assert_eq!(origin("pool.web.initial").1, "default: its servers have probes");
}

#[test]
fn every_line_with_a_value_has_its_origin() {
    for (_, text) in examples() {
        for line in model::config::explain(&good(&text)).lines() {
            assert!(line.is_empty() || line.starts_with('[') || line.contains(" # "), "{line}");
        }
    }
}
