//! Lifts limits of rates from both configurations of a run, since which request exceeds one depends on the time. Replaces
//! certificates that would be ordered, since no authority can be reached.
//!
//! Pure. Limits of connections stay, but for those that no machine of a test can serve.

use toml::{Table, Value};

/// The most connections of the original in a run, which opens one at a time. HAProxy refuses to start where the machine
/// allows fewer descriptors than it needs for all of them.
const CONNECTIONS: u64 = 1_000;
/// The run's certificate in place of ordered ones.
pub const ORDERED: &str = "/run/shadow-ordered.pem";
/// A rate, and a burst, that no run reaches.
const UNREACHED: i64 = 100_000;

/// The text of HAProxy with its limits of connections lowered and those of rates lifted, line by line.
pub fn relieve_haproxy(text: &str) -> String {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let limit = match (words.next(), words.next()) {
            (Some("maxconn"), Some(limit)) => limit.parse::<u64>().ok(),
            _ => None,
        };
        match limit.filter(|limit| *limit > CONNECTIONS) {
            Some(_) => format!("    maxconn {CONNECTIONS}\n"),
            None => format!("{}\n", lift_thresholds(line)),
        }
    };
    text.lines().map(line).collect()
}

/// A line with the numbers after `gt` and `ge` raised where a counter of clients is compared with them.
fn lift_thresholds(line: &str) -> String {
    let mut counter = false;
    let mut compares = false;
    let mut out = Vec::new();
    for word in line.split(' ') {
        let is_counter = word.starts_with("sc") || word.starts_with("src_");
        if is_counter && (word.contains("_rate") || word.contains("_cnt")) {
            counter = true;
        } else if compares && word.parse::<u64>().is_ok() {
            out.push(UNREACHED.to_string());
            counter = false;
            compares = false;
            continue;
        }
        compares = counter && matches!(word, "gt" | "ge");
        out.push(word.to_owned());
    }
    out.join(" ")
}

/// The text of nginx with its limits of rates lifted.
pub fn relieve_nginx(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("limit_req") {
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end);
        out.push_str(&rest[..at]);
        out.push_str(&lift_statement(&rest[at..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

fn lift_statement(statement: &str) -> String {
    let mut words: Vec<String> = statement.split_whitespace().map(str::to_owned).collect();
    match words.first().map(String::as_str) {
        Some("limit_req_zone") => {
            for word in words.iter_mut().filter(|word| word.starts_with("rate=")) {
                *word = format!("rate={UNREACHED}r/s");
            }
        }
        Some("limit_req") => {
            words.retain(|word| !word.starts_with("burst="));
            words.push(format!("burst={UNREACHED}"));
        }
        _ => return statement.to_owned(),
    }
    words.join(" ")
}

/// A converted configuration with its limits of rates lifted, and with the run's certificate where one is ordered.
pub fn relieve_ours(converted: &str) -> String {
    let Ok(mut table) = toml::from_str::<Table>(converted) else { return converted.to_owned() };
    let lifted =
        table.iter_mut().map(|(_, value)| lift_rates(value)).fold(false, |any, one| any | one);
    if !lifted & !lift_budgets(&mut table) & !replace_orders(&mut table) {
        return converted.to_owned();
    }
    toml::to_string(&table).unwrap_or_else(|_| converted.to_owned())
}

/// Lets pools retry as often as their `retries` say, since a run orders more failures than happen; true: there was one.
fn lift_budgets(table: &mut Table) -> bool {
    let pools = table.get_mut("pool").and_then(Value::as_table_mut);
    let all = pools.into_iter().flat_map(|pools| pools.iter_mut());
    let mut any = false;
    for pool in all.filter_map(|(_, pool)| pool.as_table_mut()) {
        if pool.get("retries").and_then(Value::as_integer).is_some_and(|retries| retries > 0) {
            let retry = pool.entry("retry").or_insert_with(|| Value::Table(Table::new()));
            let budget = ("budget".to_owned(), Value::String("off".to_owned()));
            any |= retry.as_table_mut().is_some_and(|retry| {
                retry.extend([budget]);
                true
            });
        }
    }
    any
}

/// Names the run's certificate where one is ordered of an authority, which cannot be reached; true: there was one.
fn replace_orders(table: &mut Table) -> bool {
    let services = table.get_mut("service").and_then(Value::as_table_mut);
    let all = services.into_iter().flat_map(|services| services.iter_mut());
    let mut any = false;
    for tls in all.filter_map(|(_, service)| service.get_mut("tls")?.as_table_mut()) {
        if tls.remove("acme").is_some() {
            any = true;
            tls.entry("certificates").or_insert_with(|| Value::String(ORDERED.to_owned()));
        }
    }
    any
}

/// Raises the rates in a value; true: there was one.
fn lift_rates(value: &mut Value) -> bool {
    match value {
        Value::Array(list) => list.iter_mut().map(lift_rates).fold(false, |any, one| any | one),
        Value::Table(table) => {
            // Other rates, such as the share of failures that ejects a server, have no burst and no key of clients.
            let of_clients = table.contains_key("burst") || table.contains_key("by");
            let limits = of_clients && table.get("rate").is_some_and(Value::is_integer);
            if limits {
                table.insert("rate".to_owned(), Value::Integer(UNREACHED));
                table.insert("burst".to_owned(), Value::Integer(UNREACHED));
            }
            let inner = table.iter_mut().map(|(_, value)| lift_rates(value));
            inner.fold(limits, |any, one| any | one)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_limits_of_connections_are_lowered_and_thresholds_of_counters_raised() {
        let text =
            "global\n maxconn 20000\nbackend b\n server a 10.0.0.1:80 maxconn 5000\n maxconn 9\n";
        let lowered =
            "global\n    maxconn 1000\nbackend b\n server a 10.0.0.1:80 maxconn 5000\n maxconn 9\n";
        assert_eq!(relieve_haproxy(text), lowered);
        for (line, lifted) in [
            ("deny if { sc_http_req_rate(0) gt 20 }", "deny if { sc_http_req_rate(0) gt 100000 }"),
            (
                "reject if { src_conn_rate ge 5 } !{ nbsrv gt 2 }",
                "reject if { src_conn_rate ge 100000 } !{ nbsrv gt 2 }",
            ),
            ("deny if { req.hdr_cnt(host) gt 1 }", "deny if { req.hdr_cnt(host) gt 1 }"),
        ] {
            assert_eq!(relieve_haproxy(line), format!("{lifted}\n"));
        }
    }

    #[test]
    fn rates_are_lifted_on_both_sides() {
        let text = "limit_req_zone $a zone=z:1m rate=5r/m; a { limit_req zone=z burst=5 nodelay; limit_req_status 429; }";
        let lifted = "limit_req_zone $a zone=z:1m rate=100000r/s; a { limit_req zone=z nodelay burst=100000; limit_req_status 429; }";
        assert_eq!(relieve_nginx(text), lifted);
        let ours = "[[service.a.rule]]\nlimit = { rate = 5, burst = 6, by = \"address\" }\n";
        let table: Table = toml::from_str(&relieve_ours(ours)).unwrap();
        let limit = &table["service"]["a"]["rule"][0]["limit"];
        assert_eq!(
            (limit["rate"].as_integer(), limit["burst"].as_integer()),
            (Some(UNREACHED), Some(UNREACHED))
        );
        assert_eq!(relieve_ours("a = 1 # b\n"), "a = 1 # b\n");
        let ejected = "eject = { rate = 85 } # b\n";
        assert_eq!(relieve_ours(ejected), ejected);
        let retries = "[pool.a]\nretries = 2\n[pool.b]\nretries = 0\n[pool.c]\nretries = 1\nretry = { backup = true }\n";
        let table: Table = toml::from_str(&relieve_ours(retries)).unwrap();
        let budget = |pool: &str| table["pool"][pool].get("retry").map(|retry| &retry["budget"]);
        let off = Value::String("off".to_owned());
        assert_eq!(["a", "b", "c"].map(budget), [Some(&off), None, Some(&off)]);
        assert_eq!(table["pool"]["c"]["retry"]["backup"], Value::Boolean(true));
        let ordered = relieve_ours("[service.a.tls]\nacme = { names = \"x.example\" }\n");
        assert_eq!(ordered, format!("[service.a.tls]\ncertificates = \"{ORDERED}\"\n"));
    }
}
