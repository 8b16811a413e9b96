//! Removes secrets from text: keys in PEM, values after words that name secrets, passwords in URLs. It removes too much
//! rather than too little: the rest of a line goes with a secret.

/// Replaces a secret.
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
/// Keys whose values may be secrets: conditions of rules, requests of probes, bodies of responses.
const KEYS: [&str; 6] = ["header", "headers", "query", "send", "body", "expect"];
/// Delimiters of a text of several lines.
const TEXTS: [&str; 2] = ["\"\"\"", "'''"];
/// Words that stand before a secret in a value.
const SCHEMES: [&str; 3] = ["bearer ", "basic ", "digest "];
/// Characters between such a word and its `=` or `:`.
const BETWEEN: usize = 40;

/// The text without secrets, line by line.
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_pem = false;
    let mut open = 0i32;
    let mut in_text: Option<&str> = None;
    for line in text.lines() {
        if let Some(sign) = in_text {
            if line.contains(sign) {
                in_text = None;
            }
            continue;
        }
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
        match find_secret(line) {
            Some(at) => {
                let (head, rest) = line.split_at(at);
                out.push_str(&without_users(head));
                out.push_str(REMOVED);
                // A text or list that begins here goes to its end.
                in_text = TEXTS.into_iter().find(|sign| rest.matches(sign).count() % 2 == 1);
                open = depth(rest).max(0);
            }
            None => out.push_str(&without_users(line)),
        }
        out.push('\n');
    }
    out
}

/// Brackets that a line opens more than it closes; those in strings are text.
fn depth(line: &str) -> i32 {
    let mut depth = 0;
    let mut within = None;
    let mut escaped = false;
    for c in line.chars() {
        match (within, c) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(quote), c) if c == quote => within = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => within = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, _) => {}
        }
    }
    depth
}

/// Where the first secret of a line begins. ASCII case is folded, so that places stay the same.
fn find_secret(line: &str) -> Option<usize> {
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
    named.chain(schemes).chain(signed).chain(keyed_values(&lower)).min()
}

/// Where values of those keys begin: `header = `, `when.header=`, `"header": `.
fn keyed_values(line: &str) -> impl Iterator<Item = usize> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let keys = KEYS.into_iter().flat_map(move |key| line.match_indices(key));
    keys.filter_map(move |(at, key)| {
        let before = line.get(..at)?;
        let after = line.get(at + key.len()..)?;
        if before.ends_with(part) || after.starts_with(part) {
            return None;
        }
        let sign = after.trim_start_matches(['"', '\'', ' ', '\t']);
        sign.starts_with(['=', ':']).then(|| line.len() - sign.len() + 1)
    })
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
            "when = { header = \"x-key: hunter2\" }",
            "when.query = [\"a=]\", \"t=1\",\n \"k=hunter2\"]",
            "when = { not = { cookie = \"sid=hunter2\" } }",
            "probe = { tcp = true, send = \"AUTH hunter2\\r\\n\", expect = \"hunter2\" }",
            "answer = { status = 200, body = \"hunter2\" }",
            "body = \"\"\"\nhunter2\nhunter2\n\"\"\"\n",
            "\"body\" = '''a\n[hunter2\n'''",
            "\"headers\": [\n \"x: hunter2\"\n]",
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
        let text = "header-timeout = \"10s\"\nsend-buffer = 1\nthe query is 3 ms\nbodies: 3\n";
        assert_eq!(redact(text), text);
        let after = "body = \"\"\"\nx\n\"\"\"\nstays = 1\nheaders = [\"[\"]\nstays = 2\n";
        assert_eq!(redact(after), "body =(removed)\nstays = 1\nheaders =(removed)\nstays = 2\n");
        assert_eq!(redact("a\ntoken = \"x\"\nb"), "a\ntoken =(removed)\nb\n");
    }
}
