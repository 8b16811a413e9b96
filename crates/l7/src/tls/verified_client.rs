//! The certificate of a connected client, verified again when the trust settings have changed or the certificate has
//! expired.
//!
//! The caller rejects the request.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CertificateError, Error};

use super::client_auth::{ClientVerifier, earliest_end};

/// A client's chain, and the settings that verified it last.
#[derive(Debug)]
pub struct VerifiedClient {
    chain: Vec<CertificateDer<'static>>,
    until: u64,
    verifier: RefCell<Arc<ClientVerifier>>,
}

impl VerifiedClient {
    /// For a handshake that these settings have accepted; `None`: the client sent no certificate.
    pub fn new(
        chain: Option<&[CertificateDer<'_>]>,
        by: &Arc<ClientVerifier>,
    ) -> Option<Rc<VerifiedClient>> {
        let chain: Vec<_> = chain?.iter().map(|der| der.clone().into_owned()).collect();
        let until = earliest_end(chain.iter());
        (!chain.is_empty()).then(|| {
            Rc::new(VerifiedClient { chain, until, verifier: RefCell::new(Arc::clone(by)) })
        })
    }

    /// Verifies the chain by the active settings. Unless they have changed, this takes one comparison.
    ///
    /// # Errors
    /// As in a handshake.
    pub fn is_still_valid(&self, by: &Arc<ClientVerifier>, now: UnixTime) -> Result<(), Error> {
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
