//! `SSL…` of the virtual hosts that share a listener, as one service's `tls`.

use crate::certificate_file::{has_key_beside, key_path};
use crate::document::{Document, TomlTable};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::listen::VirtualHost;

/// Certificates of clients that a virtual host asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VerifyClientDemand {
    keys: Vec<KeyValue>,
}

/// Whether a virtual host speaks TLS.
///
/// `is_https`: its listener is one of HTTPS, which suffices where a certificate is named.
pub fn is_on(host: &VirtualHost<'_>, is_https: bool) -> bool {
    match host.scope.get("sslengine") {
        Some(engine) => engine.word(0).eq_ignore_ascii_case("on"),
        None => is_https && host.scope.get("sslcertificatefile").is_some(),
    }
}

/// Whether a virtual host asks clients for other certificates than an earlier one that asks. A listener asks alike.
pub fn asks_otherwise(hosts: &[&VirtualHost<'_>], at: usize) -> bool {
    let mut unheard = ConversionNotes::new("");
    let mut demands =
        hosts[..=at].iter().filter_map(|host| demand(host, &mut unheard).ok().flatten());
    let first = demands.next();
    let own = demand(hosts[at], &mut ConversionNotes::new("")).ok().flatten();
    own.is_some() && own != first
}

/// Writes the table of a service. Without a certificate validation removes the service.
pub fn write(
    path: &str,
    hosts: &[&VirtualHost<'_>],
    document: &mut Document,
    notes: &mut ConversionNotes,
) {
    let Some(first) = hosts.first() else { return };
    let mut tls = TomlTable::new(format!("{path}.tls"), first.source, "SSLEngine on");
    let mut files: Vec<String> = Vec::new();
    let mut sources: Vec<SourcePlace> = Vec::new();
    for host in hosts {
        host.scope.word("sslengine", notes);
        for certificate in certificates(host, notes) {
            sources.push(certificate.source);
            if !files.iter().any(|file| file == certificate.word(0)) {
                files.push(certificate.word(0).to_owned());
            }
        }
    }
    if files.is_empty() {
        let reason =
            "TLS needs the file of a certificate: nothing is served here until one is written";
        notes.left_out(first.source, "SSLEngine on", reason, "`tls = { certificates = … }`");
    }
    tls.set_required("certificates", value::quote_all(&files), first.source);
    tls.add_sources("certificates", &sources);
    write_versions(&mut tls, first, notes);
    let strict = first.scope.word("sslstrictsnivhostcheck", notes).as_deref() == Some("on");
    if strict {
        tls.set("unknown-sni", value::quote("require"), SourcePlace::NONE);
    }
    if first.scope.word("sslsessiontickets", notes).as_deref() == Some("off") {
        tls.set("tickets", value::quote("off"), SourcePlace::NONE);
    }
    write_clients(&mut tls, hosts, notes);
    document.push(tls);
}

fn certificates<'t>(
    host: &VirtualHost<'t>,
    notes: &mut ConversionNotes,
) -> Vec<&'t ConfigStatement> {
    let named = |list: &'t [ConfigStatement], name: &str| -> Vec<&'t ConfigStatement> {
        list.iter().filter(|one| one.name == name).collect()
    };
    let mut files = named(host.scope.own, "sslcertificatefile");
    let mut keys = named(host.scope.own, "sslcertificatekeyfile");
    if files.is_empty() {
        files = named(host.scope.main, "sslcertificatefile");
        keys = named(host.scope.main, "sslcertificatekeyfile");
    }
    for (at, file) in files.iter().enumerate() {
        let key = keys.get(at).or(keys.last()).map_or("", |key| key.word(0));
        if !has_key_beside(file.word(0), key) {
            let instead = format!("cp {key} {}", key_path(file.word(0)));
            file.leave_out("a key stands in the certificate's file or beside it", &instead, notes);
        }
        file.settle_converted(notes);
    }
    keys.iter().for_each(|key| key.settle_converted(notes));
    for name in ["sslcertificatechainfile", "sslcacertificatepath"] {
        if let Some(chain) = host.scope.get(name) {
            let reason = "a chain stands in the certificate's file, and authorities in one file";
            chain.words_from(0);
            chain.leave_out(reason, "cat the files into one", notes);
        }
    }
    files
}

fn write_versions(tls: &mut TomlTable, host: &VirtualHost<'_>, notes: &mut ConversionNotes) {
    let Some(protocols) = host.scope.get("sslprotocol") else {
        return tls.set_required("minimum", value::quote("1.2"), SourcePlace::NONE);
    };
    let mut two = false;
    let mut old = false;
    for word in protocols.words_from(0) {
        let word = word.to_ascii_lowercase();
        let set = !word.starts_with('-');
        match word.trim_start_matches(['+', '-']) {
            "all" => {
                two = set;
                old = false;
            }
            "tlsv1.2" => two = set,
            "tlsv1" | "tlsv1.1" => old |= set,
            _ => {}
        }
    }
    if old {
        protocols.note_changed("versions before TLS 1.2 are not spoken", "`tls.minimum`", notes);
    }
    protocols.settle_converted(notes);
    let minimum = if two || old { "1.2" } else { "1.3" };
    tls.set_required("minimum", value::quote(minimum), protocols.source);
}

/// What a virtual host asks of its clients. `Err`: it cannot be written.
fn demand(
    host: &VirtualHost<'_>,
    notes: &mut ConversionNotes,
) -> Result<Option<VerifyClientDemand>, SourcePlace> {
    let Some(verify) = host.scope.get("sslverifyclient") else { return Ok(None) };
    let word = verify.word(0).to_ascii_lowercase();
    verify.settle_converted(notes);
    let verification = match word.as_str() {
        "none" => return Ok(None),
        "optional_no_ca" => {
            let reason = "certificates that nobody here verifies are not asked for";
            verify.leave_out(reason, "`client = { ca = …, verify = \"optional\" }`", notes);
            return Ok(None);
        }
        "optional" => "optional",
        _ => "required",
    };
    let Some(ca) = host.scope.get("sslcacertificatefile") else { return Err(verify.source) };
    // Who is revoked would be asked from somebody else.
    if let Some(ocsp) = host.scope.get("sslocspenable") {
        if !ocsp.word(0).eq_ignore_ascii_case("off") {
            return Err(ocsp.source);
        }
        ocsp.settle_converted(notes);
    }
    let mut keys = vec![
        KeyValue::new("ca", value::quote(ca.word(0))),
        KeyValue::new("verify", value::quote(verification)),
    ];
    ca.settle_converted(notes);
    let checks = host.scope.get("sslcarevocationcheck");
    let checks = checks.filter(|one| one.word(0) != "none").inspect(|one| {
        one.words_from(0);
        one.settle_converted(notes);
    });
    if let Some(crl) = host.scope.get("sslcarevocationfile") {
        let file = value::quote(crl.word(0));
        match checks {
            Some(_) => {
                keys.push(KeyValue::new("crl", file));
                crl.settle_converted(notes);
            }
            None => crl.note_changed("`SSLCARevocationCheck` is not on", "`tls.client.crl`", notes),
        }
    } else if checks.is_some() {
        return Err(verify.source);
    }
    Ok(Some(VerifyClientDemand { keys }))
}

fn write_clients(tls: &mut TomlTable, hosts: &[&VirtualHost<'_>], notes: &mut ConversionNotes) {
    let mut first: Option<VerifyClientDemand> = None;
    let mut names: Vec<String> = Vec::new();
    let mut everybody = true;
    let mut source = SourcePlace::NONE;
    for (at, host) in hosts.iter().enumerate() {
        match demand(host, notes) {
            Err(place) => {
                let reason =
                    "clients must show certificates, and who signs or revokes them is not named";
                notes.left_out(place, "SSLVerifyClient", reason, "`tls.client.ca`");
                // Without `ca` the configuration is rejected, and the service goes.
                let keys = [KeyValue::new("verify", value::quote("required"))];
                return tls.set_required("client", value::table(&keys), place);
            }
            Ok(None) => everybody = false,
            Ok(Some(own)) => {
                source = host.scope.get("sslverifyclient").map_or(host.source, |one| one.source);
                if first.as_ref().is_some_and(|first| *first != own) {
                    let reason = "certificates of clients are judged alike at one listener, by what comes first";
                    notes.left_out(source, "SSLVerifyClient", reason, "a listener of its own");
                }
                if at == 0 {
                    // Connections without a known name reach the first virtual host.
                    names.clear();
                }
                names.extend(host.names.iter().cloned());
                first = first.or(Some(own));
            }
        }
    }
    let Some(mut demand) = first else { return };
    let default_asks = hosts.first().is_some_and(|host| {
        host.scope.get("sslverifyclient").is_some_and(|one| !one.word(0).starts_with("none"))
    });
    if !everybody
        && !default_asks
        && !names.is_empty()
        && !names.iter().any(|name| name.contains('*'))
    {
        demand.keys.push(KeyValue::new("names", value::quote_all(&names)));
    } else if !everybody {
        let reason = "all connections are asked for a certificate, not only those of some names";
        notes.left_out(source, "SSLVerifyClient", reason, "`client = { names = [...] }`");
    }
    tls.set_required("client", value::table(&demand.keys), source);
}
