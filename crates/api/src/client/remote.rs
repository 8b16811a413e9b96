//! A daemon over TCP: its address, its verification, and the client's credentials.
//!
//! Without TLS only a loopback address is called: tokens could be read on the way.

mod cert_verifier;

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::pem_fault::PemFault;
use files::regular_file;
use files::secret::{SecretError, SecretProtection, read_text};
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::error::ApiError;
use super::tls::{ApiStream, tls_error};
use cert_verifier::{DaemonCertVerifier, RejectedCertificate, VerifierError, parse_pin};

/// The default port of the API.
pub const PORT: u16 = 9443;
/// Bounds a file that is read: the certificate authorities of a whole system fit.
const FILE: u64 = 4 << 20;

/// How a daemon is called.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RemoteOptions {
    /// `HOST`, `HOST:PORT`, `https://HOST:PORT`, or on this machine `http://127.0.0.1:PORT`.
    pub host: String,
    /// PEM file with certificate authorities; none: those that this machine trusts.
    pub ca: Option<PathBuf>,
    /// The fingerprint of the daemon's certificate, `sha256:…`: then no authority need have signed it.
    pub pin: Option<String>,
    /// The token that identifies the client.
    pub token: Option<String>,
    /// The file with the token.
    pub token_file: Option<PathBuf>,
    /// PEM file with the client's certificate, and its key unless that is in another file.
    pub certificate: Option<PathBuf>,
    /// PEM file with the key.
    pub key: Option<PathBuf>,
}

/// Why a daemon cannot be called with these options.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("'{0}' is no daemon's address; expected HOST, HOST:PORT or https://HOST:PORT")]
    Host(String),
    /// A token or certificate without TLS.
    #[error(
        "http://{0} is not a loopback address: without TLS everybody on the way could read and change what is said; use https://"
    )]
    PlainText(String),
    #[error("'{0}' is no fingerprint; expected sha256: and 64 hexadecimal digits")]
    Pin(String),
    #[error("cannot read {}: {source}", file.display())]
    Read { file: PathBuf, source: io::Error },
    /// A secret that others can use.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A file without the expected content.
    #[error("{}: {why}", file.display())]
    Content { file: PathBuf, why: String },
    /// No certificate authority is usable.
    #[error(transparent)]
    Verifier(#[from] VerifierError),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

pub struct RemoteDaemon {
    host: String,
    port: u16,
    authority: String,
    tls: Option<RemoteTls>,
    token: Option<String>,
}

struct RemoteTls {
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
    verifier: Arc<DaemonCertVerifier>,
}

impl RemoteDaemon {
    /// Reads the files that calls need.
    ///
    /// # Errors
    ///
    /// See `RemoteError`.
    pub fn open(options: &RemoteOptions) -> Result<RemoteDaemon, RemoteError> {
        let RemoteAddress { secure, host, port } = parse_address(&options.host)?;
        let authority =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let local = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        if !secure && !local {
            return Err(RemoteError::PlainText(authority));
        }
        let token = match (&options.token, &options.token_file) {
            (Some(token), _) => Some(token.trim().to_owned()),
            (None, Some(file)) => Some(read_secret(file)?.trim().to_owned()),
            (None, None) => None,
        };
        let visible =
            |text: &String| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        if let Some(false) = token.as_ref().map(visible) {
            let file = options.token_file.clone().unwrap_or_else(|| "STEELYARD_TOKEN".into());
            return Err(RemoteError::Content { file, why: "there is no token in it".to_owned() });
        }
        let tls = if secure { Some(build_tls(options, &host)?) } else { None };
        Ok(RemoteDaemon { host, port, authority, tls, token })
    }

    /// Its host and port.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Connects, with a handshake if the address has TLS.
    pub(super) async fn connect(&self) -> Result<Box<dyn ApiStream>, ApiError> {
        let unreachable = |source| ApiError::Unreachable { place: self.to_string(), source };
        let stream =
            TcpStream::connect((self.host.as_str(), self.port)).await.map_err(unreachable)?;
        // Ignored: without TCP_NODELAY small requests are only later.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let connector = TlsConnector::from(Arc::clone(&tls.config));
        match connector.connect(tls.name.clone(), stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(self.connect_error(tls, error)),
        }
    }

    fn connect_error(&self, tls: &RemoteTls, error: io::Error) -> ApiError {
        let place = self.to_string();
        if let Some(RejectedCertificate { why, fingerprint }) = tls.verifier.take_rejected() {
            return ApiError::Untrusted { place, why, fingerprint };
        }
        match tls_error(&error) {
            Some(why) => ApiError::Handshake { place, why },
            None => ApiError::Unreachable { place, source: error },
        }
    }
}

impl fmt::Display for RemoteDaemon {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        write!(to, "{scheme}://{}", self.authority)
    }
}

impl fmt::Debug for RemoteDaemon {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, to)
    }
}

impl fmt::Debug for RemoteOptions {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RemoteOptions { host, ca, pin, token_file, certificate, key, token: _ } = self;
        to.debug_struct("Options")
            .field("host", host)
            .field("ca", ca)
            .field("pin", pin)
            .field("token_file", token_file)
            .field("certificate", certificate)
            .field("key", key)
            .finish_non_exhaustive()
    }
}

/// The parts of a daemon's address.
struct RemoteAddress {
    /// The daemon is reached over TLS.
    secure: bool,
    host: String,
    port: u16,
}

fn parse_address(text: &str) -> Result<RemoteAddress, RemoteError> {
    // 80 characters identify the address and leave the message on one or two lines.
    let wrong = || RemoteError::Host(text.chars().take(80).collect());
    let (secure, rest) = match text.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        Some(_) => return Err(wrong()),
        None => (true, text),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = match rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':').or((port.is_empty()).then_some(""))),
        None if rest.parse::<IpAddr>().is_ok() => (rest, Some("")),
        None => match rest.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() => (host, Some(port)),
            Some(_) => (rest, None),
            None => (rest, Some("")),
        },
    };
    let port = match port.ok_or_else(wrong)? {
        "" => PORT,
        digits => digits.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
    let ip = host.parse::<IpAddr>().is_ok();
    if host.is_empty() || !host.chars().all(plain) || (!ip && host.contains(':')) {
        return Err(wrong());
    }
    Ok(RemoteAddress { secure, host: host.to_owned(), port })
}

fn build_tls(options: &RemoteOptions, host: &str) -> Result<RemoteTls, RemoteError> {
    let provider: Arc<CryptoProvider> = Arc::new(aws_lc_rs::default_provider());
    let judge = match &options.pin {
        Some(text) => DaemonCertVerifier::with_pin(
            parse_pin(text).ok_or_else(|| RemoteError::Pin(text.clone()))?,
            &provider,
        ),
        None => DaemonCertVerifier::with_authorities(
            read_authorities(options.ca.as_deref())?,
            &provider,
        )?,
    };
    let judge = Arc::new(judge);
    let failed = |error: rustls::Error| RemoteError::Tls(error.to_string());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::<DaemonCertVerifier>::clone(&judge));
    let config = match &options.certificate {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let key = options.key.as_ref().unwrap_or(file);
            let chain = read_chain(file)?;
            let key = read_private_key(key)?;
            builder.with_client_auth_cert(chain, key).map_err(failed)?
        }
    };
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|_| RemoteError::Host(host.to_owned()))?;
    Ok(RemoteTls { name, config: Arc::new(config), verifier: judge })
}

fn read_authorities(file: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, RemoteError> {
    match file {
        Some(file) => read_chain(file),
        None => {
            let found = rustls_native_certs::load_native_certs().certs;
            if found.is_empty() { Err(VerifierError::NoAuthorities.into()) } else { Ok(found) }
        }
    }
}

fn read_chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, RemoteError> {
    let text = read_file(file)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let fault = || PemFault::find(text.as_bytes());
    let wrong = |why: String| RemoteError::Content { file: file.to_owned(), why };
    let all = all.map_err(|_| wrong(format!("it cannot be read as PEM: {}", fault())))?;
    match all.is_empty() {
        true => Err(wrong(format!("there is no certificate in it: {}", fault()))),
        false => Ok(all),
    }
}

fn read_private_key(file: &Path) -> Result<PrivateKeyDer<'static>, RemoteError> {
    let text = read_secret(file)?;
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| RemoteError::Content {
        file: file.to_owned(),
        why: format!("there is no private key in it: {}", PemFault::find(text.as_bytes())),
    })
}

/// Reads a file that no other user may read.
fn read_secret(file: &Path) -> Result<String, RemoteError> {
    Ok(read_text(file, FILE, SecretProtection::NotReadable)?)
}

fn read_file(file: &Path) -> Result<String, RemoteError> {
    let failed = |source| RemoteError::Read { file: file.to_owned(), source };
    regular_file::read_text(file, FILE).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let rows = [
            ("lb.example", Some((true, "lb.example", 9443))),
            ("lb.example:1", Some((true, "lb.example", 1))),
            ("https://lb.example/", Some((true, "lb.example", 9443))),
            ("http://127.0.0.1:9180", Some((false, "127.0.0.1", 9180))),
            ("192.0.2.5", Some((true, "192.0.2.5", 9443))),
            ("[2001:db8::1]:9", Some((true, "2001:db8::1", 9))),
            ("[2001:db8::1]", Some((true, "2001:db8::1", 9443))),
            ("2001:db8::1", Some((true, "2001:db8::1", 9443))),
            ("", None),
            ("lb.example:", None),
            ("lb.example:0", None),
            ("lb.example:x", None),
            ("ftp://lb.example", None),
            ("https://lb.example/v1", None),
            ("user@lb.example", None),
            ("a b", None),
            ("[::1", None),
        ];
        for (text, expected) in rows {
            let found = parse_address(text).ok();
            let found = found.as_ref().map(|it| (it.secure, it.host.as_str(), it.port));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn invalid_options_are_rejected_before_anything_is_sent() {
        let of = |host: &str| RemoteOptions { host: host.to_owned(), ..RemoteOptions::default() };
        let no = |options: &RemoteOptions| RemoteDaemon::open(options).unwrap_err().to_string();
        assert!(no(&of("http://192.0.2.1:9180")).contains("https"));
        assert!(no(&RemoteOptions { pin: Some("sha256:12".into()), ..of("a") }).contains("64"));
        let file = Some(PathBuf::from("/nowhere/at/all"));
        assert!(no(&RemoteOptions { token_file: file.clone(), ..of("a") }).contains("/nowhere"));
        assert!(no(&RemoteOptions { ca: file, ..of("a") }).contains("/nowhere"));
        assert!(no(&RemoteOptions { token: Some(" ".into()), ..of("a") }).contains("no token"));
        let secret = RemoteOptions { token: Some("steelyard_1".into()), ..of("http://[::1]:9") };
        let remote = RemoteDaemon::open(&secret).unwrap();
        assert_eq!(format!("{remote:?}"), "http://[::1]:9");
        assert!(!format!("{secret:?}").contains("steelyard_1"));
    }
}
