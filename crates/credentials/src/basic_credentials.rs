//! Name and password of an `Authorization` field with the scheme `Basic` (RFC 7617). It checks neither.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// Bytes of a name and a password in Base64. Longer ones are no credentials of ours.
const MAX_ENCODED_BYTES: usize = 1_100;

/// Clients leave the padding out, too.
const DECODER: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What a client says of itself.
#[derive(Clone, PartialEq, Eq)]
pub struct BasicCredentials {
    pub name: String,
    pub password: Vec<u8>,
}

impl BasicCredentials {
    /// Reads the value of an `Authorization` field; `None`: it has another scheme or is malformed.
    pub fn parse(value: &[u8]) -> Option<BasicCredentials> {
        let value = value.trim_ascii();
        let scheme = value.get(..6)?;
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return None;
        }
        let encoded = value.get(6..)?.trim_ascii();
        if encoded.len() > MAX_ENCODED_BYTES {
            return None;
        }
        let pair = DECODER.decode(encoded).ok()?;
        let colon = pair.iter().position(|byte| *byte == b':')?;
        let name = std::str::from_utf8(pair.get(..colon)?).ok()?.to_owned();
        let password = pair.get(colon + 1..)?.to_vec();
        (!name.contains(char::is_control)).then_some(BasicCredentials { name, password })
    }
}

impl std::fmt::Debug for BasicCredentials {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "credentials of {:?}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(value: &str) -> Option<String> {
        let read = BasicCredentials::parse(value.as_bytes())?;
        Some(format!("{}|{}", read.name, String::from_utf8_lossy(&read.password)))
    }

    #[test]
    fn a_name_ends_at_the_first_colon() {
        for (value, expected) in [
            // RFC 7617 §2 and §2.1.
            ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Some("Aladdin|open sesame")),
            ("Basic dGVzdDoxMjPCow==", Some("test|123£")),
            ("bAsIc   QWxhZGRpbjpvcGVuIHNlc2FtZQ  ", Some("Aladdin|open sesame")),
            ("Basic YTpiOmM=", Some("a|b:c")),
            ("Basic OnB3", Some("|pw")),
            ("Basic YTo=", Some("a|")),
            ("Basic YQ==", None),
            ("Basic a\nb", None),
            ("Basic Cjpw", None),
            ("Basic ", None),
            ("Basic", None),
            ("BasicQWxhZGRpbjpvcGVuIHNlc2FtZQ==", None),
            ("Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", None),
            ("", None),
        ] {
            assert_eq!(pair(value).as_deref(), expected, "{value:?}");
        }
        assert_eq!(pair(&format!("Basic {}", "QUFB".repeat(400))), None, "too long");
    }

    #[test]
    fn no_password_is_printed() {
        let read = BasicCredentials::parse(b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap();
        assert!(!format!("{read:?}").contains("sesame"));
    }
}
