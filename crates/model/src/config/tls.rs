//! `tls` of a service and of a pool.

mod acme;
mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::{build_pool_tls, build_revocation, build_service_tls, minimum_version};
pub(super) use keys::{CRL, EXPIRED_CRL, MINIMUM, OF_POOL, OF_SERVICE};
pub use types::{
    AcmeChallengeType, AcmeConfig, CertificateField, ClientAuth, ClientRefusal, PoolTls,
    RevocationConfig, ServiceTls, TlsPolicy, TlsVersion, UnknownSniAction,
};
pub(super) use verify::{verify_pool_tls, verify_service_tls};
