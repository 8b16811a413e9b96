//! The TLS session of one connection, without a socket: ciphertext in, plaintext out, and the other way round.
//!
//! It holds only what could not be delivered yet: the beginning of a record, plaintext that did not fit, ciphertext
//! that the socket did not accept. An idle connection holds none of these.

mod step;
mod write;

use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::ConnectionState;
use rustls::{ClientConfig, CommonState, Error, HandshakeKind, ServerConfig};

use self::step::{SessionStep, StepOutput, run_one_step, step};
use self::write::{TrafficWriter, to_used};
use super::handshake_observation::{self, HandshakeObservation};

/// Ciphertext that one record has at most (RFC 8446 §5.2), with its header.
pub const MAX_RECORD_BYTES: usize = 5 + 16 * 1024 + 256;

/// Bytes of a handshake message that is not whole yet; a chain of certificates may be long.
const UNFINISHED: usize = 48 * 1024;

/// Plaintext sealed at a time.
pub const MAX_PLAINTEXT: usize = 64 * 1024;

/// Room for `MAX_PLAINTEXT` bytes of plaintext as records, with what waited before them.
pub const SEALED_BYTES: usize = MAX_PLAINTEXT + 8 * 1024;

pub struct TlsSession {
    machine: TlsMachine,
    /// The beginning of a record or of a handshake message.
    partial: Vec<u8>,
    /// Plaintext that did not fit, from `plain_at` on.
    plain: Vec<u8>,
    plain_at: usize,
    /// Ciphertext to be sent, from `unsent_at` on.
    unsent: Vec<u8>,
    unsent_at: usize,
    /// Plaintext that the tail of `unsent` stands for, of which whoever wrote it does not know yet that it is sent.
    unreported_plain: usize,
    peer_closed: bool,
    closing: bool,
    failed: Option<Error>,
    first_byte: Option<u8>,
    observation: HandshakeObservation,
}

enum TlsMachine {
    Server(Box<UnbufferedServerConnection>),
    Client(Box<UnbufferedClientConnection>),
}

impl TlsMachine {
    fn common(&self) -> &CommonState {
        match self {
            TlsMachine::Server(it) => it,
            TlsMachine::Client(it) => it,
        }
    }
}

impl TlsSession {
    /// Towards a client.
    ///
    /// # Errors
    /// What the configuration says.
    pub fn server(config: &Arc<ServerConfig>) -> Result<TlsSession, Error> {
        let machine = UnbufferedServerConnection::new(config.clone())?;
        Ok(TlsSession::new(TlsMachine::Server(Box::new(machine))))
    }

    /// Towards a server that must prove `name`.
    ///
    /// # Errors
    /// What the configuration says.
    pub fn client(
        config: &Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<TlsSession, Error> {
        let machine = UnbufferedClientConnection::new(config.clone(), name)?;
        let mut session = TlsSession::new(TlsMachine::Client(Box::new(machine)));
        // The first flight is ours.
        session.feed(&mut [], &mut []);
        Ok(session)
    }

    fn new(machine: TlsMachine) -> TlsSession {
        TlsSession {
            machine,
            partial: Vec::new(),
            plain: Vec::new(),
            plain_at: 0,
            unsent: Vec::new(),
            unsent_at: 0,
            unreported_plain: 0,
            peer_closed: false,
            closing: false,
            failed: None,
            first_byte: None,
            observation: HandshakeObservation::default(),
        }
    }

    /// What both sides have in common.
    pub fn common(&self) -> &CommonState {
        self.machine.common()
    }

    /// Whether the peer is a client.
    pub fn towards_client(&self) -> bool {
        matches!(self.machine, TlsMachine::Server(_))
    }

    /// Whether the handshake is over.
    pub fn established(&self) -> bool {
        !self.common().is_handshaking()
    }

    /// Whether an earlier session was resumed.
    pub fn resumed(&self) -> bool {
        self.common().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// What its handshake has shown of the client.
    pub fn observation(&self) -> &HandshakeObservation {
        &self.observation
    }

    /// The first byte that came; `None`: none did.
    pub fn first_byte(&self) -> Option<u8> {
        self.first_byte
    }

    /// Whether the peer has sent close_notify.
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    pub fn has_plain(&self) -> bool {
        self.plain_at < self.plain.len()
    }

    /// Whether something waits for the reader: plaintext, the end or a failure.
    pub fn has_reader_event(&self) -> bool {
        self.has_plain() || self.peer_closed || self.failed.is_some()
    }

    /// Copies what waits of a record to the beginning of `to` and returns how much that is. What was read goes behind
    /// it and all of it to `feed`.
    pub fn begin(&self, to: &mut [u8]) -> usize {
        let n = self.partial.len().min(to.len());
        to[..n].copy_from_slice(&self.partial[..n]);
        n
    }

    /// Takes in what came, after what `begin` has given; returns how much plaintext was put into `into`. What does not
    /// fit waits for `take_plain`.
    pub fn feed(&mut self, came: &mut [u8], into: &mut [u8]) -> usize {
        if self.first_byte.is_none() {
            self.first_byte = came.first().copied();
        }
        let shaking = self.towards_client() && !self.established();
        if shaking {
            handshake_observation::begin_step(&self.observation);
        }
        let TlsSession { machine, plain, unsent: out, peer_closed, failed, .. } = self;
        let mut outcome = StepOutput { plain, out, peer_closed, into, bytes_given: 0 };
        let mut at = 0;
        loop {
            let (discard, next) = match machine {
                TlsMachine::Server(it) => {
                    step(it.process_tls_records(&mut came[at..]), &mut outcome)
                }
                TlsMachine::Client(it) => {
                    step(it.process_tls_records(&mut came[at..]), &mut outcome)
                }
            };
            at += discard;
            match next {
                SessionStep::Continue => {}
                SessionStep::Stop => break,
                SessionStep::Failed(error) => *failed = Some(error),
            }
            // After a failure nothing more is read; the alert for the peer can still be written.
            if failed.is_some() && !machine.common().wants_write() {
                break;
            }
        }
        let given = outcome.bytes_given;
        if shaking {
            self.observation = handshake_observation::end_step();
        }
        let rest = came.get(at..).unwrap_or_default();
        if rest.is_empty() || self.failed.is_some() {
            self.partial = Vec::new();
        } else if rest.len() > UNFINISHED {
            self.failed = Some(Error::General("a handshake message is too long".to_owned()));
        } else {
            self.partial.clear();
            self.partial.extend_from_slice(rest);
        }
        given
    }

    /// Takes plaintext that waits.
    pub fn take_plain(&mut self, into: &mut [u8]) -> usize {
        let waits = &self.plain[self.plain_at..];
        let n = waits.len().min(into.len());
        into[..n].copy_from_slice(&waits[..n]);
        self.plain_at += n;
        if self.plain_at == self.plain.len() {
            self.plain = Vec::new();
            self.plain_at = 0;
        }
        n
    }

    /// Seals at most `MAX_PLAINTEXT` bytes into `to`, behind what had to be sent before them; returns how many bytes of `to`
    /// that took. Nothing may wait to be sent (`unsent`).
    ///
    /// # Errors
    /// The connection can carry no more.
    pub fn seal(&mut self, plain: &[u8], to: &mut [u8]) -> Result<usize, Error> {
        let mut used = 0;
        self.write(|mut traffic, out| {
            // What has to go first goes to the front.
            used = out.len();
            let front = to.get_mut(..used).ok_or_else(|| Error::General(NO_ROOM.to_owned()))?;
            front.copy_from_slice(out);
            out.clear();
            used += to_used(traffic.encrypt(plain, &mut to[used..]))?;
            Ok(())
        })?;
        Ok(used)
    }

    /// Sends close_notify, once (RFC 8446 §6.1).
    pub fn close(&mut self) {
        if self.closing || self.failed.is_some() || !self.established() {
            return;
        }
        self.closing = true;
        let written = self.write(|mut traffic, out| {
            let at = out.len();
            out.resize(at + ALERT, 0);
            let n = to_used(traffic.queue_close_notify(&mut out[at..]))?;
            out.truncate(at + n);
            Ok(())
        });
        if let Err(error) = written {
            self.failed = Some(error);
        }
    }

    /// Whether close_notify was sent.
    pub fn closing(&self) -> bool {
        self.closing
    }

    /// Ciphertext that is to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.unsent[self.unsent_at..]
    }

    /// So much of it was.
    pub fn sent(&mut self, n: usize) {
        self.unsent_at += n;
        if self.unsent_at >= self.unsent.len() {
            self.unsent = Vec::new();
            self.unsent_at = 0;
        }
    }

    /// Keeps ciphertext that the socket did not take; it stands for `plain` bytes that are not reported as written yet.
    pub fn keep_unsent(&mut self, cipher: &[u8], plain: usize) {
        self.unsent.extend_from_slice(cipher);
        self.unreported_plain += plain;
    }

    /// Plaintext that was sent and not reported yet.
    pub fn take_unreported_plain(&mut self) -> usize {
        std::mem::take(&mut self.unreported_plain)
    }

    /// Bytes held for the reader, the socket or the next record.
    pub fn buffered_bytes(&self) -> usize {
        self.partial.len() + self.plain.len() + self.unsent.len()
    }

    /// Brings the machine to where it writes, and lets `with` write; `out` holds what goes first.
    fn write(
        &mut self,
        with: impl FnOnce(TrafficWriter<'_>, &mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let TlsSession { machine, plain, unsent: out, partial, peer_closed, .. } = self;
        let mut outcome = StepOutput { plain, out, peer_closed, into: &mut [], bytes_given: 0 };
        loop {
            // What waits is no whole record, so it stays as it is.
            let next = match machine {
                TlsMachine::Server(it) => match it.process_tls_records(partial).state {
                    Ok(ConnectionState::WriteTraffic(traffic)) => {
                        return with(TrafficWriter::Server(traffic), outcome.out);
                    }
                    state => run_one_step(state, &mut outcome),
                },
                TlsMachine::Client(it) => match it.process_tls_records(partial).state {
                    Ok(ConnectionState::WriteTraffic(traffic)) => {
                        return with(TrafficWriter::Client(traffic), outcome.out);
                    }
                    state => run_one_step(state, &mut outcome),
                },
            };
            match next {
                SessionStep::Continue => {}
                SessionStep::Stop => return Err(Error::HandshakeNotComplete),
                SessionStep::Failed(error) => return Err(error),
            }
        }
    }
}

/// More waited to be sent than there is room for.
const NO_ROOM: &str = "no room for what is to be sent first";

/// Room for an alert as a record.
const ALERT: usize = 64;
