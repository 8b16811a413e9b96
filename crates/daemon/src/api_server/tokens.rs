//! Who may use the API over TCP: tokens, written down as digests, and names of certificates; how they are made, read and
//! recognised.
//!
//! A token is 32 random bytes, so one round of SHA-256 is enough: there is nothing to guess. Digests are compared in
//! constant time, all of them each time. It opens no file but the system's source of randomness.

use std::fmt;
use std::io::{self, Read};

use api::types::Role;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

/// Tokens of one file.
pub const MOST: usize = 1_000;
/// Characters of a token's name.
const NAME: usize = 64;
/// How each token begins, so that it is recognised where it should not be.
const BEGIN: &str = "steelyard_";
/// Random bytes of a token. 256 bits cannot be guessed at any rate.
const BYTES: usize = 32;
/// How a digest is written.
const DIGEST: &str = "sha256:";
/// How a certificate's name is written.
const CERTIFICATE: &str = "certificate:";
/// Kinds of names in certificates.
const KINDS: [&str; 4] = ["dns:", "email:", "uri:", "cn:"];

/// A token, as it is known.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiToken {
    pub name: String,
    pub role: Role,
    proof: CredentialProof,
}

/// How a token's owner proves to be the owner.
#[derive(Clone, PartialEq, Eq)]
enum CredentialProof {
    /// A token of this digest.
    Digest([u8; SHA256_OUTPUT_LEN]),
    /// A certificate with this name: `dns:alice.example`.
    Certificate(String),
}

impl fmt::Debug for ApiToken {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} {}", self.role.name(), self.name)
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct IssuedToken {
    /// The token itself. Only its digest is stored.
    pub token: String,
    /// The line for the file.
    pub line: String,
}

/// Why a token file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFileError {
    /// A line that cannot be read.
    #[error(
        "line {line}: {found}; expected `ROLE NAME sha256:DIGEST` or `ROLE NAME certificate:KIND:NAME`, as `steelyard \
         token` writes it"
    )]
    Line { line: usize, found: String },
    #[error("there are more than {MOST} tokens")]
    TooMany,
}

/// Creates a token for a named owner.
///
/// # Errors
/// The name cannot stand in a line, or the system has no randomness.
pub fn issue_token(role: Role, name: &str) -> io::Result<IssuedToken> {
    if !is_token_name(name) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, invalid_name(name)));
    }
    let mut bytes = [0; BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let token = format!("{BEGIN}{}", hex(&bytes));
    let line = format!(
        "{} {name} {DIGEST}{}",
        role.name(),
        hex(digest(&SHA256, token.as_bytes()).as_ref())
    );
    Ok(IssuedToken { token, line })
}

/// The line that gives a role to the owner of a certificate with this name, such as `dns:alice.example`.
///
/// # Errors
/// One of the names cannot stand in a line.
pub fn certificate_line(role: Role, name: &str, claim: &str) -> io::Result<String> {
    let wrong = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    if !is_token_name(name) {
        return wrong(invalid_name(name));
    }
    if !is_certificate_name(claim) {
        let text = format!(
            "'{claim}' is no name of a certificate: expected dns:, email:, uri: or cn: and what stands there, without \
             blanks"
        );
        return wrong(text);
    }
    Ok(format!("{} {name} {CERTIFICATE}{claim}", role.name()))
}

/// Parses a token file: one token digest or certificate name a line. Blank lines and lines that begin with `#` are
/// ignored.
///
/// # Errors
/// See `TokenFileError`: one wrong line rejects the whole file.
pub fn parse_tokens(text: &str) -> Result<Vec<ApiToken>, TokenFileError> {
    let mut tokens: Vec<ApiToken> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line_number = at + 1;
        let wrong = |found: String| TokenFileError::Line { line: line_number, found };
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut fields = line.split_whitespace();
        let (Some(role), Some(name), Some(digest), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(wrong("it has not three words".to_owned()));
        };
        let role = Role::from_name(role)
            .ok_or_else(|| wrong("the role is not lease, view, operate or configure".to_owned()))?;
        if !is_token_name(name) {
            return Err(wrong("the name has characters that it may not have".to_owned()));
        }
        let proof = match digest.strip_prefix(CERTIFICATE) {
            Some(claim) if is_certificate_name(claim) => {
                CredentialProof::Certificate(claim.to_owned())
            }
            Some(_) => return Err(wrong("the certificate's name cannot be read".to_owned())),
            None => {
                let digest = digest.strip_prefix(DIGEST).and_then(unhex);
                CredentialProof::Digest(
                    digest.ok_or_else(|| wrong("the digest cannot be read".to_owned()))?,
                )
            }
        };
        let alike = |other: &ApiToken| match (&other.proof, &proof) {
            // Two roles for one certificate would be decided by their order.
            (CredentialProof::Certificate(a), CredentialProof::Certificate(b)) => a == b,
            (CredentialProof::Digest(_), CredentialProof::Digest(_)) => other.name == name,
            _ => false,
        };
        if tokens.iter().any(alike) {
            return Err(wrong(format!("there is a line for {name} already")));
        }
        tokens.push(ApiToken { name: name.to_owned(), role, proof });
        if tokens.len() > MOST {
            return Err(TokenFileError::TooMany);
        }
    }
    Ok(tokens)
}

/// The token that was shown.
pub fn find_token<'t>(tokens: &'t [ApiToken], shown: &str) -> Option<&'t ApiToken> {
    let shown = digest(&SHA256, shown.as_bytes());
    let same = |token: &ApiToken| match &token.proof {
        CredentialProof::Digest(digest) => verify_slices_are_equal(digest, shown.as_ref()).is_ok(),
        CredentialProof::Certificate(_) => false,
    };
    // Every token is compared, so that the time of a check does not reveal which one matched.
    tokens.iter().fold(None, |matched, token| if same(token) { Some(token) } else { matched })
}

/// Whose certificate this is, by the names in it: the first line that fits.
pub fn find_certificate<'t>(tokens: &'t [ApiToken], claims: &[String]) -> Option<&'t ApiToken> {
    tokens.iter().find(|token| match &token.proof {
        CredentialProof::Certificate(claim) => claims.contains(claim),
        CredentialProof::Digest(_) => false,
    })
}

fn invalid_name(name: &str) -> String {
    format!("'{name}' is no name for a token: expected 1-{NAME} letters, digits, . _ @ or -")
}

fn is_certificate_name(claim: &str) -> bool {
    let kind = KINDS.iter().find(|kind| claim.starts_with(**kind));
    let visible = |c: char| !c.is_whitespace() && !c.is_control();
    kind.is_some_and(|kind| claim.len() > kind.len())
        && claim.len() <= 512
        && claim.chars().all(visible)
}

fn is_token_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
    (1..=NAME).contains(&name.len()) && name.chars().all(fits)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; SHA256_OUTPUT_LEN]> {
    let mut out = [0; SHA256_OUTPUT_LEN];
    if text.len() != 2 * out.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issued_token_is_found_and_no_other() {
        let a = issue_token(Role::View, "a").unwrap();
        let b = issue_token(Role::Operate, "b@x").unwrap();
        assert!(a.token != b.token && a.token.len() == BEGIN.len() + 2 * BYTES);
        assert!(!a.line.contains(&a.token));
        let tokens = parse_tokens(&format!("# people\n{}\n\n{}\n", a.line, b.line)).unwrap();
        let token = find_token(&tokens, &b.token).unwrap();
        assert_eq!((token.name.as_str(), token.role), ("b@x", Role::Operate));
        assert_eq!(find_token(&tokens, &a.token).unwrap().name, "a");
        for wrong in ["", "steelyard_", &b.token[1..], &format!("{} ", b.token), &a.line] {
            assert!(find_token(&tokens, wrong).is_none(), "{wrong}");
        }
        assert!(!format!("{tokens:?}").contains("sha256"));
    }

    #[test]
    fn a_certificate_is_known_by_any_of_its_names() {
        let line = certificate_line(Role::Operate, "alice", "uri:spiffe://example/alice").unwrap();
        let token = issue_token(Role::View, "alice").unwrap();
        let tokens =
            parse_tokens(&format!("{line}\n{}\nview b certificate:cn:b\n", token.line)).unwrap();
        let claims = |all: &[&str]| all.iter().map(|claim| (*claim).to_owned()).collect::<Vec<_>>();
        let of = |all: &[&str]| {
            find_certificate(&tokens, &claims(all)).map(|token| (token.name.clone(), token.role))
        };
        let alice = Some(("alice".to_owned(), Role::Operate));
        assert_eq!(of(&["dns:x", "uri:spiffe://example/alice"]), alice);
        assert_eq!(of(&["cn:b"]), Some(("b".to_owned(), Role::View)));
        for other in ["dns:b", "cn:B", "cn:bb", "uri:spiffe://example/alice/", ""] {
            assert_eq!(of(&[other]), None, "{other}");
        }
        assert!(
            find_token(&tokens, "cn:b").is_none() && find_token(&tokens, &token.token).is_some()
        );
        for wrong in ["alice", "dns:", "dns:a b", "ip:1.2.3.4"] {
            assert!(certificate_line(Role::View, "a", wrong).is_err(), "{wrong}");
        }
        for text in
            ["view a certificate:ip:1", "view a certificate:dns:x\nview b certificate:dns:x"]
        {
            assert!(parse_tokens(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lines_that_cannot_be_read_are_named() {
        let good = issue_token(Role::View, "a").unwrap().line;
        let rows = [
            (format!("{good}\nview b"), 2, "three words"),
            (good.replace("view", "root"), 1, "role"),
            (good.replace(" a ", " a/b "), 1, "name"),
            (good.replace("sha256:", "md5:"), 1, "digest"),
            (good[..good.len() - 1].to_owned(), 1, "digest"),
            (format!("{}é", &good[..good.len() - 2]), 1, "digest"),
            (format!("{good}\n{good}"), 2, "already"),
        ];
        for (text, line, says) in rows {
            match parse_tokens(&text) {
                Err(TokenFileError::Line { line: at, found }) => {
                    assert!(at == line && found.contains(says), "{text}: {found}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        let many: String =
            (0..=MOST).map(|n| good.replace(" a ", &format!(" a{n} ")) + "\n").collect();
        assert_eq!(parse_tokens(&many), Err(TokenFileError::TooMany));
        for name in ["", "a b", &"x".repeat(65)] {
            assert!(issue_token(Role::View, name).is_err(), "{name}");
        }
    }
}
