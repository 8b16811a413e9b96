//! `lb_policy`: how a server is chosen.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::cookie_affinity::CookieAffinity;

/// What a policy says of single servers, and of clients.
#[derive(Default)]
pub struct CaddyBalance {
    weights: Vec<String>,
    /// The first server that is up takes everything.
    in_order: bool,
    pub cookie: Option<CookieAffinity>,
}

impl CaddyBalance {
    /// A server in TOML.
    pub fn server(&self, at: usize, address: &str) -> String {
        let mut pairs = vec![KeyValue::new("address", value::quote(address))];
        pairs.extend(self.weights.get(at).map(|one| KeyValue::new("weight", one.clone())));
        if self.in_order {
            pairs.push(KeyValue::new("priority", (at + 1).min(9).to_string()));
        }
        match pairs.as_slice() {
            [only] => only.value.clone(),
            _ => value::table(&pairs),
        }
    }
}

/// Writes the policy of a pool with so many servers.
pub fn write(
    pool: &mut TomlTable,
    statement: &ConfigStatement,
    servers: usize,
    notes: &mut ConversionNotes,
) -> CaddyBalance {
    let mut out = CaddyBalance::default();
    let Some(policy) = statement.find("lb_policy") else {
        if servers > 1 {
            pool.set("balance", value::quote("random"), SourcePlace::NONE);
        }
        return out;
    };
    let source = policy.source;
    policy.words_from(0);
    policy.settle_converted(notes);
    let mut balance = |word: &str| pool.set("balance", value::quote(word), source);
    match policy.word(0) {
        "random" | "random_choose" => {
            if policy.word(0) == "random_choose" {
                policy.note_changed("two servers are compared", "", notes);
                balance("least-request");
            } else {
                balance("random");
            }
        }
        "least_conn" => balance("least-request"),
        "round_robin" => balance("round-robin"),
        "weighted_round_robin" => {
            balance("round-robin");
            let good = |one: &&String| one.parse::<u16>().is_ok_and(|weight| weight <= 256);
            out.weights = policy.words_from(1).iter().filter(good).cloned().collect();
        }
        "first" => {
            out.in_order = true;
            if servers > 9 {
                policy.note_changed("servers from the ninth on share", "`priority`", notes);
            }
        }
        "ip_hash" | "client_ip_hash" => hash(pool, "address", source),
        "uri_hash" => hash(pool, "uri", source),
        kind @ ("header" | "query") => {
            pool.set("balance", value::quote("maglev"), source);
            let key = if kind == "header" { "header" } else { "query" };
            let on = [KeyValue::new(key, value::quote(policy.word(1)))];
            pool.set("hash-on", value::table(&on), source);
            note_fallback(policy, notes);
        }
        "cookie" => {
            let name = if policy.word(1).is_empty() { "lb" } else { policy.word(1) };
            let reason = "values of the cookie are new, so that clients are shared out anew once";
            policy.note_changed(reason, "`sticky`", notes);
            if !policy.word(2).is_empty() {
                policy.note_changed(
                    "the secret is one of this machine",
                    "`sticky-secret-file`",
                    notes,
                );
            }
            out.cookie = Some(CookieAffinity { name: name.to_owned(), source });
            pool.set("balance", value::quote("random"), SourcePlace::NONE);
            note_fallback(policy, notes);
        }
        _ => policy.leave_out("there is no such policy: `random` is taken", "`balance`", notes),
    }
    out
}

fn hash(pool: &mut TomlTable, by: &str, source: SourcePlace) {
    pool.set("balance", value::quote("maglev"), source);
    pool.set("hash-on", value::quote(by), source);
}

fn note_fallback(policy: &ConfigStatement, notes: &mut ConversionNotes) {
    for line in policy.inner() {
        line.note_changed("requests without a value are shared out by their client", "", notes);
    }
}
