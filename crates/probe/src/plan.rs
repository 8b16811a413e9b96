//! From a configured probe to dialogues: what can be prepared once is, expressions above all.

use std::sync::Arc;

use model::config::{AgentKind, HttpAsk, Pattern, ProbeKind, ProgramProbe};
use model::load::orca::REPORT_BYTES;
use regex::bytes::Regex;

use crate::agent::AskText;
use crate::answer::Wanted;
use crate::context::Context;
use crate::dialogue::Dialogue;
use crate::dns::Dns;
use crate::ftp::FTP;
use crate::http::Http;
use crate::imap::IMAP;
use crate::ldap::Ldap;
use crate::mysql::Mysql;
use crate::nntp::NNTP;
use crate::ping::Ping;
use crate::pop3::POP3;
use crate::postgres::Postgres;
use crate::radius::Radius;
use crate::redis::REDIS;
use crate::say::{Datagram, Stream};
use crate::script::{Protocol, Script};
use crate::sip::Sip;
use crate::smtp::SMTP;
use crate::snmp::Snmp;
use crate::telnet::Telnet;
use crate::{grpc, http2};

/// What carries a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// A TCP connection.
    Stream,
    /// Datagrams over UDP.
    Datagram,
    /// ICMP echo.
    Ping,
    /// A program.
    Program,
}

/// A prepared probe; cheap to share.
#[derive(Clone, Debug)]
pub struct Plan {
    kind: ProbeKind,
    tls: bool,
    expect: Option<Regex>,
    wanted: Option<Arc<Wanted>>,
    /// An agent is asked for a line; this is said first.
    line: Option<String>,
}

impl Plan {
    /// Prepares a probe, over TLS or not.
    pub fn new(kind: &ProbeKind, tls: bool) -> Plan {
        let compile = |pattern: &Option<Pattern>| pattern.as_ref().and_then(Pattern::compile);
        let wanted = |ask: &HttpAsk| {
            Arc::new(Wanted { ask: ask.clone(), expect: compile(&ask.expect), keep: false })
        };
        let (expect, wanted) = match kind {
            ProbeKind::Http(ask) | ProbeKind::Http2(ask) => (None, Some(wanted(ask))),
            ProbeKind::Say(say) | ProbeKind::Udp(say) => (compile(&say.expect), None),
            ProbeKind::Telnet { expect } | ProbeKind::Snmp { expect, .. } => {
                (compile(expect), None)
            }
            _ => (None, None),
        };
        Plan { kind: kind.clone(), tls, expect, wanted, line: None }
    }

    /// Prepares the question to an agent; its verdict's text is what the agent said. `None`: nobody is asked.
    pub fn of_agent(kind: &AgentKind) -> Option<Plan> {
        let (kind, wanted, line) = match kind {
            AgentKind::Answers => return None,
            AgentKind::Text { send } => (ProbeKind::Tcp, None, Some(send.clone())),
            AgentKind::Orca { path } => {
                let body_bytes = REPORT_BYTES as u32;
                let ask = HttpAsk { status: vec![(200, 200)], body_bytes, ..HttpAsk::get(path) };
                let wanted = Wanted { ask: ask.clone(), expect: None, keep: true };
                (ProbeKind::Http(ask), Some(Arc::new(wanted)), None)
            }
        };
        Some(Plan { kind, tls: false, expect: None, wanted, line })
    }

    /// What carries it.
    pub fn carrier(&self) -> Carrier {
        match self.kind {
            ProbeKind::Program(_) => Carrier::Program,
            ProbeKind::Ping => Carrier::Ping,
            ProbeKind::Dns { .. }
            | ProbeKind::Sip { .. }
            | ProbeKind::Udp(_)
            | ProbeKind::Radius { .. }
            | ProbeKind::Snmp { .. } => Carrier::Datagram,
            _ => Carrier::Stream,
        }
    }

    /// The protocol to be agreed on in a TLS handshake.
    pub fn alpn(&self) -> Option<&'static [u8]> {
        match self.kind {
            ProbeKind::Http(_) => Some(b"http/1.1"),
            ProbeKind::Http2(_) | ProbeKind::Grpc { .. } => Some(b"h2"),
            _ => None,
        }
    }

    /// The file with the secret that the context must bring.
    pub fn secret(&self) -> Option<&std::path::Path> {
        self.kind.secret()
    }

    /// The program to be run.
    pub fn program(&self) -> Option<&ProgramProbe> {
        match &self.kind {
            ProbeKind::Program(program) => Some(program),
            _ => None,
        }
    }

    /// A dialogue with one server; `None`: the connection alone is the probe.
    pub fn begin(&self, context: &Context<'_>) -> Option<Box<dyn Dialogue>> {
        if let Some(line) = &self.line {
            return Some(Box::new(AskText::new(line)));
        }
        let script = |protocol: &'static Protocol| {
            Some(Box::new(Script::new(protocol)) as Box<dyn Dialogue>)
        };
        let host = self.host().unwrap_or(context.host);
        let secret = context.secret.unwrap_or_default();
        let low = context.draw as u32;
        match &self.kind {
            ProbeKind::Tcp | ProbeKind::Program(_) => None,
            ProbeKind::Say(say) => {
                let expect = self.expect.clone()?;
                Some(Box::new(Stream::new(&say.send, expect)))
            }
            ProbeKind::Http(_) => {
                let wanted = Arc::clone(self.wanted.as_ref()?);
                Some(Box::new(Http::new(wanted, host)))
            }
            ProbeKind::Http2(_) => {
                let wanted = Arc::clone(self.wanted.as_ref()?);
                Some(Box::new(http2::new(wanted, host, self.tls)))
            }
            ProbeKind::Grpc { service, .. } => Some(Box::new(grpc::new(service, host, self.tls))),
            ProbeKind::Dns { name, record } => Some(Box::new(Dns::new(name, *record, low as u16))),
            ProbeKind::Smtp => script(&SMTP),
            ProbeKind::Imap => script(&IMAP),
            ProbeKind::Pop3 => script(&POP3),
            ProbeKind::Ftp => script(&FTP),
            ProbeKind::Nntp => script(&NNTP),
            ProbeKind::Redis => script(&REDIS),
            ProbeKind::Telnet { .. } => Some(Box::new(Telnet::new(self.expect.clone()))),
            ProbeKind::Ldap { user, .. } => Some(Box::new(Ldap::new(user, secret))),
            ProbeKind::Mysql { user } => Some(Box::new(Mysql::new(user))),
            ProbeKind::Postgres { user } => Some(Box::new(Postgres::new(user))),
            ProbeKind::Sip { status } => Some(Box::new(Sip::new(status, context))),
            ProbeKind::Udp(say) => Some(Box::new(Datagram::new(&say.send, self.expect.clone()))),
            ProbeKind::Ping => Some(Box::new(Ping::new(context))),
            ProbeKind::Radius { .. } => Some(Box::new(Radius::new(context))),
            ProbeKind::Snmp { oid, .. } => {
                let community = context.secret.unwrap_or(b"public");
                Some(Box::new(Snmp::new(oid, community, low, self.expect.clone())))
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
