//! Certificates and authorities that the file has under names (`static_resources.secrets`), and where they are used.

use std::collections::HashMap;

use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;

use super::reader::{leave_out, take_text, take_texts};

/// The secrets of the file by their names.
#[derive(Default)]
pub struct StaticSecrets<'t> {
    by_name: HashMap<String, &'t ConfigNode>,
}

impl<'t> StaticSecrets<'t> {
    pub fn read(secrets: &'t [ConfigNode], notes: &mut ConversionNotes) -> StaticSecrets<'t> {
        let mut found = StaticSecrets::default();
        for secret in secrets {
            if let Some(name) = take_text(secret, "name", notes) {
                found.by_name.insert(name.to_owned(), secret);
            }
        }
        found
    }

    /// The secret that a reference names. `None` if a control plane has it, or nobody.
    fn find(
        &self,
        reference: &'t ConfigNode,
        notes: &mut ConversionNotes,
    ) -> Option<&'t ConfigNode> {
        let name = take_text(reference, "name", notes).unwrap_or_default();
        let secret = self.by_name.get(name).copied().filter(|_| !reference.has("sds_config"));
        if secret.is_none() {
            let reason = "the secret is not in the file";
            leave_out(reference, reason, "the file of the certificate or of the authority", notes);
        }
        secret
    }

    /// The certificates of a TLS context, in the context itself or by name.
    pub fn certificates(
        &self,
        common: &'t ConfigNode,
        notes: &mut ConversionNotes,
    ) -> SecretLookup<'t> {
        let mut lookup = SecretLookup::default();
        lookup
            .found
            .extend(common.get("tls_certificates").map(ConfigNode::items).unwrap_or_default());
        for reference in common
            .get("tls_certificate_sds_secret_configs")
            .map(ConfigNode::items)
            .unwrap_or_default()
        {
            let secret = self.find(reference, notes);
            match secret.and_then(|secret| secret.get("tls_certificate")) {
                Some(certificate) => lookup.found.push(certificate),
                None => lookup.is_incomplete = true,
            }
        }
        lookup
    }

    /// What certificates of the other side are held against.
    pub fn validation(
        &self,
        common: &'t ConfigNode,
        notes: &mut ConversionNotes,
    ) -> SecretLookup<'t> {
        let mut lookup = SecretLookup::default();
        lookup.found.extend(common.get("validation_context"));
        let combined = common.get("combined_validation_context");
        lookup.found.extend(combined.and_then(|one| one.get("default_validation_context")));
        let references = [
            common.get("validation_context_sds_secret_config"),
            combined.and_then(|one| one.get("validation_context_sds_secret_config")),
        ];
        for reference in references.into_iter().flatten() {
            let secret = self.find(reference, notes);
            match secret.and_then(|secret| secret.get("validation_context")) {
                Some(context) => lookup.found.push(context),
                None => lookup.is_incomplete = true,
            }
        }
        lookup
    }
}

/// Messages, and whether some of them are not in the file.
#[derive(Default)]
pub struct SecretLookup<'t> {
    pub found: Vec<&'t ConfigNode>,
    pub is_incomplete: bool,
}

/// The file of a source of data. Contents in the file itself are left out.
pub fn take_file<'t>(
    node: &'t ConfigNode,
    key: &str,
    notes: &mut ConversionNotes,
) -> Option<&'t str> {
    let source = node.get(key)?;
    let file = take_text(source, "filename", notes);
    let reason = "it stands in the file itself or in a variable of the environment";
    if file.is_none() {
        leave_out(source, reason, "write it into a file of its own", notes);
    }
    file
}

/// The file of a certificate. Reports where its key has to be copied to.
pub fn take_certificate<'t>(node: &'t ConfigNode, notes: &mut ConversionNotes) -> Option<&'t str> {
    let file = take_file(node, "certificate_chain", notes);
    let key = take_file(node, "private_key", notes);
    for field in ["password", "private_key_provider", "pkcs12"] {
        if let Some(field) = node.get(field) {
            leave_out(field, "a key is read from a file without a password", "", notes);
        }
    }
    super::fields::settle_rest("tls_certificate", node, notes);
    let file = file?;
    let beside = key_beside(file);
    let stem = file.strip_suffix(".pem").or(file.strip_suffix(".crt")).unwrap_or(file);
    match (key, node.get("private_key")) {
        (Some(key), Some(field))
            if key != file && key != beside && key != format!("{stem}.key") =>
        {
            let reason = "a key stands in the certificate's file or beside it";
            notes.left_out(
                field.source.whole(),
                &format!("private_key: {key}"),
                reason,
                &format!("cp {key} {beside}"),
            );
        }
        _ => {}
    }
    Some(file)
}

fn key_beside(file: &str) -> String {
    match file.strip_suffix("fullchain.pem") {
        Some(folder) => format!("{folder}privkey.pem"),
        None => format!(
            "{}.key",
            file.strip_suffix(".pem").or(file.strip_suffix(".crt")).unwrap_or(file)
        ),
    }
}

/// The files of authorities and lists of revoked certificates of validation contexts, and whether more is demanded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationFiles {
    pub ca: Option<String>,
    pub crl: Option<String>,
    /// Names that a certificate must have, if they are exact names of hosts.
    pub names: Vec<String>,
    /// A demand that cannot be written.
    pub is_unwritable: bool,
}

/// The authorities that the machine trusts, as the configuration names them.
pub const SYSTEM_ROOTS: &str = "system";

pub fn take_validation(contexts: &[&ConfigNode], notes: &mut ConversionNotes) -> ValidationFiles {
    let mut files = ValidationFiles::default();
    for context in contexts {
        if context.has("trusted_ca") {
            files.ca = take_file(context, "trusted_ca", notes).map(str::to_owned);
            files.is_unwritable |= files.ca.is_none();
        }
        if let Some(roots) = context.get("system_root_certs") {
            notes.converted(roots.source.whole());
            files.ca = Some(SYSTEM_ROOTS.to_owned());
            for other in roots.unread_entries() {
                leave_out(other, "the system's authorities are used as they are", "", notes);
                files.is_unwritable = true;
            }
        }
        if context.has("crl") {
            files.crl = take_file(context, "crl", notes).map(str::to_owned);
            files.is_unwritable |= files.crl.is_none();
        }
        for key in ["match_typed_subject_alt_names", "match_subject_alt_names"] {
            for item in context.get(key).map(ConfigNode::items).unwrap_or_default() {
                let kind = take_text(item, "san_type", notes).unwrap_or("DNS");
                let matcher = item.get("matcher").unwrap_or(item);
                let exact = take_texts(matcher, "exact", notes);
                match (kind, &exact[..]) {
                    ("DNS" | "2", [name]) if item.unread_entries().next().is_none() => {
                        files.names.push((*name).to_owned());
                    }
                    _ => {
                        leave_out(item, "names of certificates are compared whole", "", notes);
                        files.is_unwritable = true;
                    }
                }
            }
        }
        super::fields::settle_rest("validation_context", context, notes);
        // Hashes of certificates, and every demand that is not known.
        for demand in context.unread_entries() {
            leave_out(
                demand,
                "certificates are verified by their authority and their name",
                "",
                notes,
            );
            files.is_unwritable = true;
        }
    }
    files
}
