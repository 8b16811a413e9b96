//! Certificates of listeners: the Secrets that references lead to, and the files that the configuration names.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use x509_parser::pem::Pem;

use crate::backends::ConditionFailure;
use crate::grants::{ForeignReference, describe_refusal, is_granted};
use crate::object_set::ObjectSet;
use crate::objects::metadata::ObjectKey;
use crate::objects::references::SecretReference;
use crate::objects::workloads::SecretObject;

/// A file that the configuration names: a certificate with its chain and its key. The key is not shown in debug output.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct KeyPairFile {
    pub path: String,
    /// The Secret, as `NAMESPACE/NAME`.
    pub secret: String,
    #[serde(skip)]
    pub pem: String,
}

impl fmt::Debug for KeyPairFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPairFile")
            .field("path", &self.path)
            .field("secret", &self.secret)
            .finish()
    }
}

/// The certificates in use, by path.
#[derive(Debug)]
pub struct SecretCertificates {
    directory: String,
    pub files: BTreeMap<String, KeyPairFile>,
}

impl SecretCertificates {
    pub fn new(directory: &str) -> SecretCertificates {
        let directory = directory.trim_end_matches('/').to_owned();
        SecretCertificates { directory, files: BTreeMap::new() }
    }

    /// Follows the reference of a Gateway's listener, and returns the path of its file.
    ///
    /// # Errors
    /// The reason for the condition `ResolvedRefs`.
    pub fn resolve(
        &mut self,
        set: &ObjectSet,
        gateway: &ObjectKey,
        reference: &SecretReference,
    ) -> Result<String, ConditionFailure> {
        let invalid = |message: String| ConditionFailure::new("InvalidCertificateRef", message);
        let group = reference.group.as_deref().unwrap_or_default();
        let kind = reference.kind.as_deref().unwrap_or("Secret");
        if !group.is_empty() || kind != "Secret" {
            return Err(invalid(format!("{group}/{kind} holds no certificate; expected a Secret")));
        }
        let namespace = reference.namespace.as_deref().filter(|text| !text.is_empty());
        let secret = ObjectKey::new(namespace.unwrap_or(&gateway.namespace), &reference.name);
        let crossing = ForeignReference {
            from_kind: "Gateway",
            from_namespace: &gateway.namespace,
            to_kind: "Secret",
            to_namespace: &secret.namespace,
            to_name: &secret.name,
        };
        if !is_granted(set, &crossing) {
            return Err(ConditionFailure::new("RefNotPermitted", describe_refusal(&crossing)));
        }
        let Some(found) = set.secrets.get(&secret) else {
            return Err(invalid(format!("there is no Secret {secret}")));
        };
        let pem =
            key_pair(found).map_err(|reason| invalid(format!("Secret {secret}: {reason}")))?;
        // Neither names nor namespaces of Kubernetes have an underscore, so that no two Secrets share a path.
        let path = format!("{}/{}_{}.pem", self.directory, secret.namespace, secret.name);
        let file = KeyPairFile { path: path.clone(), secret: secret.to_string(), pem };
        self.files.insert(path.clone(), file);
        Ok(path)
    }
}

/// The certificate with its chain, and the key behind it.
fn key_pair(secret: &SecretObject) -> Result<String, String> {
    let certificate = secret_text(secret, "tls.crt")?;
    let key = secret_text(secret, "tls.key")?;
    let mut chain = 0;
    for block in Pem::iter_from_buffer(certificate.as_bytes()) {
        let block = block.map_err(|error| format!("`tls.crt` is no PEM: {error}"))?;
        if block.label != "CERTIFICATE" {
            return Err(format!("`tls.crt` holds a {}; expected certificates", block.label));
        }
        block.parse_x509().map_err(|error| format!("`tls.crt` holds no certificate: {error}"))?;
        chain += 1;
    }
    if chain == 0 {
        return Err("`tls.crt` holds no certificate; expected PEM".to_owned());
    }
    let blocks = Pem::iter_from_buffer(key.as_bytes());
    let is_key = |block: &Pem| block.label.ends_with("PRIVATE KEY");
    if !blocks.flatten().any(|block| is_key(&block)) {
        return Err("`tls.key` holds no private key; expected PEM".to_owned());
    }
    Ok(format!("{}\n{}\n", certificate.trim(), key.trim()))
}

fn secret_text(secret: &SecretObject, key: &str) -> Result<String, String> {
    if let Some(text) = secret.string_data.get(key) {
        return Ok(text.clone());
    }
    let data = secret.data.get(key).ok_or_else(|| format!("it has no `{key}`"))?;
    let packed: String = data.split_whitespace().collect();
    let bytes =
        STANDARD.decode(packed).map_err(|error| format!("`{key}` is no base64: {error}"))?;
    String::from_utf8(bytes).map_err(|_| format!("`{key}` is no text; expected PEM"))
}
