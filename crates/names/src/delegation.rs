//! Whether a zone is delegated to us: the query for a resolver, the meaning of its answer, and the records that the
//! parent zone needs.
//!
//! It sends nothing: the caller sends the query and passes the answer in.

use std::net::IpAddr;

use hickory_proto::op::{Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use model::config::{Config, NameSource, ZoneConfig};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DelegationStatus {
    /// The zone is delegated to at least one of its own name servers. The value names those that are missing.
    Correct(Vec<String>),
    Elsewhere(Vec<String>),
    Absent,
    /// The resolver finds the zone and gets no answer from its name servers.
    Unreachable(String),
}

impl DelegationStatus {
    pub fn describe(&self) -> String {
        match self {
            DelegationStatus::Correct(missing) if missing.is_empty() => {
                "delegated to us".to_owned()
            }
            DelegationStatus::Correct(missing) => {
                format!("delegated to us, but not to {}", missing.join(", "))
            }
            DelegationStatus::Elsewhere(others) => {
                format!("delegated to {} alone", others.join(", "))
            }
            DelegationStatus::Absent => "not delegated: nobody who asks is sent to us".to_owned(),
            DelegationStatus::Unreachable(code) => format!(
                "the resolver gets no good answer for it ({code}): delegated to who does not answer, or not at all"
            ),
        }
    }

    /// Whether the delegation names every name server of the zone.
    pub fn is_correct(&self) -> bool {
        *self == DelegationStatus::Correct(Vec::new())
    }
}

/// The query for the name servers of a zone.
pub fn build_query(zone: &ZoneConfig, number: u16) -> Option<Vec<u8>> {
    let mut name = Name::from_ascii(&zone.name).ok()?;
    name.set_fqdn(true);
    let mut message = Message::query();
    message.metadata.id = number;
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name, RecordType::NS));
    message.to_vec().ok()
}

/// The delegation that the resolver's answer proves. `None` if the answer belongs to another query.
pub fn check_answer(zone: &ZoneConfig, number: u16, answer: &[u8]) -> Option<DelegationStatus> {
    let message = Message::from_vec(answer).ok()?;
    let head = &message.metadata;
    if head.id != number || head.message_type != MessageType::Response {
        return None;
    }
    match head.response_code {
        ResponseCode::NoError => {}
        ResponseCode::NXDomain => return Some(DelegationStatus::Absent),
        other => return Some(DelegationStatus::Unreachable(other.to_string())),
    }
    let of_zone = message.answers.iter().filter(|it| plain_name(&it.name) == zone.name);
    let found: Vec<String> = of_zone
        .filter_map(|record| match &record.data {
            RData::NS(server) => Some(plain_name(&server.0)),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Some(DelegationStatus::Absent);
    }
    let missing: Vec<String> =
        zone.nameservers.iter().filter(|server| !found.contains(server)).cloned().collect();
    if missing.len() == zone.nameservers.len() {
        return Some(DelegationStatus::Elsewhere(found));
    }
    Some(DelegationStatus::Correct(missing))
}

/// The records that the parent zone needs: the delegation, and addresses of name servers within the zone (glue).
pub fn required_records(zone: &ZoneConfig, config: &Config) -> Vec<String> {
    let mut out: Vec<String> =
        zone.nameservers.iter().map(|server| format!("{}. IN NS {server}.", zone.name)).collect();
    for server in &zone.nameservers {
        let named = config.names.get(server).map(|named| &named.source);
        let Some(NameSource::Addresses(list)) = named else { continue };
        for address in list.iter().flat_map(|it| &it.addresses) {
            let kind = if matches!(address, IpAddr::V4(_)) { "A" } else { "AAAA" };
            out.push(format!("{server}. IN {kind} {address}"));
        }
    }
    out
}

fn plain_name(name: &Name) -> String {
    name.to_ascii().trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use hickory_proto::op::OpCode;
    use hickory_proto::rr::Record;
    use hickory_proto::rr::rdata::NS;
    use model::config::load;

    use super::*;

    const TEXT: &str = "[names]\nlisten = \"192.0.2.53:53\"\n[zone.\"g.example.org\"]\n\
                        nameservers = [\"ns1.g.example.org\", \"ns2.example.net\"]\n\
                        [name.\"ns1.g.example.org\"]\naddresses = [\"192.0.2.53\", \"2001:db8::53\"]\n";

    fn answer(code: ResponseCode, servers: &[&str]) -> Vec<u8> {
        let mut message = Message::response(9, OpCode::Query);
        message.metadata.response_code = code;
        for server in servers {
            let data = RData::NS(NS(Name::from_ascii(server).unwrap()));
            message.add_answer(Record::from_rdata(
                Name::from_ascii("G.example.org.").unwrap(),
                60,
                data,
            ));
        }
        message.to_vec().unwrap()
    }

    #[test]
    fn delegation_results_are_distinguished() {
        let config = load(TEXT, "x").unwrap().config;
        let zone = &config.zones["g.example.org"];
        let status_of =
            |code, servers: &[&str]| check_answer(zone, 9, &answer(code, servers)).unwrap();
        let good = ["NS1.g.example.org.", "ns2.example.net."];
        assert!(status_of(ResponseCode::NoError, &good).is_correct());
        let part = status_of(ResponseCode::NoError, &good[..1]);
        assert_eq!(part, DelegationStatus::Correct(vec!["ns2.example.net".into()]));
        assert!(!part.is_correct() && part.describe().contains("but not to ns2.example.net"));
        let other = status_of(ResponseCode::NoError, &["ns.other.net."]);
        assert_eq!(other, DelegationStatus::Elsewhere(vec!["ns.other.net".into()]));
        assert_eq!(status_of(ResponseCode::NoError, &[]), DelegationStatus::Absent);
        assert_eq!(status_of(ResponseCode::NXDomain, &[]), DelegationStatus::Absent);
        assert!(matches!(status_of(ResponseCode::ServFail, &[]), DelegationStatus::Unreachable(_)));
        assert_eq!(check_answer(zone, 8, &answer(ResponseCode::NoError, &good)), None);
        assert_eq!(check_answer(zone, 9, b"rubbish"), None);
        assert!(build_query(zone, 9).unwrap().starts_with(&[0, 9, 1]));
    }

    #[test]
    fn the_parent_zones_records_are_listed() {
        let config = load(TEXT, "x").unwrap().config;
        let expected = [
            "g.example.org. IN NS ns1.g.example.org.",
            "g.example.org. IN NS ns2.example.net.",
            "ns1.g.example.org. IN A 192.0.2.53",
            "ns1.g.example.org. IN AAAA 2001:db8::53",
        ];
        assert_eq!(required_records(&config.zones["g.example.org"], &config), expected);
    }
}
