//! `bind` lines: where a frontend listens, and its TLS.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::certificate_store::{CertificateAliases, StoreFolders};
use super::lex::{ConfigLine, KeywordReader};
use super::server_tls::ServerTls;
use super::tls_versions::TlsVersionWords;

#[derive(Clone, Debug, Default)]
pub struct BindLine {
    /// The addresses, quoted for the `listen` key.
    pub listen: Vec<String>,
    /// The listening ports. Servers without a port use them.
    pub ports: Vec<u16>,
    /// The listener terminates TLS.
    pub tls: bool,
    pub certificates: Vec<String>,
    /// The client certificates that the listener requests.
    pub client: Option<ClientCertDemand>,
    crl: Option<String>,
    /// Handshakes for names without a certificate are rejected.
    pub strict_names: bool,
    versions: TlsVersionWords,
    pub minimum: Option<&'static str>,
    /// HTTP/2: off, with TLS, or always.
    pub http2: Option<&'static str>,
    /// It takes HTTP/3, over UDP.
    pub quic: bool,
    /// Connections begin with a PROXY protocol header.
    pub header: bool,
    pub socket: Vec<KeyValue>,
    pub source: SourcePlace,
}

/// Verification of client certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertDemand {
    pub ca: String,
    /// Clients may connect without a certificate.
    pub optional: bool,
    pub crl: Option<String>,
}

/// Options without a value that have no effect here.
const ALONE: [&str; 7] = [
    "v4v6",
    "v6only",
    "no-tls-tickets",
    "no-ca-names",
    "prefer-client-ciphers",
    "defer-accept",
    "generate-certificates",
];
/// Options with a value that have no effect here.
const VALUED: [&str; 11] = [
    "name",
    "id",
    "process",
    "thread",
    "level",
    "user",
    "group",
    "mode",
    "nice",
    "severity-output",
    "shards",
];
/// Keywords that choose ciphers and curves, each with a value.
const CIPHERS: [&str; 4] = ["ciphers", "ciphersuites", "curves", "ecdhe"];
/// The most ports in one range. Each port becomes an entry of the service's `listen` list. Packet forwarding suits
/// longer ranges better.
const RANGE: u32 = 256;

/// Reads a `bind` line. `None` if the listener cannot be converted.
pub fn read(line: &ConfigLine, bases: &FileBases, notes: &mut ConversionNotes) -> Option<BindLine> {
    let mut out = BindLine { source: line.source, ..BindLine::default() };
    let v6_only = line.has_word("v6only") && !line.has_word("v4v6");
    for address in line.word(1).split(',') {
        if let Err(reason) = out.address(address, v6_only) {
            notes.left_out(line.source, &line.text(), &reason, "an address and a port");
            return None;
        }
    }
    if line.has_word("accept-netscaler-cip") {
        let reason = "this header is not read, and clients behind it could not be told apart";
        notes.left_out(line.source, &line.text(), reason, "the PROXY protocol: `accept-proxy`");
        return None;
    }
    if line.has_word("crt-list") {
        let reason = "the list of certificates is not read, which may demand certificates of clients for some names; no listener is opened without its demands";
        notes.left_out(line.source, &line.text(), reason, "`tls = { certificates = … }`");
        return None;
    }
    notes.converted(line.source);
    let verify = out.read_keywords(bases, line, notes);
    out.settle_client(verify.as_deref(), line, notes)?;
    out.minimum = out.versions.minimum(out.tls, &bases.versions, line, notes)?;
    if out.tls && out.certificates.is_empty() {
        let instead = "`tls = { certificates = … }`";
        notes.left_out(line.source, &line.text(), "TLS needs the file of a certificate", instead);
        return None;
    }
    Some(out)
}

/// Reports a keyword of a listener that is not carried over.
fn note_keyword(word: &str, source: SourcePlace, line: &ConfigLine, notes: &mut ConversionNotes) {
    let text = line.text();
    match word {
        "v4v6" | "v6only" => notes.converted(source),
        "no-tls-tickets" => notes.changed(source, &text, "tickets are given", ""),
        "generate-certificates" => {
            let reason = "certificates are not made for names that are asked for";
            notes.left_out(source, &text, reason, "`tls.certificates`");
        }
        "no-ca-names" | "prefer-client-ciphers" | "defer-accept" => {
            let reason = format!("`{word}` of a listener has no effect here");
            notes.changed(source, &text, &reason, "");
        }
        "accept-proxy" => {
            let reason =
                "a header of any address is believed, as HAProxy does: name the proxies alone";
            notes.changed(source, &text, reason, "`accept-proxy = \"10.0.0.0/8\"`");
        }
        "ciphers" | "ciphersuites" | "curves" | "ecdhe" => {
            let reason = "ciphers and curves are chosen by `tls.policy`";
            notes.changed(source, &text, reason, "`tls = { policy = \"modern\" }`");
        }
        known if VALUED.contains(&known) || ALONE.contains(&known) => {
            let reason = format!("`{word}` concerns processes and sockets of HAProxy itself");
            notes.not_needed(source, &text, &reason);
        }
        other => {
            let reason = format!("`{other}` of a listener is not known");
            notes.left_out(source, &text, &reason, "");
        }
    }
}

/// What the global section says for all listeners: the folders of files that are named without a folder (`crt-base`,
/// `key-base` and `ca-base`), the root of all paths, and the versions of TLS.
#[derive(Clone, Debug, Default)]
pub struct FileBases {
    pub folders: StoreFolders,
    pub authorities: String,
    /// The certificates of `crt-store` sections.
    pub store: CertificateAliases,
    /// The `chroot`, in which HAProxy connects to Unix sockets; empty: none.
    pub root: String,
    /// Which versions of TLS listeners speak that do not say it.
    pub versions: TlsVersionWords,
    /// TLS of servers that do not say it: `ssl-server-verify`.
    pub server_tls: ServerTls,
}

impl FileBases {
    /// The path of a certificate file.
    ///
    /// # Errors
    /// The text refers to a certificate that no store has.
    pub fn certificate(&self, file: &str) -> Result<String, &'static str> {
        match file.starts_with('@') {
            true => self.store.file(file),
            false => Ok(below_base(file, &self.folders.certificates)),
        }
    }

    /// The address of a server on a Unix socket, as other programs see the socket. `None`: the text is something else.
    pub fn unix_socket(&self, text: &str) -> Option<Result<String, &'static str>> {
        if let Some(name) = text.strip_prefix("abnsz@") {
            return Some(Ok(format!("unix:@{name}")));
        }
        if text.starts_with("abns@") {
            let reason = "HAProxy fills the name of this abstract socket up with zeros, which makes it another name";
            return Some(Err(reason));
        }
        let path = text.strip_prefix("unix@").or(text.starts_with('/').then_some(text))?;
        match path.starts_with('/') {
            true => Some(Ok(format!("unix:{}{path}", self.root.trim_end_matches('/')))),
            false => Some(Err("the path of the socket depends on where HAProxy was started")),
        }
    }

    /// The path of a file of certificate authorities, or of their revocation lists.
    pub fn authority(&self, file: &str) -> String {
        match file {
            "@system-ca" => "system".to_owned(),
            file => below_base(file, &self.authorities),
        }
    }
}

/// Prefixes a relative path with the base folder.
fn below_base(file: &str, base: &str) -> String {
    let whole = file.starts_with('/') || base.is_empty();
    if whole { file.to_owned() } else { format!("{base}/{file}") }
}

impl BindLine {
    /// Reads the keywords after the address. Returns the value of `verify`.
    fn read_keywords(
        &mut self,
        bases: &FileBases,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) -> Option<String> {
        let mut words = line.keywords(2);
        let mut verify = None;
        while let Some(word) = words.keyword() {
            if self.versions.read(word, &mut words) {
                words.mark_converted();
            } else if word == "verify" {
                verify = Some(words.value().to_owned());
                words.mark_converted();
            } else if word == "crt" {
                match bases.certificate(words.value()) {
                    Ok(file) => {
                        self.certificates.push(file);
                        words.mark_converted();
                    }
                    Err(reason) => {
                        let instead = "`tls.certificates`, or `tls.acme`";
                        notes.left_out(words.source(), &line.text(), reason, instead);
                    }
                }
            } else if self.read_keyword(word, &mut words, bases) {
                words.mark_converted();
                if word == "proto" && self.http2 == Some("always") {
                    let reason = "clients that speak HTTP/1 are served too";
                    notes.changed(words.source(), &line.text(), reason, "");
                }
            } else {
                self.header |= word == "accept-proxy";
                if VALUED.contains(&word) || CIPHERS.contains(&word) {
                    words.value();
                }
                note_keyword(word, words.source(), line, notes);
            }
        }
        verify
    }

    /// Reads one keyword. Returns false if the keyword is not carried over as it is.
    fn read_keyword(
        &mut self,
        word: &str,
        words: &mut KeywordReader<'_>,
        bases: &FileBases,
    ) -> bool {
        let mut next = || words.value();
        match word {
            "ssl" => self.tls = true,
            "strict-sni" => self.strict_names = true,
            "ca-file" => self.client.get_or_insert_default().ca = bases.authority(next()),
            "crl-file" => self.crl = Some(bases.authority(next())),
            "alpn" | "npn" => {
                let offered = next().split(',').any(|one| one == "h2");
                // That of QUIC says nothing of HTTP/2.
                if !self.quic {
                    self.http2 = Some(if offered { "tls" } else { "off" });
                }
            }
            "proto" => self.http2 = Some(if next() == "h2" { "always" } else { "off" }),
            "interface" => self.set_socket("interface", value::quote(next())),
            "backlog" => self.set_socket("backlog", next().to_owned()),
            "mss" => self.set_socket("mss", next().to_owned()),
            "tcp-ut" => match crate::duration::parse_duration(next(), 1) {
                Some(ms) => self.set_socket("user-timeout", crate::duration::format_duration(ms)),
                None => return false,
            },
            "tfo" => self.set_socket("fast-open", "256".to_owned()),
            "transparent" => self.set_socket("transparent", "true".to_owned()),
            _ => return false,
        }
        true
    }

    /// The last value of a key counts.
    fn set_socket(&mut self, key: &'static str, value: String) {
        self.socket.retain(|one| one.key != key);
        self.socket.push(KeyValue::new(key, value));
        self.socket.sort_by_key(|one| one.key);
    }

    /// Decides whether the listener requests client certificates. `None` if the listener must not be opened.
    fn settle_client(
        &mut self,
        verify: Option<&str>,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) -> Option<()> {
        let unnamed = |client: &ClientCertDemand| client.ca == "system";
        if self.client.as_ref().is_some_and(unnamed)
            && matches!(verify, Some("optional" | "required"))
        {
            let reason = "clients' certificates are verified by the authorities of a file alone";
            notes.left_out(line.source, &line.text(), reason, "`tls.client.ca`");
            return None;
        }
        self.client = match (self.client.take(), verify) {
            (Some(client), Some(verify @ ("optional" | "required"))) => {
                let crl = self.crl.take();
                Some(ClientCertDemand { optional: verify == "optional", crl, ..client })
            }
            (Some(_), _) => {
                let reason =
                    "without `verify required` or `optional` no client is asked for a certificate";
                notes.not_needed(line.source, &line.text(), reason);
                None
            }
            (None, Some("optional" | "required")) => {
                let reason = "clients must show certificates, and the authority that signs them is not named";
                notes.left_out(line.source, &line.text(), reason, "`tls.client.ca`");
                return None;
            }
            (None, _) => None,
        };
        Some(())
    }

    fn address(&mut self, text: &str, v6_only: bool) -> Result<(), String> {
        if text.starts_with('/')
            || ["unix@", "abns@", "fd@", "sockpair@", "rhttp@"]
                .iter()
                .any(|kind| text.starts_with(kind))
        {
            return Err(
                "only TCP is listened on: clients that use this socket are not served".to_owned()
            );
        }
        self.quic |= text.starts_with("quic4@") || text.starts_with("quic6@");
        let v6 = text.starts_with("ipv6@") || text.starts_with("quic6@");
        let text = text
            .trim_start_matches("ipv4@")
            .trim_start_matches("ipv6@")
            .trim_start_matches("quic4@")
            .trim_start_matches("quic6@")
            .trim_start_matches("tcp4@")
            .trim_start_matches("tcp@");
        let (host, ports) = text.rsplit_once(':').ok_or("the port is missing")?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = match host {
            "" | "*" if v6 && v6_only => "[::]".to_owned(),
            "" | "*" if v6 => String::new(),
            "" | "*" | "0.0.0.0" => "0.0.0.0".to_owned(),
            // Without `v6only` the kernel accepts both IP families.
            "::" if !v6_only => String::new(),
            host if host.contains(':') => format!("[{host}]"),
            host => host.to_owned(),
        };
        let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
        let (first, last) = first
            .parse::<u16>()
            .ok()
            .zip(last.parse::<u16>().ok())
            .ok_or("the port is not a number")?;
        if first > last || u32::from(last - first) >= RANGE {
            return Err(format!("more than {RANGE} ports in one range"));
        }
        for port in first..=last {
            self.listen.push(value::quote(&format!("{host}:{port}")));
            self.ports.push(port);
        }
        Ok(())
    }
}

/// Writes each address once. An address of both families covers the IPv4 wildcard on the same port.
pub fn push_listen_addresses(service: &mut TomlTable, binds: &[&BindLine]) {
    let all: Vec<&String> = binds.iter().flat_map(|bind| &bind.listen).collect();
    let mut known: Vec<&String> = Vec::new();
    for bind in binds {
        for listen in &bind.listen {
            let both = listen.replacen("0.0.0.0:", ":", 1);
            let covered = both != *listen && all.contains(&&both);
            if !covered && !known.contains(&listen) {
                known.push(listen);
                service.push_item("listen", listen.clone(), bind.source);
            }
        }
    }
}

/// The name of a TLS version. `None` for versions older than Steelyard's minimum.
pub fn tls_version(text: &str) -> Option<&'static str> {
    match text {
        "TLSv1.3" => Some("1.3"),
        "TLSv1.2" => Some("1.2"),
        _ => None,
    }
}
