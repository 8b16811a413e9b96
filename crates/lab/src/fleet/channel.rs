//! A line-based channel over TLS between two ends with the same token. This file owns the socket.
//!
//! Certificates are temporary and prove nothing. Each end proves knowledge of the token for this session (HMAC over RFC
//! 5705 keying material), so a machine in the middle cannot forward either proof.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{Connection, ServerConfig, ServerConnection};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::load::{TargetTls, TargetTlsError};

#[derive(Clone)]
pub struct FleetToken(hmac::Key);

/// Why a token is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a token has at least {LEAST_TOKEN} characters; make one with: head -c 32 /dev/urandom | base64"
)]
pub struct FleetTokenError;

/// Why a channel could not be opened, or failed.
#[derive(Debug, Error)]
pub enum ChannelError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// TLS could not be set up.
    #[error(transparent)]
    Secure(#[from] TargetTlsError),
    /// A temporary certificate could not be created.
    #[error("no certificate could be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The other end closed the connection.
    #[error("the other side has ended the connection")]
    Closed,
    /// No message arrived in time.
    #[error("the other side said nothing for {0:?}")]
    TimedOut(Duration),
    /// The other end did not prove knowledge of the token.
    #[error("the other side does not know the token: use the same file on both")]
    Unauthenticated,
    /// A message beyond the size limit.
    #[error("a line of more than {MAX_MESSAGE_BYTES} bytes")]
    MessageTooLong,
    /// The message is not part of the protocol.
    #[error("not understood: {0}; use the same version of this program on both sides")]
    MalformedMessage(#[from] serde_json::Error),
}

/// A channel whose other end has proven knowledge of the token.
#[derive(Debug)]
pub struct FleetChannel {
    socket: TcpStream,
    tls: Connection,
    received: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct ChannelAcceptor(Arc<ServerConfig>);

impl std::fmt::Debug for FleetToken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Token")
    }
}

impl FleetToken {
    /// The token in a file's text, without surrounding whitespace.
    pub fn new(text: &str) -> Result<FleetToken, FleetTokenError> {
        let text = text.trim();
        if text.len() < LEAST_TOKEN {
            return Err(FleetTokenError);
        }
        Ok(FleetToken(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes())))
    }
}

impl ChannelAcceptor {
    /// Creates a temporary certificate.
    pub fn new() -> Result<ChannelAcceptor, ChannelError> {
        let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()])?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)?;
        Ok(ChannelAcceptor(Arc::new(config)))
    }
}

impl FleetChannel {
    pub fn connect(to: SocketAddr, token: &FleetToken) -> Result<FleetChannel, ChannelError> {
        let socket = TcpStream::connect_timeout(&to, CONNECTING)?;
        let secure = TargetTls::unverified(NAME, &[])?;
        let mut channel =
            FleetChannel::start_session(socket, Connection::Client(secure.connection()?))?;
        let deadline = Instant::now() + PROVING;
        channel.complete_handshake(deadline)?;
        channel.write(&channel.proof(token, LEADER)?)?;
        channel.verify_peer(token, AGENT, deadline)?;
        Ok(channel)
    }

    /// The agent's end. An unauthenticated client learns only that a token is required.
    pub fn accept(
        socket: TcpStream,
        certified: &ChannelAcceptor,
        token: &FleetToken,
    ) -> Result<FleetChannel, ChannelError> {
        let tls = Connection::Server(ServerConnection::new(certified.0.clone())?);
        let mut channel = FleetChannel::start_session(socket, tls)?;
        let deadline = Instant::now() + PROVING;
        channel.complete_handshake(deadline)?;
        channel.verify_peer(token, LEADER, deadline)?;
        channel.write(&channel.proof(token, AGENT)?)?;
        Ok(channel)
    }

    pub fn send_message(&mut self, what: &impl Serialize) -> Result<(), ChannelError> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.write(&line)
    }

    /// The next message within `wait`; `None`: no complete message yet.
    pub fn receive_message<T: DeserializeOwned>(
        &mut self,
        wait: Duration,
    ) -> Result<Option<T>, ChannelError> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            if self.received.len() > MAX_MESSAGE_BYTES {
                return Err(ChannelError::MessageTooLong);
            }
            if !self.read_available(deadline)? {
                return Ok(None);
            }
        }
    }

    /// The next message; a timeout is an error.
    pub fn expect_message<T: DeserializeOwned>(
        &mut self,
        wait: Duration,
    ) -> Result<T, ChannelError> {
        self.receive_message(wait)?.ok_or(ChannelError::TimedOut(wait))
    }

    fn start_session(socket: TcpStream, mut tls: Connection) -> Result<FleetChannel, ChannelError> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITING))?;
        tls.set_buffer_limit(None);
        Ok(FleetChannel { socket, tls, received: Vec::new() })
    }

    fn complete_handshake(&mut self, deadline: Instant) -> Result<(), ChannelError> {
        while self.tls.is_handshaking() {
            if !self.read_available(deadline)? {
                return Err(ChannelError::TimedOut(PROVING));
            }
        }
        self.flush()
    }

    fn proof(&self, token: &FleetToken, who: &[u8]) -> Result<Vec<u8>, ChannelError> {
        let material = self.export_keying_material(who)?;
        Ok(hmac::sign(&token.0, &material).as_ref().to_vec())
    }

    fn verify_peer(
        &mut self,
        token: &FleetToken,
        who: &[u8],
        deadline: Instant,
    ) -> Result<(), ChannelError> {
        while self.received.len() < PROOF {
            match self.read_available(deadline) {
                Ok(true) => {}
                Ok(false) => return Err(ChannelError::TimedOut(PROVING)),
                // An agent closes the connection when it rejects the proof.
                Err(ChannelError::Closed) => return Err(ChannelError::Unauthenticated),
                Err(error) => return Err(error),
            }
        }
        let proof: Vec<u8> = self.received.drain(..PROOF).collect();
        let material = self.export_keying_material(who)?;
        hmac::verify(&token.0, &material, &proof).map_err(|_| ChannelError::Unauthenticated)
    }

    fn export_keying_material(&self, who: &[u8]) -> Result<[u8; PROOF], ChannelError> {
        Ok(self.tls.export_keying_material([0; PROOF], EXPORTED, Some(who))?)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.tls.writer().write_all(bytes)?;
        self.flush()
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.socket)?;
        }
        Ok(())
    }

    /// Reads available bytes; `false`: none arrived before the deadline.
    fn read_available(&mut self, deadline: Instant) -> Result<bool, ChannelError> {
        self.flush()?;
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        self.socket.set_read_timeout(Some(left))?;
        match self.tls.read_tls(&mut self.socket) {
            Ok(0) => return Err(ChannelError::Closed),
            Ok(_) => {}
            Err(error) if would_block(&error) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let state = self.tls.process_new_packets();
        // A TLS alert reports the reason to the other end.
        self.flush()?;
        let coming = state?.plaintext_bytes_to_read();
        let from = self.received.len();
        self.received.resize(from + coming, 0);
        self.tls.reader().read_exact(&mut self.received[from..])?;
        Ok(true)
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Shorter tokens can be guessed.
/// Sixteen random characters have 64 bits at least.
const LEAST_TOKEN: usize = 16;
/// Counts of a long run have some tens of kilobytes, bodies of a scenario a few megabytes.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// Bytes of a proof, and of its input.
const PROOF: usize = 32;
const NAME: &str = "steelyard-agent";
const EXPORTED: &[u8] = b"EXPORTER-steelyard-agent";
const LEADER: &[u8] = b"leader";
const AGENT: &[u8] = b"agent";
/// Time limit for connecting to an agent.
/// Two retransmissions of a SYN fit (1 + 2 s).
const CONNECTING: Duration = Duration::from_secs(5);
/// Time limit for the handshake and the proofs together.
const PROVING: Duration = Duration::from_secs(5);
/// Time limit for writing to an agent that does not read.
const WRITING: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    type ChannelSide = Result<FleetChannel, ChannelError>;

    fn both(ours: &str, theirs: &str) -> (ChannelSide, ChannelSide) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let token = FleetToken::new(theirs).unwrap();
        let agent = std::thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            FleetChannel::accept(socket, &ChannelAcceptor::new().unwrap(), &token)
        });
        (FleetChannel::connect(to, &FleetToken::new(ours).unwrap()), agent.join().unwrap())
    }

    const EXPORTER_LABEL: &str = "0123456789abcdef";

    #[test]
    fn who_knows_the_token_is_heard() {
        let (leader, agent) = both(EXPORTER_LABEL, " 0123456789abcdef\n");
        let mut leader = leader.unwrap();
        let mut agent = agent.unwrap();
        let long = "x".repeat(300_000);
        let message = long.clone();
        let sender = std::thread::spawn(move || leader.send_message(&message).map(|()| leader));
        assert_eq!(agent.expect_message::<String>(Duration::from_secs(20)).unwrap(), long);
        let mut leader = sender.join().unwrap().unwrap();
        assert!(leader.receive_message::<String>(Duration::from_millis(1)).unwrap().is_none());
        drop(agent);
        assert!(leader.receive_message::<String>(Duration::from_secs(20)).is_err());
    }

    #[test]
    fn both_ends_reject_an_unknown_token() {
        let (leader, agent) = both(EXPORTER_LABEL, "another-token-of-16");
        assert!(matches!(agent, Err(ChannelError::Unauthenticated)), "{agent:?}");
        assert!(leader.is_err());
        assert_eq!(FleetToken::new("short").map(|_| ()), Err(FleetTokenError));
    }

    #[test]
    fn garbage_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let (socket, _) = listener.accept().unwrap();
        let token = FleetToken::new(EXPORTER_LABEL).unwrap();
        let heard = FleetChannel::accept(socket, &ChannelAcceptor::new().unwrap(), &token);
        assert!(matches!(heard, Err(ChannelError::Tls(_))), "{heard:?}");
    }
}
