//! Prepares a configured probe once, regular expressions above all, and starts its dialogues.

use std::sync::Arc;

use model::config::{AgentKind, HttpProbe, Pattern, ProbeKind, ProgramProbe, StatusRange};
use model::load_report::orca::MAX_REPORT_BYTES;
use regex::bytes::Regex;

use crate::agent::AgentQuery;
use crate::context::ProbeContext;
use crate::dialogue::ProbeDialogue;
use crate::dns::DnsProbe;
use crate::ftp::FTP;
use crate::http::Http1Probe;
use crate::http_response::ExpectedResponse;
use crate::imap::IMAP;
use crate::ldap::LdapProbe;
use crate::ldap_search::EntrySearch;
use crate::mysql::MysqlProbe;
use crate::nntp::NNTP;
use crate::ping::PingProbe;
use crate::pop3::POP3;
use crate::postgres::PostgresProbe;
use crate::radius::RadiusProbe;
use crate::redis::REDIS;
use crate::script::{ScriptProbe, ScriptProtocol};
use crate::send_expect::{DatagramExpectation, StreamExpectation};
use crate::sip::SipProbe;
use crate::smtp::SMTP;
use crate::snmp::SnmpProbe;
use crate::telnet::TelnetProbe;
use crate::{grpc, http2};

/// The transport of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeTransport {
    Stream,
    Datagram,
    Ping,
    Program,
}

/// A prepared probe; cheap to share.
#[derive(Clone, Debug)]
pub struct ProbePlan {
    kind: ProbeKind,
    tls: bool,
    expect: Option<Regex>,
    expected_response: Option<Arc<ExpectedResponse>>,
    /// Reads a line from an agent; sends this line first.
    line: Option<String>,
}

impl ProbePlan {
    /// Prepares a probe, over TLS or not.
    pub fn new(kind: &ProbeKind, tls: bool) -> ProbePlan {
        let compile = |pattern: &Option<Pattern>| pattern.as_ref().and_then(Pattern::compile);
        let wanted = |ask: &HttpProbe| {
            Arc::new(ExpectedResponse {
                request: ask.clone(),
                expect: compile(&ask.expect),
                returns_body: false,
            })
        };
        let (expect, wanted) = match kind {
            ProbeKind::Http(ask) | ProbeKind::Http2(ask) => (None, Some(wanted(ask))),
            ProbeKind::Say(say) | ProbeKind::Udp(say) => (compile(&say.expect), None),
            ProbeKind::Telnet { expect } | ProbeKind::Snmp { expect, .. } => {
                (compile(expect), None)
            }
            ProbeKind::Ldap { search: Some(search), .. } => (compile(&search.expect), None),
            _ => (None, None),
        };
        ProbePlan { kind: kind.clone(), tls, expect, expected_response: wanted, line: None }
    }

    /// Prepares an agent check; its result's text is the agent's line. `None`: no agent over TCP.
    pub fn for_agent(kind: &AgentKind) -> Option<ProbePlan> {
        let (kind, wanted, line) = match kind {
            AgentKind::Answers => return None,
            AgentKind::Text { send } => (ProbeKind::Tcp, None, Some(send.clone())),
            AgentKind::Orca { path } => {
                let body_bytes = MAX_REPORT_BYTES as u32;
                let status = vec![StatusRange { first: 200, last: 200 }];
                let ask = HttpProbe { status, body_bytes, ..HttpProbe::get(path) };
                let wanted =
                    ExpectedResponse { request: ask.clone(), expect: None, returns_body: true };
                (ProbeKind::Http(ask), Some(Arc::new(wanted)), None)
            }
        };
        Some(ProbePlan { kind, tls: false, expect: None, expected_response: wanted, line })
    }

    pub fn transport(&self) -> ProbeTransport {
        match self.kind {
            ProbeKind::Program(_) => ProbeTransport::Program,
            ProbeKind::Ping => ProbeTransport::Ping,
            ProbeKind::Dns { .. }
            | ProbeKind::Sip { .. }
            | ProbeKind::Udp(_)
            | ProbeKind::Radius { .. }
            | ProbeKind::Snmp { .. } => ProbeTransport::Datagram,
            _ => ProbeTransport::Stream,
        }
    }

    /// The protocol for ALPN in a TLS handshake.
    pub fn alpn(&self) -> Option<&'static [u8]> {
        match self.kind {
            ProbeKind::Http(_) => Some(b"http/1.1"),
            ProbeKind::Http2(_) | ProbeKind::Grpc { .. } => Some(b"h2"),
            _ => None,
        }
    }

    /// The file of the secret for the context.
    pub fn secret_path(&self) -> Option<&std::path::Path> {
        self.kind.secret_file()
    }

    /// The program to run.
    pub fn program(&self) -> Option<&ProgramProbe> {
        match &self.kind {
            ProbeKind::Program(program) => Some(program),
            _ => None,
        }
    }

    /// Starts a dialogue with one server; `None`: the connection alone is the probe.
    pub fn start_dialogue(&self, context: &ProbeContext<'_>) -> Option<Box<dyn ProbeDialogue>> {
        if let Some(line) = &self.line {
            return Some(Box::new(AgentQuery::new(line)));
        }
        let script = |protocol: &'static ScriptProtocol| {
            Some(Box::new(ScriptProbe::new(protocol)) as Box<dyn ProbeDialogue>)
        };
        let host = self.host().unwrap_or(context.host);
        let secret = context.secret.unwrap_or_default();
        let low = context.random as u32;
        match &self.kind {
            ProbeKind::Tcp | ProbeKind::Program(_) => None,
            ProbeKind::Say(say) => {
                let expect = self.expect.clone()?;
                Some(Box::new(StreamExpectation::new(&say.send, expect)))
            }
            ProbeKind::Http(_) => {
                let wanted = Arc::clone(self.expected_response.as_ref()?);
                Some(Box::new(Http1Probe::new(wanted, host)))
            }
            ProbeKind::Http2(_) => {
                let wanted = Arc::clone(self.expected_response.as_ref()?);
                Some(Box::new(http2::new_dialogue(wanted, host, self.tls)))
            }
            ProbeKind::Grpc { service, .. } => {
                Some(Box::new(grpc::new_dialogue(service, host, self.tls)))
            }
            ProbeKind::Dns { name, record } => {
                Some(Box::new(DnsProbe::new(name, *record, low as u16)))
            }
            ProbeKind::Smtp => script(&SMTP),
            ProbeKind::Imap => script(&IMAP),
            ProbeKind::Pop3 => script(&POP3),
            ProbeKind::Ftp => script(&FTP),
            ProbeKind::Nntp => script(&NNTP),
            ProbeKind::Redis => script(&REDIS),
            ProbeKind::Telnet { .. } => Some(Box::new(TelnetProbe::new(self.expect.clone()))),
            ProbeKind::Ldap { user, search, .. } => {
                let search =
                    search.as_ref().map(|search| EntrySearch::new(search, self.expect.clone()));
                Some(Box::new(LdapProbe::new(user, secret, search)))
            }
            ProbeKind::Mysql { user } => Some(Box::new(MysqlProbe::new(user))),
            ProbeKind::Postgres { user } => Some(Box::new(PostgresProbe::new(user))),
            ProbeKind::Sip { status } => Some(Box::new(SipProbe::new(status, context))),
            ProbeKind::Udp(say) => {
                Some(Box::new(DatagramExpectation::new(&say.send, self.expect.clone())))
            }
            ProbeKind::Ping => Some(Box::new(PingProbe::new(context))),
            ProbeKind::Radius { .. } => Some(Box::new(RadiusProbe::new(context))),
            ProbeKind::Snmp { oid, .. } => {
                let community = context.secret.unwrap_or(b"public");
                Some(Box::new(SnmpProbe::new(oid, community, low, self.expect.clone())))
            }
        }
    }

    fn host(&self) -> Option<&str> {
        match &self.kind {
            ProbeKind::Http(ask) | ProbeKind::Http2(ask) => ask.host.as_deref(),
            ProbeKind::Grpc { host, .. } => host.as_deref(),
            _ => None,
        }
    }
}
