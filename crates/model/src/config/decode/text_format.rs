//! Validates one text by its format in the schema. It knows neither key nor place.

use std::borrow::Cow;

use super::super::access_log::{AccessLogField, LogVariable, is_log_target};
use super::super::finding::FindingDetails;
use super::super::matching::{
    FieldPattern, HostPart, HostPattern, NameValuePattern, NumberRange, PathPattern,
};
use super::super::pattern::Pattern;
use super::super::schema::{TableSchema, TextFormat, ValueKind};
use super::super::suggestion::nearest_match;
use super::super::template::Template;
use super::super::value::ConfigValue;
use super::super::value_template::{ValueTemplate, ValueTemplateError, nearest_variable};
use super::name::validate_name;
use super::punycode::to_ascii;

/// The longest free text.
const MAX_TEXT_BYTES: usize = 4_096;

/// Validates a text, or describes what is wrong with it.
pub fn parse_text(form: TextFormat, text: &str) -> Result<ConfigValue, FindingDetails> {
    let visible = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
    let good = match form {
        TextFormat::Name => {
            return validate_name(text, 255)
                .map(|()| ConfigValue::Text(Cow::Owned(text.to_owned())));
        }
        TextFormat::File => !text.is_empty() && text.len() <= 4_096 && !text.contains('\0'),
        TextFormat::Target => is_log_target(text),
        TextFormat::Interface => {
            (1..=15).contains(&text.len()) && visible(text) && !text.contains(['/', ':'])
        }
        TextFormat::Congestion => {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            (1..=15).contains(&text.len()) && text.bytes().all(plain)
        }
        TextFormat::RequestPath => {
            text.starts_with('/') && text.len() <= 2_048 && visible(text) && !text.contains('#')
        }
        TextFormat::FreeText => text.len() <= MAX_TEXT_BYTES,
        TextFormat::Pattern => {
            Pattern::new(text).map_err(|error| {
                FindingDetails::new(error.to_string()).with_expected(describe_format(form))
            })?;
            true
        }
        TextFormat::Digest => text
            .strip_prefix("sha256:")
            .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit())),
        TextFormat::Token => (1..=255).contains(&text.len()) && text.bytes().all(is_token_byte),
        TextFormat::Method => return parse_method(text),
        TextFormat::Field => return parse_header_field(text),
        TextFormat::FieldTemplate => return parse_field_template(text),
        TextFormat::HostTemplate => match check_variables(text, text)? {
            true => text.len() <= 1_024 && visible(text),
            false => return parse_text(TextFormat::Host, text),
        },
        TextFormat::LocationTarget => is_location_target(text)?,
        TextFormat::CookieAttribute => text.len() <= 255 && visible(text) && !text.contains(';'),
        TextFormat::Domain => is_domain(text),
        TextFormat::Oid => is_oid(text),
        TextFormat::LogField => AccessLogField::parse(text).is_some(),
        TextFormat::FieldName => !text.contains(':') && is_writable_field(&format!("{text}:")),
        TextFormat::VisibleText => {
            (1..=1_024).contains(&text.len()) && text.bytes().all(|b| (b' '..0x7f).contains(&b))
        }
        TextFormat::HostPattern => HostPattern::parse(text).is_some(),
        TextFormat::HostPart => HostPart::parse(text).is_some(),
        TextFormat::PathPattern => PathPattern::parse(text).is_some(),
        TextFormat::Match => NameValuePattern::parse_field(text)
            .is_some_and(|found| found.name.bytes().all(is_token_byte)),
        TextFormat::FieldPattern => is_field_pattern(text)?,
        TextFormat::Cookie => return parse_cookie_pattern(text),
        TextFormat::CookieValue => is_cookie_value(text),
        TextFormat::Pair => NameValuePattern::parse_pair(text).is_some(),
        TextFormat::Range => NumberRange::parse(text).is_some(),
        TextFormat::MediaType => is_media_type(text),
        TextFormat::Template => visible(text) && Template::parse(text).is_some(),
        TextFormat::Host => {
            (1..=255).contains(&text.len()) && visible(text) && !text.contains(['/', '?', '#', '@'])
        }
    };
    match good {
        true => Ok(ConfigValue::Text(Cow::Owned(text.to_owned()))),
        false => Err(describe_mismatch(form, text)),
    }
}

/// Whether cookies may name a server by this value: 1–64 characters of RFC 6265 §4.1.1 except `~`.
pub fn is_cookie_value(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_graphic() && !b"~;,\"\\".contains(&b);
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

/// Describes the mistake in a text whose format has no parser of its own.
fn describe_mismatch(form: TextFormat, text: &str) -> FindingDetails {
    let visible = text.bytes().all(|b| b.is_ascii_graphic());
    let near = match form {
        TextFormat::Target => {
            nearest_match(text, ["off", "stderr", "stdout"]).map(|word| format!("\"{word}\""))
        }
        TextFormat::RequestPath if visible && !text.is_empty() => {
            Some(format!("\"/{text}\"")).filter(|_| !text.starts_with('/'))
        }
        TextFormat::PathPattern | TextFormat::RequestPath | TextFormat::Template
            if text.starts_with('/') && !visible =>
        {
            let message = "a path is compared and sent in its percent-encoded form";
            let near = format!("\"{}\"", percent_encode_path(text));
            return FindingDetails::new(message)
                .with_expected(describe_format(form))
                .with_suggestion(Some(near));
        }
        TextFormat::LogField => LogVariable::nearest(text).map(|name| format!("\"{name}\"")),
        TextFormat::HostPattern | TextFormat::HostPart | TextFormat::Host => {
            to_ascii(text).map(|name| format!("\"{name}\""))
        }
        _ => None,
    };
    FindingDetails::new("not a text that fits here")
        .with_expected(describe_format(form))
        .with_suggestion(near)
}

/// Describes a valid text of this format.
pub fn describe_format(form: TextFormat) -> &'static str {
    match form {
        TextFormat::Name => "a name in kebab-case",
        TextFormat::File => "a path",
        TextFormat::Target => {
            "\"stderr\", \"stdout\", \"off\", \"syslog://ADDRESS:PORT\", or a file's path with a `/` in it"
        }
        TextFormat::Interface => "a network interface, at most 15 characters",
        TextFormat::Congestion => "the kernel's name of a congestion control, such as \"bbr\"",
        TextFormat::RequestPath => "a path with a leading `/`, such as \"/healthz\"",
        TextFormat::Host => "a host, with its port where it has one",
        TextFormat::FreeText => "any text of at most 4,096 bytes",
        TextFormat::Pattern => "a regular expression of at most 1,024 bytes",
        TextFormat::Digest => "\"sha256:\" and 64 hexadecimal digits",
        TextFormat::Token => "a name of letters, digits and `-`, as fields of headers have",
        TextFormat::Method => "a method such as \"GET\", in the letter case in which it is sent",
        TextFormat::FieldTemplate => {
            "a header field as one text, \"name: value\", with variables such as {client} in the value"
        }
        TextFormat::LocationTarget => {
            "the beginning of a URL or a path, with variables such as {scheme} and {host}"
        }
        TextFormat::CookieAttribute => {
            "a domain or a path without blanks and `;`, at most 255 bytes, or nothing"
        }
        TextFormat::HostTemplate => {
            "a host, with its port where it has one, or with variables such as {header.x-host}"
        }
        TextFormat::Field => "a header field as one text, \"name: value\"",
        TextFormat::Domain => "a domain name such as \"shop.example\", or an address",
        TextFormat::Oid => "an object identifier such as \"1.3.6.1.2.1.1.3.0\"",
        TextFormat::LogField => {
            "a variable of the access log, \"header.NAME\", \"cookie.NAME\" or \"default\""
        }
        TextFormat::FieldName => "the name of a header field that is not written by us",
        TextFormat::VisibleText => "text of at most 1,024 visible characters",
        TextFormat::HostPattern => "a host without port, or \"*.\" and a host for every name below",
        TextFormat::HostPart => "labels of a host, such as \"api\" or \"shop.example\"",
        TextFormat::PathPattern => {
            "a path with a leading `/`; a `*` at its end: what begins so; `*`, `**`, `?` within it"
        }
        TextFormat::Match => "a field's name, or \"name: value\", `*` in the value for anything",
        TextFormat::FieldPattern => {
            "\"name: expression\", a field and a regular expression of at most 1,024 bytes, which sees bytes"
        }
        TextFormat::Cookie => "a cookie's name, or \"name=value\", `*` in the value for anything",
        TextFormat::CookieValue => {
            "1 to 64 visible characters other than `~`, `;`, `,`, `\"` and `\\`"
        }
        TextFormat::Pair => "a name, or \"name=value\", `*` in the value for anything",
        TextFormat::Range => "a number or a range: \"10\", \"10-20\", \"10-\", \"-20\"",
        TextFormat::MediaType => {
            "a media type such as \"application/json\", or \"text/*\" for all that begin so"
        }
        TextFormat::Template => {
            "a path or a URL of at most 2,048 visible characters, with {host}, {host-name}, {path}, {query}, {more-query}, {rest}, {1} to {9} in it"
        }
    }
}

/// Methods of clients (RFC 9110 §9.3, RFC 5789, RFC 4918, RFC 3253, RFC 5323), and those for purging caches.
const METHODS: [&str; 20] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "MKCALENDAR",
    "SEARCH",
    "QUERY",
    "PURGE",
];

/// A method that can occur in a request; methods are case-sensitive (RFC 9110 §9.1).
fn parse_method(text: &str) -> Result<ConfigValue, FindingDetails> {
    let upper = text.to_ascii_uppercase();
    let message = if !(1..=255).contains(&text.len()) || !text.bytes().all(is_token_byte) {
        "not a method".to_owned()
    } else if upper == "CONNECT" {
        "`CONNECT` is refused before a rule is asked, and no server is asked by it".to_owned()
    } else if upper != text && METHODS.contains(&upper.as_str()) {
        format!("letter case counts in methods, and no client sends `{text}`")
    } else {
        return Ok(ConfigValue::Text(Cow::Owned(text.to_owned())));
    };
    let near = METHODS.contains(&upper.as_str()).then(|| format!("\"{upper}\""));
    Err(FindingDetails::new(message)
        .with_expected(describe_format(TextFormat::Method))
        .with_suggestion(near))
}

/// A cookie that can occur in a request: `;` ends a cookie (RFC 6265 §5.4), so no name contains it.
fn parse_cookie_pattern(text: &str) -> Result<ConfigValue, FindingDetails> {
    let trouble = |message: &str| {
        FindingDetails::new(message).with_expected(describe_format(TextFormat::Cookie))
    };
    let name = text.split('=').next().unwrap_or_default();
    if name.contains(';') {
        return Err(trouble("`;` ends a cookie, so no name has one"));
    }
    match NameValuePattern::parse_pair(text) {
        Some(_) => Ok(ConfigValue::Text(Cow::Owned(text.to_owned()))),
        None => Err(trouble("not a cookie that a client can send")),
    }
}

/// The wire form of a path: invisible characters and `#` are percent-encoded (RFC 3986 §2.1).
fn percent_encode_path(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'#' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Whether the byte is valid in a token (RFC 9110 §5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Describes a table without a short form.
pub fn describe_table(table: &TableSchema) -> String {
    let keys = table.keys.iter().filter(|key| !matches!(key.kind, ValueKind::Refused(_)));
    // Three keys show the form; the reference has them all.
    let keys: Vec<String> = keys.take(3).map(|key| format!("`{}`", key.name)).collect();
    format!("a table with keys such as {}", keys.join(", "))
}

/// The table that a text `name: value` probably means: with a key of that name, or with a field to set.
pub fn suggest_table(table: &TableSchema, text: &str) -> Option<String> {
    let (name, value) = text.split_once(':')?;
    match (table.find(name), table.find("set")) {
        (Some(_), _) => Some(format!("{{ {name} = \"{}\" }}", value.trim())),
        (None, Some(_)) => Some(format!("{{ set = \"{text}\" }}")),
        (None, None) => None,
    }
}

/// Validates a header field to be written.
fn parse_header_field(text: &str) -> Result<ConfigValue, FindingDetails> {
    if is_writable_field(text) {
        return Ok(ConfigValue::Text(Cow::Owned(text.to_owned())));
    }
    let trouble = |message: String| {
        FindingDetails::new(message).with_expected(describe_format(TextFormat::Field))
    };
    let Some((name, value)) = text.split_once(':') else {
        let near = text
            .split_once('=')
            .map(|(name, value)| format!("\"{}: {}\"", name.trim(), value.trim()));
        return Err(trouble("a field has a name, `:` and a value".to_owned()).with_suggestion(near));
    };
    if name.eq_ignore_ascii_case("host") {
        let value = value.trim();
        return Err(trouble("`host` is written by us, from a key of its own".to_owned())
            .with_expected(format!("`host = \"{value}\"` beside it"))
            .with_suggestion(None));
    }
    if RESERVED_FIELDS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
        return Err(trouble(format!("`{name}` is written by us, as connection and body need it")));
    }
    if name.is_empty() || !name.bytes().all(is_token_byte) {
        return Err(trouble(format!("`{}` is not the name of a field", name.escape_debug())));
    }
    Err(trouble(
        "a name of at most 64 bytes, and a value of at most 1,024 without control characters"
            .to_owned(),
    ))
}

/// A field to be written, whose value may have variables.
fn parse_field_template(text: &str) -> Result<ConfigValue, FindingDetails> {
    let field = parse_header_field(text)?;
    check_variables(text, text.split_once(':').map(|(_, value)| value).unwrap_or_default())?;
    Ok(field)
}

/// Whether it is the beginning of a URL, or what is wrong with its variables.
fn is_location_target(text: &str) -> Result<bool, FindingDetails> {
    check_variables(text, text)?;
    Ok((1..=1_024).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()))
}

/// Whether it is a field and an expression, or what is wrong with the expression.
fn is_field_pattern(text: &str) -> Result<bool, FindingDetails> {
    match FieldPattern::parse(text) {
        Some(Ok(found)) => Ok(!found.name.is_empty() && found.name.bytes().all(is_token_byte)),
        Some(Err(error)) => Err(FindingDetails::new(error.to_string())
            .with_expected(describe_format(TextFormat::FieldPattern))),
        None => Ok(false),
    }
}

/// Whether a value has variables, or what is wrong with them. `text` is the whole setting.
fn check_variables(text: &str, value: &str) -> Result<bool, FindingDetails> {
    let error = match ValueTemplate::parse(value) {
        Ok(template) => return Ok(template.literal().is_none()),
        Err(error) => error,
    };
    let suggestion = match &error {
        ValueTemplateError::Unknown(name) => match nearest_variable(name) {
            Some(near) => text.replace(&format!("{{{name}}}"), &format!("{{{near}}}")),
            None => text.replace('{', "{{"),
        },
        ValueTemplateError::Open => text.replace('{', "{{"),
    };
    Err(FindingDetails::new(error.to_string())
        .with_expected(
            "{client}, {client-port}, {client-chain}, {scheme}, {host}, {host-name}, {port}, {sni} or \
             {header.NAME}; `{{` for a brace",
        )
        .with_suggestion(Some(format!("{suggestion:?}"))))
}

/// Fields of connections and messages, which no configuration writes.
const RESERVED_FIELDS: [&str; 4] = ["host", "connection", "content-length", "transfer-encoding"];

/// Whether a configuration may write the field, and the field contains no line end.
pub fn is_writable_field(text: &str) -> bool {
    let Some((name, value)) = text.split_once(':') else { return false };
    let plain = |b: u8| b == b'\t' || (b >= b' ' && b != 0x7f);
    (1..=64).contains(&name.len())
        && name.bytes().all(is_token_byte)
        && !RESERVED_FIELDS.iter().any(|ours| name.eq_ignore_ascii_case(ours))
        && value.len() <= 1_024
        && value.bytes().all(plain)
}

/// Labels of at most 63 bytes, 253 in total (RFC 1035 §2.3.4); underscores occur in practice.
fn is_domain(text: &str) -> bool {
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
fn is_media_type(text: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| is_token_byte(b) && b != b'*');
    let parts = text.split_once('/').filter(|_| text.len() <= 255);
    parts.is_some_and(|(kind, sub)| word(kind) && (sub == "*" || word(sub)))
}

/// At least two numbers, the first 0 to 2, the second below 40 (ITU-T X.690 §8.19).
fn is_oid(text: &str) -> bool {
    let numbers: Option<Vec<u32>> =
        text.strip_prefix('.').unwrap_or(text).split('.').map(|n| n.parse().ok()).collect();
    numbers.is_some_and(|n| (2..=64).contains(&n.len()) && n[0] <= 2 && n[1] < 40)
}
