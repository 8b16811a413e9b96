//! The TLS session of one connection, without a socket: converts ciphertext to plaintext and back.
//!
//! A session buffers only what could not be delivered yet: the start of a record, plaintext without space, ciphertext
//! that the socket did not accept. The buffers of an idle connection are empty.

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

/// Longest record in bytes, with its header (RFC 8446 §5.2).
pub const MAX_RECORD_BYTES: usize = 5 + 16 * 1024 + 256;

/// Most bytes of an incomplete handshake message, since a certificate chain may be long.
/// A message may have 16 MiB (RFC 8446 §4); chains of more than 48 KiB are mistakes or attacks.
const UNFINISHED: usize = 48 * 1024;

/// Most plaintext that is encrypted at a time, in bytes.
/// Four full records in one write.
pub const MAX_PLAINTEXT: usize = 64 * 1024;

/// Space for `MAX_PLAINTEXT` bytes of plaintext as records, after the output that was already queued.
pub const SEALED_BYTES: usize = MAX_PLAINTEXT + 8 * 1024;

pub struct TlsSession {
    machine: TlsMachine,
    /// The start of a record or of a handshake message.
    partial: Vec<u8>,
    /// Plaintext that did not fit, from `plain_at` on.
    plain: Vec<u8>,
    plain_at: usize,
    /// Ciphertext to send, from `unsent_at` on.
    unsent: Vec<u8>,
    unsent_at: usize,
    /// Plaintext whose ciphertext is at the end of `unsent`, and which is not reported as written yet.
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
    /// A session with a client.
    ///
    /// # Errors
    /// The library's error for the configuration.
    pub fn server(config: &Arc<ServerConfig>) -> Result<TlsSession, Error> {
        let machine = UnbufferedServerConnection::new(config.clone())?;
        Ok(TlsSession::new(TlsMachine::Server(Box::new(machine))))
    }

    /// A session with a server whose certificate must be valid for `name`.
    ///
    /// # Errors
    /// The library's error for the configuration.
    pub fn client(
        config: &Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<TlsSession, Error> {
        let machine = UnbufferedClientConnection::new(config.clone(), name)?;
        let mut session = TlsSession::new(TlsMachine::Client(Box::new(machine)));
        // Creates the ClientHello, which the client sends first.
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

    /// The state that both sides' sessions share.
    pub fn common(&self) -> &CommonState {
        self.machine.common()
    }

    /// Whether the peer is a client.
    pub fn towards_client(&self) -> bool {
        matches!(self.machine, TlsMachine::Server(_))
    }

    /// Whether the handshake is complete.
    pub fn established(&self) -> bool {
        !self.common().is_handshaking()
    }

    /// Whether an earlier session was resumed.
    pub fn resumed(&self) -> bool {
        self.common().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The error of the session, if it has failed.
    pub fn failure(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// The facts about the client from the handshake.
    pub fn observation(&self) -> &HandshakeObservation {
        &self.observation
    }

    /// The first received byte; `None`: none was received.
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

    /// Whether there is something for the reader: plaintext, the end or a failure.
    pub fn has_reader_event(&self) -> bool {
        self.has_plain() || self.peer_closed || self.failed.is_some()
    }

    /// Copies the buffered start of a record to `to` and returns its length. The caller appends the bytes that it
    /// reads, and passes all of them to `feed`.
    pub fn begin(&self, to: &mut [u8]) -> usize {
        let n = self.partial.len().min(to.len());
        to[..n].copy_from_slice(&self.partial[..n]);
        n
    }

    /// Processes `came`: the bytes from `begin` and the received ones. Returns how much plaintext was written to
    /// `into`; `take_plain` returns the rest.
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
            let progress = match machine {
                TlsMachine::Server(it) => {
                    step(it.process_tls_records(&mut came[at..]), &mut outcome)
                }
                TlsMachine::Client(it) => {
                    step(it.process_tls_records(&mut came[at..]), &mut outcome)
                }
            };
            at += progress.discard;
            match progress.step {
                SessionStep::Continue => {}
                SessionStep::Stop => break,
                SessionStep::Failed(error) => *failed = Some(error),
            }
            // After a failure nothing is processed, but the alert for the peer can still be written.
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

    /// Returns buffered plaintext.
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

    /// Encrypts at most `MAX_PLAINTEXT` bytes into `to`, after the library's queued output. Returns how many bytes of
    /// `to` were used. `unsent` must be empty.
    ///
    /// # Errors
    /// The session has failed or cannot carry data.
    pub fn seal(&mut self, plain: &[u8], to: &mut [u8]) -> Result<usize, Error> {
        let mut used = 0;
        self.write(|mut traffic, out| {
            // The queued output comes first.
            used = out.len();
            let front = to.get_mut(..used).ok_or_else(|| Error::General(NO_ROOM.to_owned()))?;
            front.copy_from_slice(out);
            out.clear();
            used += to_used(traffic.encrypt(plain, &mut to[used..]))?;
            Ok(())
        })?;
        Ok(used)
    }

    /// Queues close_notify, once (RFC 8446 §6.1).
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

    /// Whether close_notify was queued.
    pub fn closing(&self) -> bool {
        self.closing
    }

    /// Ciphertext that must be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.unsent[self.unsent_at..]
    }

    /// Removes `n` sent bytes.
    pub fn sent(&mut self, n: usize) {
        self.unsent_at += n;
        if self.unsent_at >= self.unsent.len() {
            self.unsent = Vec::new();
            self.unsent_at = 0;
        }
    }

    /// Buffers ciphertext that the socket did not accept; its `plain` bytes of plaintext are not reported as written
    /// yet.
    pub fn keep_unsent(&mut self, cipher: &[u8], plain: usize) {
        self.unsent.extend_from_slice(cipher);
        self.unreported_plain += plain;
    }

    /// Plaintext bytes that were sent and not reported as written yet.
    pub fn take_unreported_plain(&mut self) -> usize {
        std::mem::take(&mut self.unreported_plain)
    }

    /// Bytes buffered for the reader, the socket or the next record.
    pub fn buffered_bytes(&self) -> usize {
        self.partial.len() + self.plain.len() + self.unsent.len()
    }

    /// Advances the library to the state for writing, and calls `with`; `out` holds the queued output.
    fn write(
        &mut self,
        with: impl FnOnce(TrafficWriter<'_>, &mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let TlsSession { machine, plain, unsent: out, partial, peer_closed, .. } = self;
        let mut outcome = StepOutput { plain, out, peer_closed, into: &mut [], bytes_given: 0 };
        loop {
            // `partial` is never a complete record, so it is not consumed.
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

/// The queued output exceeds the available space.
const NO_ROOM: &str = "no room for what is to be sent first";

/// Space for an alert record, in bytes.
/// An alert has two bytes; protection adds a tag, a type and a header (RFC 8446 §5.2).
const ALERT: usize = 64;
