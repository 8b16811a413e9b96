//! `tls` of sites: certificates of files or of an authority, and certificates of clients.

use crate::certificate_file::{has_key_beside, key_path};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::globals::GlobalOptions;

/// What a site says of TLS.
#[derive(Clone, Debug, Default)]
pub struct SiteTls {
    pub certificates: Vec<CertificateFile>,
    /// Certificates are ordered from an authority; these are the keys besides the names.
    pub acme: Option<Vec<KeyValue>>,
    /// The oldest version is TLS 1.3.
    pub is_modern: bool,
    pub client: Option<ClientAuthDemand>,
    /// The site cannot have the TLS that it is to have.
    pub is_refused: bool,
}

/// A certificate in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFile {
    pub path: String,
    pub source: SourcePlace,
}

/// The certificate that a client must show, or may show.
#[derive(Clone, Debug)]
pub struct ClientAuthDemand {
    /// The keys of `tls.client`, but for the names.
    pub keys: Vec<KeyValue>,
    pub source: SourcePlace,
}

/// What a site with these public or inner hosts says of TLS.
pub fn read(
    directives: &[ConfigStatement],
    globals: &GlobalOptions,
    is_public: bool,
    notes: &mut ConversionNotes,
) -> SiteTls {
    let mut out = SiteTls::default();
    let mut acme = globals.acme.clone();
    let mut internal = globals.local_certs;
    for directive in directives.iter().filter(|one| one.name == "tls") {
        let first = directive.word(0).to_owned();
        directive.settle_converted(notes);
        match (first.as_str(), directive.count()) {
            ("", _) => {}
            ("internal", 1) => internal = true,
            ("force_automate", 1) => {}
            (email, 1) => set(&mut acme, "contact", email),
            (file, _) => out.file(file, directive, notes),
        }
        for option in directive.inner() {
            out.option(option, &mut acme, &mut internal, notes);
        }
    }
    if out.certificates.is_empty() && !out.is_refused {
        match !internal && is_public && globals.ports.automatic {
            true => out.acme = Some(acme),
            false => out.is_refused = true,
        }
    }
    out
}

fn set(acme: &mut Vec<KeyValue>, key: &'static str, text: &str) {
    acme.retain(|one| one.key != key);
    acme.push(KeyValue::new(key, value::quote(text)));
}

impl SiteTls {
    fn file(&mut self, file: &str, directive: &ConfigStatement, notes: &mut ConversionNotes) {
        let key = directive.word(1);
        if !has_key_beside(file, key) {
            let instead = format!("cp {key} {}", key_path(file));
            directive.leave_out(
                "a key stands in the certificate's file or beside it",
                &instead,
                notes,
            );
        }
        self.certificates.push(CertificateFile { path: file.to_owned(), source: directive.source });
    }

    fn refuse(&mut self, option: &ConfigStatement, notes: &mut ConversionNotes) {
        let reason = "TLS cannot be carried over so: the site is not served";
        option.leave_out(reason, "`tls = { certificates = … }`", notes);
        self.is_refused = true;
    }

    fn option(
        &mut self,
        option: &ConfigStatement,
        acme: &mut Vec<KeyValue>,
        internal: &mut bool,
        notes: &mut ConversionNotes,
    ) {
        let word = option.word(0).to_owned();
        match option.name.as_str() {
            "protocols" => {
                self.is_modern = word == "tls1.3";
                if option.count() > 1 && option.word(1) != "tls1.3" {
                    option.note_changed("TLS 1.3 is spoken too", "", notes);
                }
            }
            "ca" => set(acme, "directory", &word),
            "ca_root" => set(acme, "ca", &word),
            "client_auth" => return self.client_auth(option, notes),
            "issuer" if matches!(word.as_str(), "acme" | "zerossl") => {
                if word == "zerossl" {
                    option.note_changed(
                        "certificates are ordered from the usual authority",
                        "`directory`",
                        notes,
                    );
                }
                let mut inner = internal.to_owned();
                option.inner().iter().for_each(|one| self.option(one, acme, &mut inner, notes));
            }
            "issuer" if word == "internal" => *internal = true,
            "dir" => set(acme, "directory", &word),
            "email" => set(acme, "contact", &word),
            "dns"
            | "resolvers"
            | "propagation_delay"
            | "propagation_timeout"
            | "dns_ttl"
            | "dns_challenge_override_domain" => {
                let reason = "names are proved by HTTP and not by DNS: the authority must reach this machine";
                return option.note_changed(reason, "`tls.acme.challenge`", notes);
            }
            "ciphers"
            | "curves"
            | "alpn"
            | "key_type"
            | "reuse_private_keys"
            | "renewal_window_ratio"
            | "insecure_secrets_log"
            | "disable_tlsalpn_challenge"
            | "disable_http_challenge"
            | "alt_http_port"
            | "alt_tlsalpn_port"
            | "timeout"
            | "preferred_chains"
            | "trusted_roots" => {
                let reason = "ciphers, curves and keys are chosen by `tls.policy`";
                return option.note_changed(reason, "`tls = { policy = \"modern\" }`", notes);
            }
            _ => return self.refuse(option, notes),
        }
        option.settle_converted(notes);
    }

    fn client_auth(&mut self, option: &ConfigStatement, notes: &mut ConversionNotes) {
        option.settle_converted(notes);
        let mode = option.find("mode").map(|one| one.word(0).to_owned());
        let mut files: Vec<String> = Vec::new();
        for line in option.inner() {
            match (line.name.as_str(), line.word(0)) {
                ("mode", _) => {}
                ("trusted_ca_cert_file", file) => files.push(file.to_owned()),
                ("trust_pool", "file") => {
                    files.extend(line.words_from(1).iter().cloned());
                    for inner in line.inner().iter().filter(|one| one.name == "pem_file") {
                        files.extend(inner.words_from(0).iter().cloned());
                        inner.settle_converted(notes);
                    }
                }
                _ => return self.refuse(option, notes),
            }
            line.settle_converted(notes);
        }
        let verify = match mode.as_deref() {
            Some("require_and_verify") | None => "required",
            Some("verify_if_given") => "optional",
            Some("request") => {
                let reason = "certificates that nobody verifies are not asked for";
                return option.note_changed(reason, "`tls.client`", notes);
            }
            Some(_) => return self.refuse(option, notes),
        };
        let [ca] = files.as_slice() else { return self.refuse(option, notes) };
        let keys = vec![
            KeyValue::new("ca", value::quote(ca)),
            KeyValue::new("verify", value::quote(verify)),
        ];
        self.client = Some(ClientAuthDemand { keys, source: option.source });
    }
}
