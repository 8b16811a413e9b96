//! `bind` lines: where a frontend listens, and its TLS.

use crate::notes::ConversionNotes;
use crate::value;

use super::lex::ConfigLine;

#[derive(Clone, Debug, Default)]
pub struct BindLine {
    /// As `listen` writes them.
    pub listen: Vec<String>,
    /// Ports, for servers that have none.
    pub ports: Vec<u16>,
    /// TLS, with what belongs to it.
    pub tls: bool,
    pub certificates: Vec<String>,
    /// Whom of its clients it wants to know.
    pub client: Option<ClientCertDemand>,
    pub minimum: Option<&'static str>,
    /// HTTP/2: off, over TLS, always.
    pub http2: Option<&'static str>,
    /// Connections begin with a header of the PROXY protocol.
    pub header: bool,
    pub socket: Vec<(&'static str, String)>,
    pub line: u32,
}

/// What a listener wants of its clients' certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCertDemand {
    pub ca: String,
    /// A client without one is let in.
    pub optional: bool,
    pub crl: Option<String>,
}

/// Words without a value that change nothing here.
const ALONE: [&str; 12] = [
    "v4v6",
    "v6only",
    "no-sslv3",
    "no-tlsv10",
    "no-tlsv11",
    "force-tlsv12",
    "strict-sni",
    "no-tls-tickets",
    "no-ca-names",
    "prefer-client-ciphers",
    "defer-accept",
    "generate-certificates",
];
/// Words with a value that change nothing here.
const VALUED: [&str; 12] = [
    "name",
    "id",
    "process",
    "thread",
    "level",
    "user",
    "group",
    "mode",
    "nice",
    "ssl-max-ver",
    "severity-output",
    "shards",
];
/// Ports of one range.
const RANGE: u32 = 256;

/// Reads one; `None`: it cannot be listened there.
pub fn read(line: &ConfigLine, base: &str, notes: &mut ConversionNotes) -> Option<BindLine> {
    let mut out = BindLine { line: line.number, ..BindLine::default() };
    let words = line.rest(1);
    out.read_addresses(line, notes)?;
    if words.iter().any(|word| word == "accept-netscaler-cip") {
        let reason = "this header is not read, and clients behind it could not be told apart";
        notes.left_out(line.number, &line.text(), reason, "the PROXY protocol: `accept-proxy`");
        return None;
    }
    let mut words = words.iter().skip(1).map(String::as_str);
    let mut verify = "";
    let mut crl = None;
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        match word {
            "ssl" => out.tls = true,
            "accept-proxy" => {
                out.header = true;
                let reason =
                    "a header of any address is believed, as HAProxy does: name the proxies alone";
                notes.changed(line.number, &line.text(), reason, "`accept-proxy = \"10.0.0.0/8\"`");
            }
            "crt" => out.certificates.push(below_base(next(), base)),
            "ca-file" => next().clone_into(&mut out.client.get_or_insert_default().ca),
            "crl-file" => crl = Some(next().to_owned()),
            "verify" => verify = next(),
            "ssl-min-ver" => out.minimum = tls_version(next()),
            "no-tlsv12" => out.minimum = Some("1.3"),
            "alpn" | "npn" => {
                let offered = next().split(',').any(|one| one == "h2");
                out.http2 = Some(if offered { "tls" } else { "off" });
            }
            "proto" => out.http2 = Some(if next() == "h2" { "always" } else { "off" }),
            "interface" => out.socket.push(("interface", value::quote(next()))),
            "backlog" => out.socket.push(("backlog", next().to_owned())),
            "mss" => out.socket.push(("mss", next().to_owned())),
            "tcp-ut" => {
                let time = crate::duration::parse_duration(next(), 1)
                    .map(crate::duration::format_duration);
                out.socket.extend(time.map(|time| ("user-timeout", time)));
            }
            "tfo" => out.socket.push(("fast-open", "256".to_owned())),
            "transparent" => out.socket.push(("transparent", "true".to_owned())),
            alone if ALONE.contains(&alone) => {}
            valued if VALUED.contains(&valued) => drop(next()),
            "ciphers" | "ciphersuites" | "curves" | "ecdhe" => {
                next();
                let reason = "ciphers and curves are chosen by `tls.policy`";
                let instead = "`tls = { policy = \"modern\" }`";
                notes.changed(line.number, &line.text(), reason, instead);
            }
            other => {
                let reason = format!("`{other}` of a listener is not known");
                notes.left_out(line.number, &line.text(), &reason, "");
                next();
            }
        }
    }
    out.client = client_demand(out.client, verify, crl, line, notes);
    if out.tls && out.certificates.is_empty() {
        let instead = "`tls = { certificates = … }`";
        notes.left_out(line.number, &line.text(), "TLS needs the file of a certificate", instead);
        return None;
    }
    Some(out)
}

/// Whom of its clients a listener wants to know: nobody without `verify`, whatever else is named.
fn client_demand(
    client: Option<ClientCertDemand>,
    verify: &str,
    crl: Option<String>,
    line: &ConfigLine,
    notes: &mut ConversionNotes,
) -> Option<ClientCertDemand> {
    let client = client?;
    if matches!(verify, "required" | "optional") {
        return Some(ClientCertDemand { optional: verify == "optional", crl, ..client });
    }
    let reason = "without `verify` clients are not asked for certificates, as in HAProxy";
    notes.changed(line.number, &line.text(), reason, "`tls.client` to ask for them");
    None
}

/// A certificate's file, below `crt-base` where it says no folder of its own.
fn below_base(file: &str, base: &str) -> String {
    let whole = file.starts_with('/') || base.is_empty();
    if whole { file.to_owned() } else { format!("{base}/{file}") }
}

impl BindLine {
    /// Its addresses without those that another of these lines opens for both families.
    pub fn opened_addresses(&self, binds: &[&BindLine]) -> Vec<&String> {
        let opened = |listen: &String| {
            let any = listen.strip_prefix("\"0.0.0.0:").or(listen.strip_prefix("\"[::]:"));
            let both = any.map(|port| format!("\":{port}"));
            !both.is_some_and(|both| binds.iter().any(|bind| bind.listen.contains(&both)))
        };
        self.listen.iter().filter(|listen| opened(listen)).collect()
    }

    /// `None`: one of them cannot be listened on.
    fn read_addresses(&mut self, line: &ConfigLine, notes: &mut ConversionNotes) -> Option<()> {
        // Linux opens a socket for any IPv6 address to IPv4 as well, unless it is told not to.
        let both = !line.rest(1).iter().any(|word| word == "v6only");
        for address in line.word(1).split(',') {
            if let Err(reason) = self.address(address, both) {
                notes.left_out(line.number, &line.text(), &reason, "an address and a port");
                return None;
            }
        }
        Some(())
    }

    fn address(&mut self, text: &str, both: bool) -> Result<(), String> {
        if text.starts_with('/')
            || ["unix@", "abns@", "fd@", "sockpair@", "quic4@", "quic6@", "rhttp@"]
                .iter()
                .any(|kind| text.starts_with(kind))
        {
            return Err("only TCP is listened on".to_owned());
        }
        let v6 = text.starts_with("ipv6@");
        let text = text
            .trim_start_matches("ipv4@")
            .trim_start_matches("ipv6@")
            .trim_start_matches("tcp4@")
            .trim_start_matches("tcp@");
        let (host, ports) = text.rsplit_once(':').ok_or("the port is missing")?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = match host {
            "" | "*" if v6 && both => String::new(),
            "" | "*" if v6 => "[::]".to_owned(),
            "" | "*" | "0.0.0.0" => "0.0.0.0".to_owned(),
            "::" if both => String::new(),
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

/// A version of TLS as we name it; what is older than ours is ours.
pub fn tls_version(text: &str) -> Option<&'static str> {
    match text {
        "TLSv1.3" => Some("1.3"),
        "TLSv1.2" => Some("1.2"),
        _ => None,
    }
}
