//! `server-template` lines as `servers-from` of a pool, and what becomes of the name servers of other lines.

use std::net::IpAddr;

use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::lex::ConfigLine;
use super::name_resolvers::NameResolvers;
use super::server::HaproxyServer;

/// A value of `servers-from`.
#[derive(Clone, Debug)]
pub struct TemplateValue {
    pub value: String,
    /// The lines that it comes from, besides the line of the template.
    pub sources: Vec<SourcePlace>,
}

/// `server-template PREFIX NUMBER NAME:PORT`, or a name of SRV records without port.
///
/// # Errors
/// The line has no name that can be asked for, or no number.
pub fn servers_from(
    line: &ConfigLine,
    server: &HaproxyServer,
    resolvers: &NameResolvers<'_>,
    notes: &mut ConversionNotes,
) -> Result<TemplateValue, UnsupportedReason> {
    let text = line.text();
    let (host, port) = line.word(3).rsplit_once(':').unwrap_or((line.word(3), ""));
    let is_service = host.starts_with('_');
    if host.is_empty() || port.is_empty() && !is_service {
        let reason = "servers of a name need its port";
        return Err(UnsupportedReason::new(reason, "`servers-from = { dns = …, port = … }`"));
    }
    let most = number_of_servers(line.word(2)).ok_or_else(|| {
        UnsupportedReason::new("the number of its servers is not a number", "`servers-from.max`")
    })?;
    let mut pairs = vec![KeyValue::new("dns", value::quote(host))];
    if is_service {
        pairs.push(KeyValue::new("type", value::quote("srv")));
    } else {
        pairs.push(KeyValue::new("port", port.to_owned()));
    }
    match &server.family {
        Some(family) => {
            if family.name == "ipv6" && !is_service {
                pairs.insert(1, KeyValue::new("type", value::quote("aaaa")));
            }
            let reason = "only addresses of this family are asked for";
            notes.changed(family.source, &text, reason, "`servers-from.type`");
        }
        None if !is_service => {
            let reason = "only IPv4 addresses of its name are asked for";
            notes.changed(line.source, &text, reason, "`type = \"aaaa\"` in `servers-from`");
        }
        None => {}
    }
    let mut sources = Vec::new();
    if let Some(choice) = &server.resolvers {
        match resolvers.name_server(&choice.name) {
            Some(found) => {
                pairs.push(KeyValue::new("resolver", value::quote(&found.address)));
                sources.extend([choice.source, found.source]);
            }
            None if resolvers.has_name_servers(&choice.name) => {
                let reason =
                    "none of its name servers can be asked over UDP: those of the system are asked";
                notes.left_out(choice.source, &text, reason, "`servers-from.resolver`");
            }
            None => notes.not_needed(choice.source, &text, SYSTEM),
        }
    }
    pairs.push(KeyValue::new("max", most.to_string()));
    Ok(TemplateValue { value: value::table(&pairs), sources })
}

const SYSTEM: &str = "names are looked up by the system's resolver, again and again";

/// `5`, or `3-7`: from a first number to a last one.
fn number_of_servers(text: &str) -> Option<u32> {
    let (first, last) = text.split_once('-').unwrap_or(("1", text));
    let first: u32 = first.parse().ok()?;
    let last: u32 = last.parse().ok()?;
    last.checked_sub(first)?.checked_add(1)
}

/// Settles the words of a fixed server about the look-up of its name.
pub fn note_lookup(
    line: &ConfigLine,
    server: &HaproxyServer,
    resolvers: &NameResolvers<'_>,
    notes: &mut ConversionNotes,
) {
    let text = line.text();
    let host = server.host.trim_start_matches('[').trim_end_matches(']');
    let is_name = !server.is_unix() && host.parse::<IpAddr>().is_err();
    let fixed = "the address of the server is not looked up";
    if let Some(choice) = &server.resolvers {
        if !is_name {
            notes.not_needed(choice.source, &text, fixed);
        } else if resolvers.has_name_servers(&choice.name) {
            let reason = "the name of the server is looked up by the system's resolver, not by these name servers";
            let instead = "/etc/resolv.conf, or `servers-from = { dns = …, resolver = … }`";
            notes.left_out(choice.source, &text, reason, instead);
        } else {
            notes.not_needed(choice.source, &text, SYSTEM);
        }
    }
    match &server.family {
        Some(family) if is_name => {
            let reason = "which address of a name is taken is chosen by the system's resolver";
            notes.changed(family.source, &text, reason, "/etc/gai.conf");
        }
        Some(family) => notes.not_needed(family.source, &text, fixed),
        None => {}
    }
}
