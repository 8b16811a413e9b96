//! Certificates of the servers that share a listener, as one service's `tls`.

use crate::document::{Document, Table};
use crate::notes::Notes;
use crate::value;

use super::scope::Scope;

/// Writes it. `scopes`: the servers, the default one first. Without a certificate the service may not stand.
pub fn write(
    path: &str,
    line: u32,
    scopes: &[&Scope<'_>],
    document: &mut Document,
    notes: &mut Notes,
) {
    let mut tls = Table::new(format!("{path}.tls"), line, "listen … ssl");
    let mut files: Vec<String> = Vec::new();
    for scope in scopes {
        for certificate in scope.all("ssl_certificate") {
            let file = certificate.word(0).to_owned();
            let key = scope.get("ssl_certificate_key").map_or("", |key| key.word(0));
            if !beside(&file, key) {
                let wanted = wanted(&file);
                let reason = "a key stands in the certificate's file or beside it";
                notes.left(
                    certificate.line,
                    &certificate.text(),
                    reason,
                    &format!("cp {key} {wanted}"),
                );
            }
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    if files.is_empty() {
        let reason =
            "TLS needs the file of a certificate: nothing is served here until one is written";
        notes.left(line, "listen … ssl", reason, "`tls = { certificates = … }`");
    }
    tls.must("certificates", value::texts(&files), line);
    let Some(first) = scopes.first() else { return };
    if let Some(versions) = first.get("ssl_protocols") {
        let old = versions.args.iter().any(|version| version == "TLSv1.2");
        tls.must("minimum", value::text(if old { "1.2" } else { "1.3" }), versions.line);
    }
    let verify = first.get("ssl_verify_client").map_or("off", |one| one.word(0));
    if let Some(ca) = first.get("ssl_client_certificate").filter(|_| verify != "off") {
        let word = if verify == "on" { "required" } else { "optional" };
        tls.must(
            "client",
            value::table(&[("ca", value::text(ca.word(0))), ("verify", value::text(word))]),
            ca.line,
        );
    }
    document.push(tls);
}

fn stem(file: &str) -> &str {
    file.strip_suffix(".pem").or(file.strip_suffix(".crt")).unwrap_or(file)
}

fn wanted(file: &str) -> String {
    match file.strip_suffix("fullchain.pem") {
        Some(folder) => format!("{folder}privkey.pem"),
        None => format!("{}.key", stem(file)),
    }
}

/// Whether the key is where it is looked for.
fn beside(file: &str, key: &str) -> bool {
    key.is_empty() || key == file || key == wanted(file) || key == format!("{}.key", stem(file))
}
