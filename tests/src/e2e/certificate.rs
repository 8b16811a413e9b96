//! Certificates for one test: a certificate authority and the certificates it signs, as PEM files.
//!
//! Each certificate has a new key. Do not trust these certificates outside a test.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer,
    DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair,
    PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RevokedCertParams, SanType, SerialNumber,
    date_time_ymd,
};

pub struct CertificateAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// The contents of a certificate.
#[derive(Clone, Debug)]
pub struct CertificateRequest<'a> {
    names: &'a [&'a str],
    rsa: bool,
    client: Option<&'a str>,
    for_servers: bool,
    until: i32,
    serial: Option<u64>,
}

/// A certificate for these names, with a P-256 key.
pub fn certificate_for<'a>(names: &'a [&'a str]) -> CertificateRequest<'a> {
    CertificateRequest {
        names,
        rsa: false,
        client: None,
        for_servers: false,
        until: 2100,
        serial: None,
    }
}

impl<'a> CertificateRequest<'a> {
    /// Uses an RSA key.
    pub fn rsa(mut self) -> Self {
        self.rsa = true;
        self
    }

    /// Makes a client certificate with this common name.
    pub fn client(mut self, name: &'a str) -> Self {
        self.client = Some(name);
        self
    }

    /// Restricts the key to servers.
    pub fn for_servers(mut self) -> Self {
        self.for_servers = true;
        self
    }

    pub fn expired(self) -> Self {
        self.until(2001)
    }

    /// Sets the serial number.
    pub fn serial(mut self, serial: u64) -> Self {
        self.serial = Some(serial);
        self
    }

    /// Sets the end of validity to the start of this year.
    pub fn until(mut self, year: i32) -> Self {
        self.until = year;
        self
    }
}

impl CertificateAuthority {
    /// A new authority with this name.
    pub fn new(name: &str) -> CertificateAuthority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        CertificateAuthority { issuer: CertifiedIssuer::self_signed(params, key).unwrap() }
    }

    /// Writes the authority's certificate to a file.
    pub fn write(&self, path: PathBuf) -> PathBuf {
        replace(&path, &self.issuer.pem());
        path
    }

    /// The chain and the key as PEM.
    pub fn sign(&self, wanted: &CertificateRequest<'_>) -> (String, String) {
        let algorithm = if wanted.rsa { &PKCS_RSA_SHA256 } else { &PKCS_ECDSA_P256_SHA256 };
        let key = KeyPair::generate_for(algorithm).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        for name in wanted.names {
            params.subject_alt_names.push(match name.parse() {
                Ok(ip) => SanType::IpAddress(ip),
                Err(_) => SanType::DnsName((*name).try_into().unwrap()),
            });
        }
        let own = wanted.client.or(wanted.names.first().copied());
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, own.unwrap_or("nobody"));
        if wanted.client.is_some() {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        }
        if wanted.for_servers {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(wanted.until, 1, 1);
        params.serial_number = wanted.serial.map(SerialNumber::from);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// Writes a list that revokes these serial numbers; the next list is due at the start of this year.
    pub fn revoke(&self, path: PathBuf, serials: &[u64], until: i32) -> PathBuf {
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2000, 1, 1),
            next_update: date_time_ymd(until, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        replace(&path, &list.signed_by(&self.issuer).unwrap().pem().unwrap());
        path
    }

    /// Signs, and writes chain and key into one file, which replaces the previous one atomically.
    pub fn pair(&self, path: PathBuf, wanted: &CertificateRequest<'_>) -> PathBuf {
        let (chain, key) = self.sign(wanted);
        replace(&path, &(chain + &key));
        path
    }
}

/// Writes a file atomically, readable by its owner only.
pub fn replace(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(&beside, path).unwrap();
}
