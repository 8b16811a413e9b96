//! One order, from the account to the certificate on disk, from top to bottom (RFC 8555 §7.1).
//!
//! When it is due, and what follows from a failure, is not decided here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use files::secret::{SecretProtection, read_text};
use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, CertificateIdentifier, ChallengeType, Error,
    Identifier, NewAccount, NewOrder, Order, OrderStatus, Problem, RetryPolicy,
};
use l7::tls::identity::{IdentityError, TlsIdentity};
use model::config::{AcmeChallengeType, AcmeConfig};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use rustls::pki_types::PrivateKeyDer;

use super::https::AcmeHttpsClient;
use super::paths;
use crate::state::ControlHandle;
use crate::state::acme_proof::AcmeProof;

/// The limit of the wait for validation, and of the later wait for the certificate.
const RETRY_POLICY: RetryPolicy = RetryPolicy::new().timeout(Duration::from_secs(120));
/// Bytes of an account's file.
const ACCOUNT_BYTES: u64 = 64 * 1024;

/// Why an order failed; the active certificate stays.
#[derive(Debug, thiserror::Error)]
pub(super) enum CertificateOrderError {
    /// The directory, the account or a step failed: which step.
    #[error("{step}: {}", error_text(source))]
    Authority {
        step: &'static str,
        #[source]
        source: Error,
    },
    #[error("{0}")]
    Refused(String),
    /// No trusted certificates could be loaded, or the account's file cannot be used.
    #[error("{0}")]
    Setup(String),
    /// A key or a request for a certificate could not be made.
    #[error("no key: {0}")]
    Key(#[from] rcgen::Error),
    /// The issued certificate cannot be used.
    #[error("the authority's certificate is of no use: {0}")]
    Useless(#[from] IdentityError),
    /// The certificate could not be stored.
    #[error("{file}: {source}")]
    Write {
        file: String,
        #[source]
        source: std::io::Error,
    },
}

/// Opens the account, makes one where there is none.
pub(super) async fn account(
    state: &Path,
    acme: &AcmeConfig,
) -> Result<Account, CertificateOrderError> {
    let client = || AcmeHttpsClient::new(acme.ca.as_deref()).map_err(CertificateOrderError::Setup);
    let at = |step| move |source| CertificateOrderError::Authority { step, source };
    let file = paths::account_path(state, acme);
    if files::owned_file::is_present(&file)
        .map_err(|error| CertificateOrderError::Setup(error.to_string()))?
    {
        let unfit =
            |why: String| CertificateOrderError::Setup(format!("{}: {why}", file.display()));
        let text = read_text(&file, ACCOUNT_BYTES, SecretProtection::NotReadable)
            .map_err(|error| CertificateOrderError::Setup(error.to_string()))?;
        let credentials: AccountCredentials =
            serde_json::from_str(&text).map_err(|error| unfit(error.to_string()))?;
        let builder = Account::builder_with_http(Box::new(client()?));
        return builder.from_credentials(credentials).await.map_err(at("the directory"));
    }
    let contact: Vec<String> = acme.contact.iter().map(|one| format!("mailto:{one}")).collect();
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    let terms_of_service_agreed = true;
    let only_return_existing = false;
    let new = NewAccount { contact: &contact, terms_of_service_agreed, only_return_existing };
    let builder = Account::builder_with_http(Box::new(client()?));
    let made = builder.create(&new, acme.directory.clone(), None).await;
    let (account, credentials) = made.map_err(at("a new account"))?;
    let text = serde_json::to_string(&credentials);
    let text = text.map_err(|error| CertificateOrderError::Setup(error.to_string()))?;
    write(state, &file, &text)?;
    Ok(account)
}

/// Orders and stores a certificate. `replaces`: the replaced certificate (RFC 9773 §5).
pub(super) async fn order_certificate(
    control: &ControlHandle,
    state: &Path,
    acme: &AcmeConfig,
    replaces: Option<CertificateIdentifier<'static>>,
) -> Result<TlsIdentity, CertificateOrderError> {
    let at = |step| move |source| CertificateOrderError::Authority { step, source };
    let account = account(state, acme).await?;
    let names: Vec<Identifier> = acme.names.iter().cloned().map(Identifier::Dns).collect();
    let mut wanted = NewOrder::new(&names);
    if let Some(old) = replaces {
        wanted = wanted.replaces(old);
    }
    let mut order = match account.new_order(&wanted).await {
        Ok(order) => order,
        Err(source) => {
            if is_unknown_account(&source) {
                // The next attempt makes a new one.
                let _ = std::fs::remove_file(paths::account_path(state, acme));
            }
            return Err(CertificateOrderError::Authority { step: "a new order", source });
        }
    };
    let key = paths::key(acme);
    let proof = collect_proof(&mut order, acme.challenge).await?;
    control.publish_proof(key.clone(), Some(proof)).await;
    let shown = complete_challenge(&mut order, acme.challenge).await;
    control.publish_proof(key, None).await;
    shown?;
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(acme.names.clone())?;
    params.distinguished_name = DistinguishedName::new();
    let request = params.serialize_request(&key)?;
    order.finalize_csr(request.der()).await.map_err(at("the request for a certificate"))?;
    let chain = order.poll_certificate(&RETRY_POLICY).await.map_err(at("the certificate"))?;
    let text = format!("{}\n{}", chain.trim_end(), key.serialize_pem());
    let identity = TlsIdentity::read(text.as_bytes(), None, None)?;
    write(state, &paths::certificate_path(state, acme), &text)?;
    Ok(identity)
}

/// The challenge response to publish.
async fn collect_proof(
    order: &mut Order,
    challenge: AcmeChallengeType,
) -> Result<AcmeProof, CertificateOrderError> {
    let mut proof = AcmeProof::default();
    let mut all = order.authorizations();
    while let Some(one) = all.next().await {
        let step = "what is to be shown";
        let mut one = one.map_err(|source| CertificateOrderError::Authority { step, source })?;
        if one.status == AuthorizationStatus::Valid {
            continue;
        }
        let name = one.identifier().to_string();
        let handle = one.challenge(kind(challenge)).ok_or_else(|| {
            CertificateOrderError::Refused(format!(
                "the authority does not offer this challenge for {name}"
            ))
        })?;
        let authorization = handle.key_authorization();
        match challenge {
            AcmeChallengeType::Http => {
                let token = handle.token.clone().into_bytes();
                proof.http.insert(token, authorization.as_str().to_owned());
            }
            AcmeChallengeType::Tls => {
                let identity = challenge_certificate(&name, authorization.digest().as_ref())?;
                proof.tls.push(Arc::new(identity));
            }
        }
    }
    Ok(proof)
}

/// A self-signed certificate that proves control of a name (RFC 8737 §3).
fn challenge_certificate(name: &str, digest: &[u8]) -> Result<TlsIdentity, CertificateOrderError> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let certificate = params.self_signed(&key)?.der().clone();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    Ok(TlsIdentity::from_challenge(certificate, key)?)
}

/// Starts the validation and waits for its result.
async fn complete_challenge(
    order: &mut Order,
    challenge: AcmeChallengeType,
) -> Result<(), CertificateOrderError> {
    let at = |step| move |source| CertificateOrderError::Authority { step, source };
    let mut all = order.authorizations();
    while let Some(one) = all.next().await {
        let mut one = one.map_err(at("what is to be shown"))?;
        if one.status == AuthorizationStatus::Valid {
            continue;
        }
        if let Some(mut handle) = one.challenge(kind(challenge)) {
            handle.set_ready().await.map_err(at("the challenge"))?;
        }
    }
    let status = order.poll_ready(&RETRY_POLICY).await;
    if let Ok(OrderStatus::Ready | OrderStatus::Valid) = status {
        return Ok(());
    }
    let why = authorization_failures(order).await;
    match status {
        _ if !why.is_empty() => Err(CertificateOrderError::Refused(why.join("; "))),
        Ok(_) => Err(CertificateOrderError::Refused(
            "the authority refuses and does not say why".to_owned(),
        )),
        Err(source) => Err(CertificateOrderError::Authority { step: "the challenge", source }),
    }
}

/// The authority's reasons for each name that failed validation.
async fn authorization_failures(order: &mut Order) -> Vec<String> {
    let mut why = Vec::new();
    let mut all = order.authorizations();
    while let Some(Ok(mut one)) = all.next().await {
        // The refresh failed, so the state is older.
        if one.refresh().await.is_err() {
            continue;
        }
        let name = one.identifier().to_string();
        let problems = one.challenges.iter().filter_map(|challenge| challenge.error.as_ref());
        why.extend(problems.map(|problem| format!("{name}: {}", problem_text(problem))));
    }
    why
}

fn kind(challenge: AcmeChallengeType) -> ChallengeType {
    match challenge {
        AcmeChallengeType::Http => ChallengeType::Http01,
        AcmeChallengeType::Tls => ChallengeType::TlsAlpn01,
    }
}

fn is_unknown_account(error: &Error) -> bool {
    let kind = match error {
        Error::Api(problem) => problem.r#type.as_deref(),
        _ => None,
    };
    kind == Some("urn:ietf:params:acme:error:accountDoesNotExist")
}

/// An error as the authority describes it.
fn error_text(error: &Error) -> String {
    match error {
        Error::Api(problem) => problem_text(problem),
        other => other.to_string(),
    }
}

fn problem_text(problem: &Problem) -> String {
    let detail = problem.detail.as_deref().unwrap_or("no detail");
    let kind = problem.r#type.as_deref().unwrap_or("no type");
    let kind = kind.strip_prefix("urn:ietf:params:acme:error:").unwrap_or(kind);
    let parts = problem.subproblems.iter().map(|part| format!("; {part}"));
    format!("{detail} ({kind}){}", parts.collect::<String>())
}

fn write(state: &Path, file: &Path, text: &str) -> Result<(), CertificateOrderError> {
    paths::write(state, file, text)
        .map_err(|source| CertificateOrderError::Write { file: file.display().to_string(), source })
}
