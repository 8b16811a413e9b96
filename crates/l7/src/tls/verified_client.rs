//! The certificate of a connected client: what its handshake came to, verified again when the trust settings have
//! changed or the certificate has expired.
//!
//! The caller rejects the request.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CertificateError, Error};

use super::client_auth::{ClientVerifier, earliest_end};
use super::client_certificate::{CertificateHeaders, certificate_lines};

/// What is remembered of a client whose handshake is over.
pub struct ClientIdentity {
    /// What it has proven, as lines of a head.
    pub lines: Vec<u8>,
    /// Its certificate; `None`: it has shown none.
    pub certificate: Option<Rc<VerifiedClient>>,
}

/// Looks at a client's certificate after the handshake. `recheck`: the handshake has not verified it.
///
/// # Errors
/// The certificate is missing or bad, and its service refuses handshakes for that.
pub fn identify_client(
    by: &Arc<ClientVerifier>,
    headers: &CertificateHeaders,
    name: Option<&str>,
    chain: Option<&[CertificateDer<'_>]>,
    recheck: bool,
) -> Result<ClientIdentity, Error> {
    let by_answer = by.refuses_by_answer();
    let refusal =
        if recheck || by_answer { by.recheck(name, chain, UnixTime::now()).err() } else { None };
    let proven = match &refusal {
        Some(error) if !by_answer => return Err(error.clone()),
        Some(_) => None,
        None => chain,
    };
    let lines = certificate_lines(proven, headers);
    Ok(ClientIdentity { lines, certificate: VerifiedClient::new(chain, by, refusal) })
}

/// A client's chain, and the settings that verified it last.
#[derive(Debug)]
pub struct VerifiedClient {
    chain: Vec<CertificateDer<'static>>,
    until: u64,
    /// Why its requests are answered by an error. It stays so while the connection lasts.
    refusal: Option<Error>,
    verifier: RefCell<Arc<ClientVerifier>>,
}

impl VerifiedClient {
    /// Of a handshake that these have let in; `None`: the client has shown no certificate.
    fn new(
        chain: Option<&[CertificateDer<'_>]>,
        by: &Arc<ClientVerifier>,
        refusal: Option<Error>,
    ) -> Option<Rc<VerifiedClient>> {
        let chain: Vec<_> = chain?.iter().map(|der| der.clone().into_owned()).collect();
        let until = earliest_end(chain.iter());
        (!chain.is_empty()).then(|| {
            let verifier = RefCell::new(Arc::clone(by));
            Rc::new(VerifiedClient { chain, until, refusal, verifier })
        })
    }

    /// Verifies the chain by the active settings. Unless they have changed, this takes one comparison.
    ///
    /// # Errors
    /// As in a handshake.
    pub fn is_still_valid(&self, by: &Arc<ClientVerifier>, now: UnixTime) -> Result<(), Error> {
        if let Some(error) = &self.refusal {
            return Err(error.clone());
        }
        if now.as_secs() > self.until {
            return Err(Error::InvalidCertificate(CertificateError::Expired));
        }
        if !Arc::ptr_eq(&*self.verifier.borrow(), by) {
            by.recheck(None, Some(self.chain.as_slice()), now)?;
            *self.verifier.borrow_mut() = Arc::clone(by);
        }
        Ok(())
    }
}
