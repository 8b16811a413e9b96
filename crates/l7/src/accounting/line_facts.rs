//! Writes the variables of a line of the access log from the record of its exchange. What is not known is left out.

use std::time::Duration;

use model::client_address::display_client;
use model::config::{AccessLogField, LogSource, LogVariable};
use model::limit::TimeOwner;

use super::date::WallOrigin;
use super::exchange_record::ExchangeRecord;
use super::id::RequestId;
use super::line_limits::{FIELD, FOUND, HOST, METHOD, NAME, TARGET, VALUE};
use super::line_writer::LineWriter;
use super::log_fields::{LogFields, LoggedServer};

/// What a line is about.
#[derive(Clone, Copy)]
pub struct LineFacts<'a> {
    pub record: &'a ExchangeRecord,
    pub names: &'a LogFields<'a>,
    pub wall: WallOrigin,
}

impl LineFacts<'_> {
    /// Writes the configured fields in their order; without any, what a line has by default.
    pub fn write(&self, fields: &[AccessLogField], line: &mut LineWriter<'_>) {
        if fields.is_empty() {
            return self.write_default(line);
        }
        let has_default = fields.iter().any(|field| field.source == LogSource::Default);
        for (at, field) in fields.iter().enumerate() {
            match field.source {
                LogSource::Default => self.write_default(line),
                LogSource::Variable(variable) => {
                    if !(has_default && self.stands_by_default(variable)) {
                        self.write_variable(variable, at, line);
                    }
                }
                LogSource::Header(_) | LogSource::Cookie(_) => {
                    self.write_captured(field.name(), at, VALUE, line);
                }
            }
        }
    }

    /// Whether a line has the variable without being asked: the host and the peer of the connection stand there where
    /// something was the matter with them.
    fn stands_by_default(&self, variable: LogVariable) -> bool {
        match variable {
            LogVariable::Host => !self.names.offence.host.is_empty(),
            LogVariable::Connection => self.names.origin.is_some(),
            other => other.is_default(),
        }
    }

    fn write_default(&self, line: &mut LineWriter<'_>) {
        for variable in LogVariable::ALL.iter().filter(|variable| variable.is_default()) {
            if self.stands_by_default(*variable) {
                self.write_variable(*variable, usize::MAX, line);
            }
        }
    }

    /// Writes a variable. `at`: its position among the configured fields.
    fn write_variable(&self, variable: LogVariable, at: usize, line: &mut LineWriter<'_>) {
        use LogVariable as V;
        let LineFacts { record, names, .. } = *self;
        let key = variable.name();
        match variable {
            V::Time => line.date(key, &self.wall.date(record.begun_at)),
            V::Id => text(line, key, record.known_id().as_ref().map(RequestId::as_str)),
            V::RequestId => text(line, key, names.request_id),
            V::Service => line.text(key, names.service.as_bytes(), NAME),
            V::Client => line.plain(key, display_client(names.client)),
            V::Connection => {
                let peer = names.origin.map_or(names.client, |origin| origin.connection);
                line.plain(key, peer);
            }
            V::ClientFrom => bytes(line, key, names.origin.map(|it| it.source.as_bytes()), FIELD),
            V::ClientStop => text(line, key, names.origin.and_then(|it| it.stop)),
            V::ClientHops => {
                let origin = names.origin.filter(|origin| origin.stop.is_some());
                number(line, key, origin.map(|origin| origin.hops.into()));
            }
            V::Protocol => line.plain(key, names.protocol.name()),
            V::Method => bytes(line, key, Some(names.method), METHOD),
            V::Target | V::TargetBytes => self.write_target(variable, line),
            V::Status => {
                number(line, key, Some(u64::from(record.status)).filter(|status| *status > 0));
            }
            V::By => {
                let side = if record.local_reply { "balancer" } else { "server" };
                text(line, key, (record.status > 0).then_some(side));
            }
            V::Server => {
                if let Some(LoggedServer { pool, name }) = names.server {
                    line.path(key, pool, name, NAME);
                }
            }
            V::Attempts => line.number(key, record.attempts.into()),
            V::Reused if record.reused => line.flag(key),
            V::Reused => {}
            V::Cause => text(line, key, record.cause.map(|cause| cause.name())),
            V::Defect => text(line, key, record.defect),
            V::Weight => {
                if let Some(weight) = names.weight {
                    line.decimal(key, weight);
                }
            }
            V::Rule => text(line, key, names.further.rule),
            V::Sni => bytes(line, key, names.further.sni.map(str::as_bytes), HOST),
            V::TlsVersion => text(line, key, names.further.tls_version),
            V::Host | V::UserAgent | V::Referer => self.write_field(variable, at, line),
            V::Field | V::At | V::Found => self.write_offence(variable, line),
            _ => self.write_measure(variable, line),
        }
    }

    /// What was received of a request line. A malformed request may have no method.
    fn write_target(&self, variable: LogVariable, line: &mut LineWriter<'_>) {
        let target = self.names.target;
        if variable == LogVariable::TargetBytes {
            let is_cut = target.len() > TARGET;
            number(line, variable.name(), is_cut.then_some(target.len() as u64));
        } else if !self.names.method.is_empty() || !target.is_empty() {
            line.text(variable.name(), target, TARGET);
        }
    }

    /// A field of the request that has a name of its own here. That of a malformed request may be known by its defect.
    fn write_field(&self, variable: LogVariable, at: usize, line: &mut LineWriter<'_>) {
        let key = variable.name();
        let most = if variable == LogVariable::Host { HOST } else { VALUE };
        match self.names.offence.host {
            host if variable == LogVariable::Host && !host.is_empty() => line.text(key, host, most),
            _ => self.write_captured(key, at, most, line),
        }
    }

    fn write_captured(&self, key: &str, at: usize, most: usize, line: &mut LineWriter<'_>) {
        let value = self.names.further.captured.map(|captured| captured.value(at));
        bytes(line, key, value, most);
    }

    /// The details of a violation.
    fn write_offence(&self, variable: LogVariable, line: &mut LineWriter<'_>) {
        let offence = &self.names.offence;
        match variable {
            LogVariable::Field => bytes(line, variable.name(), Some(offence.field), FIELD),
            LogVariable::At => {
                number(line, variable.name(), offence.field_offset.map(|at| at as u64));
            }
            _ => bytes(line, variable.name(), Some(offence.found_bytes), FOUND),
        }
    }

    /// Bytes, times, and what is known of key exchanges and slowness.
    fn write_measure(&self, variable: LogVariable, line: &mut LineWriter<'_>) {
        use LogVariable as V;
        let LineFacts { record, names, .. } = *self;
        let key = variable.name();
        let setup = record.sample.connection_setup;
        match variable {
            V::BytesFromClient => line.number(key, record.bytes_from_client),
            V::BytesToClient => line.number(key, record.bytes_to_client),
            V::BytesToServer => line.number(key, record.bytes_to_server),
            V::BytesFromServer => line.number(key, record.bytes_from_server),
            V::AcceptMs => millis(line, key, setup.map(|setup| setup.accept)),
            V::TlsMs => millis(line, key, setup.and_then(|setup| setup.tls)),
            V::HeadMs => line.millis(key, record.head_at.since(record.begun_at)),
            V::AuthMs => millis(line, key, record.auth_time()),
            V::QueueMs => millis(line, key, record.queue_time()),
            V::ConnectMs => millis(line, key, record.connect_time()),
            V::BodyInMs => millis(line, key, record.send_time()),
            V::FirstByteMs => millis(line, key, record.server_time()),
            V::TransferMs => millis(line, key, record.transfer_time()),
            V::TotalMs => millis(line, key, record.request_time()),
            V::TlsGroup => text(line, key, setup.and_then(|setup| setup.group)),
            V::ServerTlsGroup => text(line, key, record.sample.server_group),
            V::Owner => {
                let owner = names.slow.map(|bar| bar.owner.map_or("unknown", TimeOwner::name));
                text(line, key, owner);
            }
            V::Limit => text(line, key, names.slow.map(|bar| bar.limit.code())),
            // The others are written elsewhere.
            _ => {}
        }
    }
}

fn text(line: &mut LineWriter<'_>, key: &str, value: Option<&str>) {
    bytes(line, key, value.map(str::as_bytes), NAME);
}

/// Writes a text that is neither absent nor empty.
fn bytes(line: &mut LineWriter<'_>, key: &str, value: Option<&[u8]>, most: usize) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        line.text(key, value, most);
    }
}

fn number(line: &mut LineWriter<'_>, key: &str, value: Option<u64>) {
    if let Some(value) = value {
        line.number(key, value);
    }
}

fn millis(line: &mut LineWriter<'_>, key: &str, time: Option<Duration>) {
    if let Some(time) = time {
        line.millis(key, time);
    }
}
