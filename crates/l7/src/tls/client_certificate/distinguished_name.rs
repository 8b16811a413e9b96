//! Formats distinguished names by RFC 4514, in ASCII: other characters are written as `\XX` of their UTF-8 bytes.

use std::fmt::Write;

use x509_parser::asn1_rs::Tag;
use x509_parser::prelude::{AttributeTypeAndValue, X509Name};

/// The name, with its last part first.
pub(super) fn format_name(name: &X509Name<'_>) -> String {
    let mut text = String::new();
    let parts: Vec<_> = name.iter().collect();
    for part in parts.into_iter().rev() {
        text.push_str(if text.is_empty() { "" } else { "," });
        let attributes: Vec<_> = part.iter().collect();
        for (at, attribute) in attributes.into_iter().rev().enumerate() {
            text.push_str(if at == 0 { "" } else { "+" });
            put(attribute, &mut text);
        }
    }
    text
}

/// The attribute types that RFC 4514 names, and further ones that occur in certificates.
const TYPES: [(&str, &str); 14] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.6", "C"),
    ("2.5.4.9", "STREET"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("2.5.4.4", "SN"),
    ("2.5.4.42", "GN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.12", "title"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

fn put(attribute: &AttributeTypeAndValue<'_>, text: &mut String) {
    let oid = attribute.attr_type().to_id_string();
    let known = TYPES.iter().find(|(id, _)| *id == oid).map(|(_, name)| *name);
    text.push_str(known.unwrap_or(&oid));
    text.push('=');
    match characters(attribute).filter(|_| known.is_some()) {
        Some(value) => escape(&value, text),
        // RFC 4514 §2.4: a value that is not a string, or whose type has no name, is written in its encoding.
        None => encoded(attribute, text),
    }
}

fn characters(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    let value = attribute.attr_value();
    let bytes = attribute.as_slice();
    match value.tag() {
        Tag::BmpString => {
            let pairs = bytes.chunks_exact(2);
            let units = pairs.map(|two| u16::from_be_bytes([two[0], two[1]]));
            let whole = bytes.len().is_multiple_of(2);
            char::decode_utf16(units).collect::<Result<_, _>>().ok().filter(|_| whole)
        }
        _ => attribute.as_str().ok().map(str::to_owned),
    }
}

fn escape(value: &str, text: &mut String) {
    let last = value.len().saturating_sub(1);
    for (at, byte) in value.bytes().enumerate() {
        match byte {
            b'"' | b'+' | b',' | b';' | b'<' | b'>' | b'\\' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b'#' if at == 0 => text.push_str("\\#"),
            b' ' if at == 0 || at == last => text.push_str("\\ "),
            b' ' => text.push(' '),
            _ if byte.is_ascii_graphic() => text.push(char::from(byte)),
            _ => hex(byte, text),
        }
    }
}

/// `#` with the octets of the encoding (X.690).
fn encoded(attribute: &AttributeTypeAndValue<'_>, text: &mut String) {
    let value = attribute.attr_value();
    let bytes = attribute.as_slice();
    let constructed = if value.header.is_constructed() { 0x20 } else { 0 };
    let class = (value.class() as u32) << 6;
    // Writing into a String cannot fail.
    let _ = write!(text, "#{:02X}", class | constructed | value.tag().0);
    let length = bytes.len().to_be_bytes();
    let significant = length.iter().skip_while(|byte| **byte == 0);
    if bytes.len() >= 0x80 {
        let _ = write!(text, "{:02X}", 0x80 + significant.clone().count());
    } else if bytes.is_empty() {
        text.push_str("00");
    }
    for byte in significant.chain(bytes) {
        let _ = write!(text, "{byte:02X}");
    }
}

/// A byte as `\XX`.
pub(super) fn hex(byte: u8, text: &mut String) {
    let _ = write!(text, "\\{byte:02X}");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may fail")]

    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair};
    use x509_parser::prelude::{FromDer, X509Certificate};

    use super::*;

    fn subject(parts: Vec<(DnType, DnValue)>) -> String {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in parts {
            params.distinguished_name.push(kind, value);
        }
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let (_, parsed) = X509Certificate::from_der(certificate.der()).unwrap();
        format_name(parsed.subject())
    }

    #[test]
    fn names_are_written_as_rfc_4514_has_them() {
        let text = |text: &str| DnValue::Utf8String(text.to_owned());
        let cn = |value: &str| vec![(DnType::CommonName, text(value))];
        let rows = [
            (cn("bob"), "CN=bob"),
            (cn("bob, OU=admins"), "CN=bob\\, OU=admins"),
            (cn("bob+OU=admins"), "CN=bob\\+OU=admins"),
            (cn("caf\u{e9}"), "CN=caf\\C3\\A9"),
            (cn("caf\u{e8}"), "CN=caf\\C3\\A8"),
            (cn(" #a\\\"<;> "), "CN=\\ #a\\\\\\\"\\<\\;\\>\\ "),
            (cn("#a"), "CN=\\#a"),
            (cn(" "), "CN=\\ "),
            (cn("a\r\nb\0c"), "CN=a\\0D\\0Ab\\00c"),
            (cn(""), "CN="),
            (
                vec![(DnType::OrganizationName, text("Guests")), (DnType::CommonName, text("bob"))],
                "CN=bob,O=Guests",
            ),
            (
                vec![(DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 7]), text("x"))],
                "1.3.6.1.4.1.7=#0C0178",
            ),
        ];
        for (parts, expected) in rows {
            assert_eq!(subject(parts), expected);
        }
    }
}
