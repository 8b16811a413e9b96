//! Messages for people from messages that quote an error of the system or of the standard library: without Rust's
//! notation, and with what to do.
//!
//! It works on whole texts, at the few places where they leave the program, so that no message can miss it. It knows
//! neither the path nor the object: the message has named both.

use std::io;

use crate::serde_text::replace_serde_texts;

/// How Rust ends the text of an error of the operating system.
const NUMBER: &str = " (os error ";

/// What to do about an error of the operating system, by its number.
const REMEDIES: [(i32, &str); 17] = [
    (1, "this needs root or a capability that the process lacks"),
    (2, "check the path"),
    (13, "run as a user who may, or change the owner or the mode"),
    (17, "remove it, or choose another name"),
    (20, "a part of the path is a file: check the path"),
    (21, "name a file"),
    (24, "raise the limit of open files, LimitNOFILE= of the unit or `ulimit -n`"),
    (28, "free space on that file system, or choose another place"),
    (30, "choose a place that can be written"),
    (39, "choose an empty directory"),
    (98, "another program has it; `ss -tulnp` shows which"),
    (99, "`ip address` lists those that this machine has"),
    (101, "check the routes: `ip route`"),
    (104, "the other side closed it"),
    (110, "nothing answered: check the address, and what filters packets on the way"),
    (111, "nothing listens there, or a firewall rejects it"),
    (113, "check the address and the network to it"),
];

/// Texts of the standard library, and what they mean.
const RAW_TEXTS: [(&str, &str); 24] = [
    ("entity not found", "no such file or directory: check the path"),
    ("entity already exists", "it exists already: remove it, or choose another name"),
    (
        "failed to lookup address information: Name or service not known",
        "no such name is known: check its spelling, and the resolvers in /etc/resolv.conf",
    ),
    (
        "failed to lookup address information: Temporary failure in name resolution",
        "no name server answered: check /etc/resolv.conf and the network",
    ),
    ("failed to lookup address information: ", "the name was not resolved: "),
    ("stream did not contain valid UTF-8", "it is not a text in UTF-8"),
    ("failed to fill whole buffer", "it ends too early"),
    ("failed to write whole buffer", "it could not be written whole"),
    ("expected value at line", "it is not JSON, at line"),
    ("EOF while parsing", "it ends within"),
    (
        "Failed to deserialize the JSON body into the target type: ",
        "the body is not what this route takes: ",
    ),
    ("Failed to parse the request body as JSON: ", "the body is not JSON: "),
    ("Failed to deserialize query string: ", "the query is not what this route takes: "),
    ("invalid digit found in string", "expected a whole number"),
    ("number too large to fit in target type", "expected a smaller number"),
    ("invalid float literal", "expected a number such as 0.5"),
    ("provided string was not `true` or `false`", "expected true or false"),
    ("invalid IP address syntax", "expected an address such as 192.0.2.7"),
    ("invalid utf-8 sequence", "it is not a text in UTF-8"),
    (
        "invalid peer certificate: UnknownIssuer",
        "the authority that signed its certificate is not trusted here",
    ),
    (
        "invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))",
        "its certificate is that of an authority (`CA:TRUE`): expected one of a server",
    ),
    (
        "received corrupt message of type InvalidContentType",
        "what answers there does not speak TLS",
    ),
    ("invalid peer certificate: ", "its certificate is not accepted: "),
    ("received fatal alert: ", "the other side ended TLS with the alert: "),
];

/// Beginnings of texts of rustls that are followed by the name of a code in Rust's notation.
const CODES: [&str; 4] = [
    "its certificate is not accepted: ",
    "the other side ended TLS with the alert: ",
    "peer is incompatible: ",
    "peer misbehaved: ",
];

/// The message as people read it: `No such file or directory (os error 2)` becomes `No such file or directory: check the
/// path`.
pub fn plain_error_text(text: impl Into<String>) -> String {
    let mut text = text.into();
    let mut from = 0;
    while let Some(at) = text[from..].find(NUMBER).map(|at| from + at) {
        from = at + NUMBER.len();
        let digits = text[from..].bytes().take_while(u8::is_ascii_digit).count();
        let Ok(number) = text[from..from + digits].parse() else { continue };
        let quoted = io::Error::from_raw_os_error(number).to_string();
        let end = from + digits + 1;
        if !text[..end.min(text.len())].ends_with(&quoted) {
            continue;
        }
        // What the message itself advises stands behind a semicolon, and is nearer to the matter.
        let advised = text[end..].starts_with(';');
        let remedy = REMEDIES.iter().find(|(known, _)| *known == number && !advised);
        let remedy = remedy.map_or(String::new(), |(_, remedy)| format!(": {remedy}"));
        text.replace_range(at..end, &remedy);
        from = at + remedy.len();
    }
    for (raw, plain) in RAW_TEXTS {
        if text.contains(raw) {
            text = text.replace(raw, plain);
        }
    }
    for start in CODES {
        if let Some(at) = text.find(start).map(|at| at + start.len()) {
            let is_code = |letter: char| letter.is_ascii_alphanumeric() || "()".contains(letter);
            let length = text[at..].find(|letter| !is_code(letter)).unwrap_or(text.len() - at);
            let words = words_of_code(&text[at..at + length]);
            text.replace_range(at..at + length, &words);
        }
    }
    replace_serde_texts(text)
}

/// `Other(OtherError(CaUsedAsEndEntity))` as words: `ca used as end entity`.
fn words_of_code(code: &str) -> String {
    let mut words = String::new();
    let inner = code.rsplit('(').next().unwrap_or(code).trim_end_matches(')');
    for letter in inner.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_lose_their_number_and_get_a_remedy() {
        for (raw, plain) in [
            (
                "cannot read a: No such file or directory (os error 2)",
                "cannot read a: No such file or directory: check the path",
            ),
            ("b: Is a directory (os error 21), twice", "b: Is a directory: name a file, twice"),
            (
                "c: Permission denied (os error 13); run as root",
                "c: Permission denied; run as root",
            ),
            ("d: Text file busy (os error 26)", "d: Text file busy"),
            ("e: said by a server (os error 2)", "e: said by a server (os error 2)"),
            ("f (os error ", "f (os error "),
            ("g (os error 99999999999)", "g (os error 99999999999)"),
            (
                "cannot write: entity already exists",
                "cannot write: it exists already: remove it, or choose another name",
            ),
            (
                "h: invalid peer certificate: Other(OtherError(NameConstraintViolation)); see i",
                "h: its certificate is not accepted: name constraint violation; see i",
            ),
            (
                "Failed to deserialize query string: id: invalid digit found in string",
                "the query is not what this route takes: id: expected a whole number",
            ),
            (
                "received fatal alert: HandshakeFailure",
                "the other side ended TLS with the alert: handshake failure",
            ),
            (
                "invalid peer certificate: certificate expired: at 3",
                "its certificate is not accepted: certificate expired: at 3",
            ),
            ("nothing of that kind", "nothing of that kind"),
        ] {
            assert_eq!(plain_error_text(raw), plain);
        }
    }

    #[test]
    fn several_errors_in_one_message_are_all_replaced() {
        let text = format!(
            "{}; then {}",
            io::Error::from_raw_os_error(28),
            io::Error::from_raw_os_error(111)
        );
        let plain = plain_error_text(text);
        assert!(!plain.contains("os error"), "{plain}");
        assert!(plain.contains("nothing listens there"), "{plain}");
    }
}
