//! Takes secrets out of text: keys in PEM, values behind words that name secrets, passwords in URLs. It rather takes
//! too much: the rest of a line goes with a secret.

/// What stands in the place of a secret.
pub const REMOVED: &str = "(removed)";

/// Words behind which a value is a secret.
const WORDS: [&str; 12] = [
    "authorization",
    "cookie",
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "api-key",
    "apikey",
    "api_key",
    "credential",
    "private-key",
];
/// Words that stand before a secret in a value.
const SCHEMES: [&str; 3] = ["bearer ", "basic ", "digest "];
/// Characters between such a word and its `=` or `:`.
const BETWEEN: usize = 40;

/// The text without secrets, line by line.
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_pem, mut open) = (false, 0i32);
    for line in text.lines() {
        if in_pem {
            in_pem = !line.contains("-----END ");
            continue;
        }
        if open > 0 {
            open += depth(line);
            continue;
        }
        if let Some(at) = line.find("-----BEGIN ") {
            in_pem = !line.contains("-----END ");
            out.push_str(line.get(..at).unwrap_or_default());
            out.push_str(REMOVED);
            out.push('\n');
            continue;
        }
        match secret(line) {
            Some(at) => {
                let (kept, rest) = line.split_at(at);
                out.push_str(&without_users(kept));
                out.push_str(REMOVED);
                // A list that begins here goes to its end.
                open = depth(rest).max(0);
            }
            None => out.push_str(&without_users(line)),
        }
        out.push('\n');
    }
    out
}

/// Brackets that a line opens more than it closes.
fn depth(line: &str) -> i32 {
    line.chars().fold(0, |depth, c| match c {
        '[' | '{' => depth + 1,
        ']' | '}' => depth - 1,
        _ => depth,
    })
}

/// Where the first secret of a line begins. ASCII case is folded, so that places stay the same.
fn secret(line: &str) -> Option<usize> {
    let lower = line.to_ascii_lowercase();
    let named = WORDS
        .iter()
        .flat_map(|word| lower.match_indices(word).map(|(at, word)| at + word.len()))
        .filter_map(|end| {
            let between = lower[end..].char_indices().take(BETWEEN);
            let sign =
                between.take_while(|(_, c)| *c != '\n').find(|(_, c)| matches!(c, '=' | ':'))?;
            Some(end + sign.0 + 1)
        });
    let schemes =
        SCHEMES.iter().flat_map(|word| lower.match_indices(word).map(|(at, word)| at + word.len()));
    let signed =
        lower.match_indices("eyj").map(|(at, _)| at).filter(|at| line[*at..].starts_with("eyJ"));
    named.chain(schemes).chain(signed).min()
}

/// `https://user:password@host` without user and password.
fn without_users(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end =
            after.find(|c: char| c.is_whitespace() || "/\"'<>,".contains(c)).unwrap_or(after.len());
        rest = after;
        if let Some(user) = after[..end].rfind('@') {
            out.push_str(REMOVED);
            rest = &after[user..];
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_wherever_they_stand() {
        for text in [
            "add = \"Authorization: Bearer hunter2\"",
            "headers = [\n  \"x-api-key: hunter2\",\n]",
            "\"cookie\": [\n  \"a=hunter2\",\n  \"hunter2\"\n],",
            "\"set-cookie\": \"sid=hunter2; Path=/\"",
            "token=hunter2",
            "PASSWORD : 'hunter2'",
            "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
            "x -----BEGIN RSA PRIVATE KEY----- hunter2 -----END RSA PRIVATE KEY-----",
            "url = \"https://me:hunter2@host/x\"",
            "GET /x?token=hunter2&y=1",
            "send = \"basic hunter2\"",
            "t = \"eyJhunter2\"",
            "to = \"https://me:hunter2@host/?token=x\"",
            "secret = { a = \"hunter2\",\n b = \"hunter2\" }",
        ] {
            let clean = redact(text);
            assert!(!clean.contains("hunter2"), "{text}: {clean}");
            assert!(clean.contains(REMOVED), "{text}: {clean}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        let text = "[service.shop]\nlisten = \"127.0.0.1:80\"\npool = \"web\" # ä\n\"state\": \"up\",\nurl http://host/x\n";
        assert_eq!(redact(text), text);
        assert_eq!(redact("a\ntoken = \"x\"\nb"), "a\ntoken =(removed)\nb\n");
    }
}
