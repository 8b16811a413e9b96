//! One written text against one form of the schema. It knows neither key nor place.

use std::borrow::Cow;

use super::super::finding::Trouble;
use super::super::matching::{HostPattern, Match, PathPattern, Range};
use super::super::pattern::Pattern;
use super::super::schema::Form;
use super::super::suggest::nearest;
use super::super::template::Template;
use super::super::value::Value;
use super::name::name;
use super::punycode::ascii;

/// The longest text of a free form.
const LONGEST: usize = 4_096;

/// Approve a text, or say what is wrong with it.
pub fn read(form: Form, text: &str) -> Result<Value, Trouble> {
    let visible = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
    let good = match form {
        Form::Name => return name(text, 255).map(|()| Value::Text(Cow::Owned(text.to_owned()))),
        Form::File => !text.is_empty() && text.len() <= 4_096 && !text.contains('\0'),
        Form::Target => {
            matches!(text, "off" | "stderr" | "stdout")
                || (text.contains('/') && text.len() <= 4_096 && !text.contains('\0'))
        }
        Form::Interface => {
            (1..=15).contains(&text.len()) && visible(text) && !text.contains(['/', ':'])
        }
        Form::Congestion => {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            (1..=15).contains(&text.len()) && text.bytes().all(plain)
        }
        Form::RequestPath => {
            text.starts_with('/') && text.len() <= 2_048 && visible(text) && !text.contains('#')
        }
        Form::Free => text.len() <= LONGEST,
        Form::Pattern => {
            let wrong = |error: super::super::pattern::PatternError| {
                Trouble::new(error.to_string()).expected(expected(form))
            };
            Pattern::new(text).map_err(wrong)?;
            true
        }
        Form::Digest => text
            .strip_prefix("sha256:")
            .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit())),
        Form::Token => (1..=255).contains(&text.len()) && text.bytes().all(token),
        Form::Field => field(text),
        Form::Domain => domain(text),
        Form::Oid => oid(text),
        Form::FieldName => field(&format!("{text}:")),
        Form::Visible => {
            (1..=1_024).contains(&text.len()) && text.bytes().all(|b| (b' '..0x7f).contains(&b))
        }
        Form::HostPattern => HostPattern::parse(text).is_some(),
        Form::PathPattern => PathPattern::parse(text).is_some(),
        Form::Match => Match::field(text).is_some_and(|found| found.name.bytes().all(token)),
        Form::Pair => Match::pair(text).is_some(),
        Form::Range => Range::parse(text).is_some(),
        Form::MediaType => media_type(text),
        Form::Template => visible(text) && Template::parse(text).is_some(),
        Form::Host => {
            (1..=255).contains(&text.len()) && visible(text) && !text.contains(['/', '?', '#', '@'])
        }
    };
    if good {
        return Ok(Value::Text(Cow::Owned(text.to_owned())));
    }
    let near = match form {
        Form::Target => {
            nearest(text, ["off", "stderr", "stdout"]).map(|word| format!("\"{word}\""))
        }
        Form::RequestPath if visible(text) && !text.is_empty() => {
            Some(format!("\"/{text}\"")).filter(|_| !text.starts_with('/'))
        }
        Form::HostPattern | Form::Host => ascii(text).map(|name| format!("\"{name}\"")),
        _ => None,
    };
    Err(Trouble::new("not a text that fits here").expected(expected(form)).suggest(near))
}

/// What a text of this form looks like, in words.
pub fn expected(form: Form) -> &'static str {
    match form {
        Form::Name => "a name in kebab-case",
        Form::File => "a path",
        Form::Target => "\"stderr\", \"stdout\", \"off\", or a file's path with a `/` in it",
        Form::Interface => "a network interface, at most 15 characters",
        Form::Congestion => "the kernel's name of a congestion control, such as \"bbr\"",
        Form::RequestPath => "a path with a leading `/`, such as \"/healthz\"",
        Form::Host => "a host, with its port where it has one",
        Form::Free => "any text of at most 4,096 bytes",
        Form::Pattern => "a regular expression of at most 1,024 bytes",
        Form::Digest => "\"sha256:\" and 64 hexadecimal digits",
        Form::Token => "a word such as \"GET\"",
        Form::Field => "a header field \"name: value\"",
        Form::Domain => "a domain name such as \"shop.example\", or an address",
        Form::Oid => "an object identifier such as \"1.3.6.1.2.1.1.3.0\"",
        Form::FieldName => "the name of a header field that is not written by us",
        Form::Visible => "text of at most 1,024 visible characters",
        Form::HostPattern => "a host without port, or \"*.\" and a host for every name below",
        Form::PathPattern => {
            "a path with a leading `/`; a `*` at its end: what begins so; `*`, `**`, `?` within it"
        }
        Form::Match => "a field's name, or \"name: value\", `*` in the value for anything",
        Form::Pair => "a name, or \"name=value\", `*` in the value for anything",
        Form::Range => "a number or a range: \"10\", \"10-20\", \"10-\", \"-20\"",
        Form::MediaType => {
            "a media type such as \"application/json\", or \"text/*\" for all that begin so"
        }
        Form::Template => {
            "a path or a URL of at most 2,048 visible characters, with {host}, {path}, {query}, {rest}, {1} to {9} in it"
        }
    }
}

/// A character of a token (RFC 9110 §5.6.2).
fn token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A field that we do not write ourselves, without anything that would end it.
fn field(text: &str) -> bool {
    let Some((name, value)) = text.split_once(':') else { return false };
    let ours = ["host", "connection", "content-length", "transfer-encoding"];
    let plain = |b: u8| b == b'\t' || (b >= b' ' && b != 0x7f);
    (1..=64).contains(&name.len())
        && name.bytes().all(token)
        && !ours.iter().any(|ours| name.eq_ignore_ascii_case(ours))
        && value.len() <= 1_024
        && value.bytes().all(plain)
}

/// Labels of at most 63 bytes, 253 in all (RFC 1035 §2.3.4); underscores occur in practice.
fn domain(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    text == "."
        || text.parse::<std::net::IpAddr>().is_ok()
        || (name.len() <= 253 && name.split('.').all(label))
}

/// Two tokens, of which the second may be `*` (RFC 9110 §8.3.1).
fn media_type(text: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| token(b) && b != b'*');
    let parts = text.split_once('/').filter(|_| text.len() <= 255);
    parts.is_some_and(|(kind, sub)| word(kind) && (sub == "*" || word(sub)))
}

/// At least two numbers, the first 0 to 2, the second below 40 (ITU-T X.690 §8.19).
fn oid(text: &str) -> bool {
    let numbers: Option<Vec<u32>> =
        text.strip_prefix('.').unwrap_or(text).split('.').map(|n| n.parse().ok()).collect();
    numbers.is_some_and(|n| (2..=64).contains(&n.len()) && n[0] <= 2 && n[1] < 40)
}
