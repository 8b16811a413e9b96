//! Rules about connections behind `accept-proxy`: HAProxy judges them by who connects, and not by whom the header names.

use crate::condition::RuleCondition;
use crate::document::TomlTable;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::acl::AclTable;
use super::hidden_inputs::hide_parts;
use super::lex::ConfigLine;
use super::opaque_fields::is_of_client;
use super::pools::BackendPools;
use super::settings::ProxySettings;

/// Whose headers are believed without a rule about connections.
const EVERYBODY: &str = "[\"0.0.0.0/0\", \"::/0\"]";

/// Networks of the addresses that may connect, as a list; `None`: there is no rule that says it alone.
fn networks(line: &ConfigLine, acls: &AclTable, pools: &BackendPools) -> Option<String> {
    if line.word(2) != "reject" {
        return None;
    }
    match acls.known_condition(line.rest(3), pools).ok()?.simplify(false) {
        RuleCondition::Not(inner) => match *inner {
            RuleCondition::Key("client", networks) => Some(value::list(networks)),
            _ => None,
        },
        _ => None,
    }
}

fn about_connections(settings: &ProxySettings) -> impl Iterator<Item = &ConfigLine> {
    let early = |line: &&ConfigLine| line.word(0) == "tcp-request" && line.word(1) == "connection";
    settings.rules.iter().filter(early)
}

fn is_behind_proxies(settings: &ProxySettings) -> bool {
    settings.binds.iter().any(|line| line.has_word("accept-proxy"))
}

/// Writes whose headers are believed.
pub fn write(
    service: &mut TomlTable,
    settings: &ProxySettings,
    pools: &BackendPools,
    source: SourcePlace,
) {
    let acls = AclTable::read(&settings.acls, pools);
    let from = KeyValue::new("from", believed(settings, &acls, pools));
    service.set_required("accept-proxy", value::table(&[from]), source);
}

/// The networks whose headers are believed: those of the one rule that refuses all others, or everybody.
fn believed(settings: &ProxySettings, acls: &AclTable, pools: &BackendPools) -> String {
    let first =
        about_connections(settings).find(|line| matches!(line.word(2), "reject" | "accept"));
    let found = first.and_then(|line| networks(line, acls, pools));
    found.unwrap_or_else(|| EVERYBODY.to_owned())
}

/// The rules of a proxy that can judge by the client's address, and a reason for each that cannot.
pub fn split_rules(
    settings: &ProxySettings,
    acls: &AclTable,
    pools: &BackendPools,
    notes: &mut ConversionNotes,
) -> SenderRules {
    let mut out = SenderRules { rules: settings.rules.clone(), refused: None };
    if !is_behind_proxies(settings) {
        return out;
    }
    let everywhere = settings.binds.iter().all(|line| line.has_word("accept-proxy"));
    let mut first = true;
    for line in about_connections(settings) {
        if !matches!(line.word(2), "reject" | "accept") {
            continue;
        }
        let exact = everywhere && first && networks(line, acls, pools).is_some();
        first = false;
        let why = UnsupportedReason::new(
            "behind `accept-proxy` a connection is judged by the client that its header names; so that nothing is open that was closed, all are refused",
            "`accept-proxy = { from = … }` with the networks that may connect",
        );
        let condition = hide_parts(acls.condition(line.rest(3), pools), &why, &is_of_client);
        out.rules.retain(|one| one.source != line.source);
        if exact {
            line.mark_converted();
        } else if condition.unknown().is_none() || line.word(2) == "accept" {
            out.rules.push(line.clone());
        } else {
            notes.left_out_because(line.source, &line.text(), &why);
            out.refused = Some(line.clone());
        }
    }
    out
}

/// What `split_rules` found.
#[derive(Debug)]
pub struct SenderRules {
    /// The rules that stay.
    pub rules: Vec<ConfigLine>,
    /// A rule that refuses everybody, because whom it refuses cannot be told.
    pub refused: Option<ConfigLine>,
}
