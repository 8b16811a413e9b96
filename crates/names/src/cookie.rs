//! Server cookies: a client that returns one has received an answer at its address before (RFC 7873, in the form of RFC
//! 9018 §4).

use std::hash::Hasher;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;

use super::edns::DnsCookie;

/// The maximum age of a cookie in seconds (RFC 9018 §4.3).
const OLDEST: u32 = 3_600;
/// How far a timestamp may lie in the future, for members whose clocks differ (RFC 9018 §4.3).
const AHEAD: u32 = 300;
/// A younger cookie is returned unchanged (RFC 9018 §4.3).
const FRESH: u32 = 1_800;
/// The version and the reserved bytes (RFC 9018 §4).
const FORM: [u8; 4] = [1, 0, 0, 0];

#[derive(Clone, Debug)]
pub struct CookieSigner {
    secret: [u8; 16],
}

/// The result for a client's cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieCheck {
    /// The client returned a server cookie that is its own and not too old.
    pub is_valid: bool,
    /// The server cookie for the answer.
    pub returned: [u8; 16],
}

impl CookieSigner {
    pub fn new(secret: [u8; 16]) -> CookieSigner {
        CookieSigner { secret }
    }

    /// Whether the cookie is one that we gave this client, and the cookie to return.
    pub fn verify(&self, cookie: &DnsCookie, client: IpAddr, unix_seconds: u32) -> CookieCheck {
        let new = || self.sign(&cookie.client, client, unix_seconds);
        let invalid = || CookieCheck { is_valid: false, returned: new() };
        let Some(shown) = cookie.server else { return invalid() };
        let made = u32::from_be_bytes([shown[4], shown[5], shown[6], shown[7]]);
        let age = unix_seconds.wrapping_sub(made);
        let in_time = age <= OLDEST || made.wrapping_sub(unix_seconds) <= AHEAD;
        if shown[..4] != FORM || !in_time || shown != self.sign(&cookie.client, client, made) {
            return invalid();
        }
        CookieCheck { is_valid: true, returned: if age <= FRESH { shown } else { new() } }
    }

    fn sign(&self, theirs: &[u8; 8], client: IpAddr, unix_seconds: u32) -> [u8; 16] {
        let mut out = [0; 16];
        out[..4].copy_from_slice(&FORM);
        out[4..8].copy_from_slice(&unix_seconds.to_be_bytes());
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write(theirs);
        hasher.write(&out[..8]);
        match client.to_canonical() {
            IpAddr::V4(v4) => hasher.write(&v4.octets()),
            IpAddr::V6(v6) => hasher.write(&v6.octets()),
        }
        out[8..].copy_from_slice(&hasher.finish().to_le_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9018, appendix A.1.
    #[test]
    fn the_form_is_the_one_of_the_standard() {
        let secret = 0xe5e9_73e5_a6b2_a43f_48e7_dc84_9e37_bfcf_u128.to_be_bytes();
        let client = 0x2464_c4ab_cf10_c957_u64.to_be_bytes();
        let made = CookieSigner::new(secret).sign(
            &client,
            "198.51.100.100".parse().unwrap(),
            1_559_731_985,
        );
        assert_eq!(u128::from_be_bytes(made), 0x0100_0000_5cf7_9f11_1f81_30c3_eee2_9480);
    }

    #[test]
    fn a_cookie_is_good_for_its_client_and_an_hour() {
        let cookies = CookieSigner::new([3; 16]);
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let first = DnsCookie { client: [1; 8], server: None };
        let CookieCheck { is_valid, returned: given } =
            cookies.verify(&first, ip("192.0.2.1"), 10_000);
        assert!(!is_valid);
        let shown = DnsCookie { client: [1; 8], server: Some(given) };
        let same = CookieCheck { is_valid: true, returned: given };
        assert_eq!(cookies.verify(&shown, ip("192.0.2.1"), 10_900), same);
        let renewed = cookies.verify(&shown, ip("192.0.2.1"), 12_000);
        assert!(renewed.is_valid && renewed.returned != given);
        assert!(!cookies.verify(&shown, ip("192.0.2.1"), 13_601).is_valid);
        assert!(cookies.verify(&shown, ip("192.0.2.1"), 9_700).is_valid);
        assert!(!cookies.verify(&shown, ip("192.0.2.1"), 9_699).is_valid);
        assert!(!cookies.verify(&shown, ip("192.0.2.2"), 10_000).is_valid);
        let other = DnsCookie { client: [2; 8], ..shown };
        assert!(!cookies.verify(&other, ip("192.0.2.1"), 10_000).is_valid);
        assert!(!CookieSigner::new([4; 16]).verify(&shown, ip("192.0.2.1"), 10_000).is_valid);
    }
}
