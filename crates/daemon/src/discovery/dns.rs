//! DNS messages with one question: builds queries and parses answers. Pure; RFC 1035, RFC 2782.

use std::time::Duration;

use hickory_proto::op::{Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use model::config::{DnsRecordType, ServerWeight};

use crate::state::overlay::DiscoveredServer;

#[derive(Clone, Debug)]
pub(super) struct DiscoveryQuery {
    name: Name,
    records: DnsRecordType,
    port: u16,
    id: u16,
    pub bytes: Vec<u8>,
}

/// The content of a DNS answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiscoveryAnswer {
    /// The servers; none where the name has no such records.
    pub servers: Vec<DiscoveredServer>,
    /// How long it holds.
    pub time_to_live: Duration,
}

/// Why an answer is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DiscoveryAnswerError {
    /// It belongs to another question, or is none: wait for the right one.
    OtherQuery,
    /// It does not fit into a datagram: ask over TCP.
    Truncated,
    /// The server refuses, fails, or reports that the name does not exist.
    Refused(String),
}

impl DiscoveryQuery {
    /// A query for the records of a name. Servers of A and AAAA records use `port`.
    pub fn new(name: &str, records: DnsRecordType, port: u16) -> Result<DiscoveryQuery, String> {
        let wrong =
            |error: &dyn std::fmt::Display| format!("'{name}' cannot be asked for: {error}");
        let mut fully = Name::from_ascii(name).map_err(|error| wrong(&error))?;
        fully.set_fqdn(true);
        let mut message = Message::query();
        message.metadata.recursion_desired = true;
        message.add_query(Query::query(fully.clone(), kind(records)));
        let bytes = message.to_vec().map_err(|error| wrong(&error))?;
        Ok(DiscoveryQuery { name: fully, records, port, id: message.metadata.id, bytes })
    }

    pub fn parse_answer(&self, bytes: &[u8]) -> Result<DiscoveryAnswer, DiscoveryAnswerError> {
        let message = Message::from_vec(bytes).map_err(|_| DiscoveryAnswerError::OtherQuery)?;
        let same =
            |query: &Query| *query.name() == self.name && query.query_type() == kind(self.records);
        let ours = message.metadata.id == self.id
            && message.metadata.message_type == MessageType::Response
            && message.queries.iter().any(same);
        if !ours {
            return Err(DiscoveryAnswerError::OtherQuery);
        }
        if message.metadata.truncation {
            return Err(DiscoveryAnswerError::Truncated);
        }
        if message.metadata.response_code != ResponseCode::NoError {
            return Err(DiscoveryAnswerError::Refused(message.metadata.response_code.to_string()));
        }
        let lives = message.answers.iter().map(|record| record.ttl).min().unwrap_or(0);
        let datas = || message.answers.iter().map(|record| &record.data);
        let servers = match self.records {
            DnsRecordType::Srv => services(datas()),
            DnsRecordType::A | DnsRecordType::Aaaa => {
                datas().filter_map(|data| self.address(data)).collect()
            }
        };
        Ok(DiscoveryAnswer { servers, time_to_live: Duration::from_secs(u64::from(lives)) })
    }

    fn address(&self, data: &RData) -> Option<DiscoveredServer> {
        let ip: std::net::IpAddr = match (data, self.records) {
            (RData::A(a), DnsRecordType::A) => a.0.into(),
            (RData::AAAA(aaaa), DnsRecordType::Aaaa) => aaaa.0.into(),
            _ => return None,
        };
        let address = std::net::SocketAddr::new(ip, self.port).to_string();
        Some(DiscoveredServer { address, name: None, weight: None })
    }
}

fn kind(records: DnsRecordType) -> RecordType {
    match records {
        DnsRecordType::A => RecordType::A,
        DnsRecordType::Aaaa => RecordType::AAAA,
        DnsRecordType::Srv => RecordType::SRV,
    }
}

/// The services of the lowest priority number. A target of `.` means that the service does not exist (RFC 2782).
fn services<'a>(datas: impl Iterator<Item = &'a RData> + Clone) -> Vec<DiscoveredServer> {
    let all = datas.filter_map(|data| match data {
        RData::SRV(srv) if !srv.target.is_root() && srv.port > 0 => Some(srv),
        _ => None,
    });
    let first = all.clone().map(|srv| srv.priority).min();
    let chosen = all.filter(|srv| Some(srv.priority) == first);
    // Weights reach 65,535 there; the shares stay.
    let most = chosen.clone().map(|srv| u32::from(srv.weight)).max().unwrap_or(0);
    let share = |weight: u16| {
        let scaled = if most > u32::from(ServerWeight::MAX) {
            u32::from(weight) * u32::from(ServerWeight::MAX) / most
        } else {
            u32::from(weight)
        };
        u16::try_from(scaled).unwrap_or(ServerWeight::MAX).max(1)
    };
    let discovered = |srv: &hickory_proto::rr::rdata::SRV| {
        let target = srv.target.to_ascii();
        let address = format!("{}:{}", target.trim_end_matches('.'), srv.port);
        DiscoveredServer { address, name: None, weight: Some(share(srv.weight)) }
    };
    chosen.map(discovered).collect()
}

#[cfg(test)]
mod tests {
    use hickory_proto::op::OpCode;
    use hickory_proto::rr::Record;
    use hickory_proto::rr::rdata::{A, SRV};
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    fn answer(question: &DiscoveryQuery, datas: Vec<(u32, RData)>) -> Message {
        let mut message = Message::response(question.id, OpCode::Query);
        message.add_query(Query::query(question.name.clone(), kind(question.records)));
        for (ttl, data) in datas {
            message.add_answer(Record::from_rdata(question.name.clone(), ttl, data));
        }
        message
    }

    fn a(last: u8) -> RData {
        RData::A(A([10, 0, 0, last].into()))
    }

    fn srv(priority: u16, weight: u16, port: u16, target: &str) -> RData {
        RData::SRV(SRV::new(priority, weight, port, name(target)))
    }

    #[test]
    fn addresses_come_with_the_shortest_life() {
        let question = DiscoveryQuery::new("web.internal", DnsRecordType::A, 80).unwrap();
        let bytes = answer(&question, vec![(30, a(1)), (5, a(2))]).to_vec().unwrap();
        let found = question.parse_answer(&bytes).unwrap();
        let addresses: Vec<_> = found.servers.iter().map(|it| it.address.as_str()).collect();
        assert_eq!(addresses, ["10.0.0.1:80", "10.0.0.2:80"]);
        assert_eq!(found.time_to_live, Duration::from_secs(5));
        let none = answer(&question, Vec::new()).to_vec().unwrap();
        assert_eq!(question.parse_answer(&none).unwrap().servers, []);
    }

    #[test]
    fn services_are_those_of_the_first_priority() {
        let question =
            DiscoveryQuery::new("_http._tcp.web.internal", DnsRecordType::Srv, 0).unwrap();
        let datas = vec![
            (9, srv(20, 1, 81, "spare.internal.")),
            (9, srv(10, 60_000, 8080, "a.internal.")),
            (9, srv(10, 0, 8081, "b.internal.")),
            (9, srv(10, 5, 80, ".")),
        ];
        let bytes = answer(&question, datas).to_vec().unwrap();
        let found = question.parse_answer(&bytes).unwrap().servers;
        let found: Vec<_> = found.iter().map(|it| (it.address.as_str(), it.weight)).collect();
        assert_eq!(found, [("a.internal:8080", Some(256)), ("b.internal:8081", Some(1))]);
    }

    #[test]
    fn what_is_no_answer_to_the_question_is_distinguished() {
        let question = DiscoveryQuery::new("web.internal", DnsRecordType::A, 80).unwrap();
        let mut other = answer(&question, vec![(1, a(1))]);
        other.metadata.id ^= 1;
        assert_eq!(
            question.parse_answer(&other.to_vec().unwrap()),
            Err(DiscoveryAnswerError::OtherQuery)
        );
        assert_eq!(question.parse_answer(b"rubbish"), Err(DiscoveryAnswerError::OtherQuery));
        let mut cut = answer(&question, Vec::new());
        cut.metadata.truncation = true;
        assert_eq!(
            question.parse_answer(&cut.to_vec().unwrap()),
            Err(DiscoveryAnswerError::Truncated)
        );
        let mut refused = answer(&question, Vec::new());
        refused.metadata.response_code = ResponseCode::ServFail;
        assert!(matches!(
            question.parse_answer(&refused.to_vec().unwrap()),
            Err(DiscoveryAnswerError::Refused(_))
        ));
        assert!(DiscoveryQuery::new(&"x".repeat(300), DnsRecordType::A, 80).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..64, with in any::<u8>()) {
            let question = DiscoveryQuery::new("web.internal", DnsRecordType::Srv, 0).unwrap();
            let _ = question.parse_answer(&bytes);
            let mut good = answer(&question, vec![(1, srv(1, 1, 80, "a.b."))]).to_vec().unwrap();
            let at = at % good.len();
            good[at] = with;
            let _ = question.parse_answer(&good);
        }
    }
}
