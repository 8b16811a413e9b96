//! TLS of load connections: certificate trust, ALPN protocols, and the bytes of one session.
//!
//! It processes bytes; the thread owns the socket.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// TLS towards the target.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "TargetTlsSpec", try_from = "TargetTlsSpec")]
pub struct TargetTls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    wanted: TargetTlsSpec,
}

/// The settings in serialisable form, for other machines.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct TargetTlsSpec {
    name: String,
    protocols: Vec<Vec<u8>>,
    resumed: bool,
}

impl From<TargetTls> for TargetTlsSpec {
    fn from(secure: TargetTls) -> TargetTlsSpec {
        secure.wanted
    }
}

impl TryFrom<TargetTlsSpec> for TargetTls {
    type Error = TargetTlsError;

    fn try_from(wanted: TargetTlsSpec) -> Result<TargetTls, TargetTlsError> {
        let protocols: Vec<&[u8]> = wanted.protocols.iter().map(Vec::as_slice).collect();
        let secure = TargetTls::unverified(&wanted.name, &protocols)?;
        Ok(if wanted.resumed { secure } else { secure.without_resumption() })
    }
}

/// Why TLS cannot be used.
#[derive(Debug, Error)]
pub enum TargetTlsError {
    /// The name is not valid in a certificate.
    #[error("`{0}` is not a name that a certificate can hold")]
    Name(String),
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

impl TargetTls {
    /// TLS to `name` with these ALPN `protocols`. The certificate is not verified: the load generator measures load and
    /// sends nothing secret.
    pub fn unverified(name: &str, protocols: &[&[u8]]) -> Result<TargetTls, TargetTlsError> {
        let parsed = ServerName::try_from(name.to_owned());
        let parsed = parsed.map_err(|_| TargetTlsError::Name(name.to_owned()))?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let anybody = Arc::new(AcceptAnyCertificate(provider.clone()));
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(anybody)
            .with_no_client_auth();
        let protocols: Vec<Vec<u8>> = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config.alpn_protocols.clone_from(&protocols);
        let wanted = TargetTlsSpec { name: name.to_owned(), protocols, resumed: true };
        Ok(TargetTls { config: Arc::new(config), name: parsed, wanted })
    }

    /// The settings without resumption: every connection makes a full handshake.
    pub fn without_resumption(mut self) -> TargetTls {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = rustls::client::Resumption::disabled();
        self.config = Arc::new(config);
        self.wanted.resumed = false;
        self
    }

    /// The rustls state of a new connection.
    pub fn connection(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(self.config.clone(), self.name.clone())
    }

    /// A session for a new connection.
    pub fn session(&self) -> Result<TargetTlsSession, rustls::Error> {
        Ok(TargetTlsSession {
            machine: Box::new(self.connection()?),
            outgoing: Vec::new(),
            sent: 0,
        })
    }
}

/// The TLS of one connection.
#[derive(Debug)]
pub struct TargetTlsSession {
    machine: Box<ClientConnection>,
    /// Records to be sent.
    outgoing: Vec<u8>,
    sent: usize,
}

impl TargetTlsSession {
    /// Whether the handshake is still in progress.
    pub fn is_handshaking(&self) -> bool {
        self.machine.is_handshaking()
    }

    /// The protocol that the server selected (ALPN).
    pub fn protocol(&self) -> Option<&[u8]> {
        self.machine.alpn_protocol()
    }

    /// Accepts plain bytes to send; returns how many fit.
    pub fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        self.machine.writer().write(plain)
    }

    pub fn pending(&mut self) -> io::Result<&[u8]> {
        if self.sent == self.outgoing.len() {
            self.outgoing.clear();
            self.sent = 0;
            while self.machine.wants_write() {
                self.machine.write_tls(&mut self.outgoing)?;
            }
        }
        Ok(&self.outgoing[self.sent..])
    }

    /// Notes that bytes of the records were sent.
    pub fn on_written(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    /// Handles received records; appends their plain bytes to `plain`.
    pub fn read(&mut self, mut records: &[u8], plain: &mut Vec<u8>) -> Result<(), rustls::Error> {
        while !records.is_empty() {
            // The library reads as much as its buffer holds; a record that still does not fit after processing is an
            // error.
            let consumed = self.machine.read_tls(&mut records).unwrap_or(0);
            let state = self.machine.process_new_packets()?;
            if state.plaintext_bytes_to_read() > 0 {
                let from = plain.len();
                plain.resize(from + state.plaintext_bytes_to_read(), 0);
                let read = self.machine.reader().read(&mut plain[from..]).unwrap_or(0);
                plain.truncate(from + read);
            } else if consumed == 0 {
                return Err(rustls::Error::General("records do not fit the buffer".to_owned()));
            }
        }
        Ok(())
    }
}

/// Accepts every certificate whose private key the server holds.
#[derive(Debug)]
pub struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl AcceptAnyCertificate {
    pub fn new(provider: Arc<CryptoProvider>) -> AcceptAnyCertificate {
        AcceptAnyCertificate(provider)
    }
}

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
