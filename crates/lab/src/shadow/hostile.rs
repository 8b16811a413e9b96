//! Fields and spellings of paths that attackers use against rules and against what balancers tell servers.
//!
//! Tables of constants; `corpus` applies them.

use super::observation::SeenField;

/// A field of a table.
#[derive(Clone, Copy, Debug)]
pub struct ForgedField {
    pub name: &'static str,
    pub value: &'static str,
}

/// Fields that a client sends together, and why.
#[derive(Clone, Copy, Debug)]
pub struct ForgedFields {
    pub purpose: &'static str,
    pub fields: &'static [ForgedField],
}

const fn forged(name: &'static str, value: &'static str) -> ForgedField {
    ForgedField { name, value }
}

const fn one(purpose: &'static str, fields: &'static [ForgedField]) -> ForgedFields {
    ForgedFields { purpose, fields }
}

pub const FORGED: [ForgedFields; 20] = [
    one("forged X-Forwarded-For", &[forged("X-Forwarded-For", "203.0.113.99")]),
    one(
        "forged X-Forwarded-For twice",
        &[forged("X-Forwarded-For", "203.0.113.99"), forged("X-Forwarded-For", "10.0.0.1, ::1")],
    ),
    one("forged X-Forwarded-Proto", &[forged("X-Forwarded-Proto", "https")]),
    one(
        "forged X-Forwarded-Host and -Port",
        &[forged("X-Forwarded-Host", "evil.example"), forged("X-Forwarded-Port", "1")],
    ),
    one("forged Forwarded", &[forged("Forwarded", "for=203.0.113.99;proto=https")]),
    one("forged X-Real-IP", &[forged("X-Real-IP", "203.0.113.99")]),
    one(
        "forged certificate fields",
        &[
            forged("X-SSL-Client-Verify", "SUCCESS"),
            forged("X-Client-Cert-Verified", "yes"),
            forged("X-SSL-Client-CN", "admin"),
        ],
    ),
    one("look-alike of X-Forwarded-For", &[forged("X_Forwarded_For", "203.0.113.99")]),
    one("name with an underscore", &[forged("X_Under_Score", "1")]),
    one("name with a dot", &[forged("X.Y", "1")]),
    one("field twice", &[forged("X-Twice", "a"), forged("X-Twice", "b")]),
    one("empty field", &[forged("X-Empty", "")]),
    one("two cookies", &[forged("Cookie", "a=1; b=2"), forged("Cookie", "c=3")]),
    one("compressed", &[forged("Accept-Encoding", "gzip, br")]),
    one(
        "WebSocket",
        &[
            forged("Connection", "Upgrade"),
            forged("Upgrade", "websocket"),
            forged("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            forged("Sec-WebSocket-Version", "13"),
        ],
    ),
    one(
        "Upgrade in other letters",
        &[
            forged("Connection", "keep-alive, upGrade"),
            forged("Upgrade", "WebSocket"),
            forged("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            forged("Sec-WebSocket-Version", "13"),
        ],
    ),
    one(
        "Connection names a field",
        &[forged("Connection", "close, X-Forwarded-For"), forged("X-Forwarded-For", "192.0.2.1")],
    ),
    one("user agents", &[forged("User-Agent", "a Mobile bot curl")]),
    one("range", &[forged("Range", "bytes=0-9"), forged("If-None-Match", "\"x\"")]),
    one(
        "authorization",
        &[forged("Authorization", "Basic YTpi"), forged("Referer", "http://shop.example/a?b")],
    ),
];

/// How a path is spelt otherwise.
#[derive(Clone, Copy, Debug)]
pub struct PathSpelling {
    pub purpose: &'static str,
    form: SpellingForm,
}

#[derive(Clone, Copy, Debug)]
enum SpellingForm {
    /// The text before the path.
    Before(&'static str),
    /// The text after the path.
    After(&'static str),
    /// The second character as `%XX`.
    Escaped,
    /// The last slash as `%2F`, or one after the path.
    EscapedSlash,
    UpperCase,
}

const fn spelt(purpose: &'static str, form: SpellingForm) -> PathSpelling {
    PathSpelling { purpose, form }
}

pub const SPELLINGS: [PathSpelling; 9] = [
    spelt("two slashes", SpellingForm::Before("/")),
    spelt("a dot segment", SpellingForm::Before("/.")),
    spelt("up and down again", SpellingForm::Before("/open/..")),
    spelt("encoded dot segments", SpellingForm::Before("/open/%2e%2e")),
    spelt("a letter encoded", SpellingForm::Escaped),
    spelt("a slash encoded", SpellingForm::EscapedSlash),
    spelt("upper case", SpellingForm::UpperCase),
    spelt("a parameter of the path", SpellingForm::After(";v=1")),
    spelt("a null byte", SpellingForm::After("%00")),
];

impl PathSpelling {
    pub fn apply(&self, path: &str) -> String {
        match self.form {
            SpellingForm::Before(text) => format!("{text}{path}"),
            SpellingForm::After(text) => format!("{path}{text}"),
            SpellingForm::UpperCase => path.to_uppercase(),
            SpellingForm::Escaped => match path.as_bytes().get(1) {
                Some(byte) if byte.is_ascii() => format!("/%{byte:02x}{}", &path[2..]),
                _ => path.to_owned(),
            },
            SpellingForm::EscapedSlash => match path.trim_end_matches('/').rfind('/') {
                Some(at) if at > 0 => format!("{}%2F{}", &path[..at], &path[at + 1..]),
                _ => format!("{path}%2Fx"),
            },
        }
    }
}

/// Whether a target is spelt in a way that servers may read differently.
pub fn is_ambiguous(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or("").to_ascii_lowercase();
    ["//", "/.", "%2f", "%2e", "%00", ";", "%5c"].iter().any(|one| path.contains(one))
}

/// Whether a letter, a digit or another plain character of a path is written as `%XX`.
pub fn is_encoded_needlessly(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or("");
    let byte = |rest: &str| rest.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    path.split('%').skip(1).any(|rest| byte(rest).is_some_and(plain))
}

/// The target with such characters of its path as themselves (RFC 3986 section 6.2.2.2).
pub fn decode_unreserved(target: &str) -> String {
    let end = target.find('?').unwrap_or(target.len());
    let mut parts = target[..end].split('%');
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte.filter(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte)) {
            Some(byte) => {
                out.push(char::from(byte));
                out.push_str(&part[2..]);
            }
            None => out.push_str(&format!("%{part}")),
        }
    }
    out + &target[end..]
}

pub fn field(name: &str, value: &str) -> SeenField {
    SeenField { name: name.to_owned(), value: value.to_owned() }
}

pub fn fields(forged: &[ForgedField]) -> Vec<SeenField> {
    forged.iter().map(|one| field(one.name, one.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_change_the_text_of_a_path() {
        let all: Vec<String> = SPELLINGS.iter().map(|one| one.apply("/admin/x")).collect();
        let expected = [
            "//admin/x",
            "/./admin/x",
            "/open/../admin/x",
            "/open/%2e%2e/admin/x",
            "/%61dmin/x",
            "/admin%2Fx",
            "/ADMIN/X",
            "/admin/x;v=1",
            "/admin/x%00",
        ];
        assert_eq!(all, expected);
        assert_eq!(decode_unreserved("/%61dm%2Fin%?%61"), "/adm%2Fin%?%61");
        assert!(is_encoded_needlessly("/%61dmin") && !is_encoded_needlessly("/a%20b?%61"));
        assert!(is_ambiguous("/admin%2Fx") && !is_ambiguous("/admin/x?a=//"));
    }
}
