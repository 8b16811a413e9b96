//! Reads the tables of cases; the top of `http1.txt` describes their format. This module sends nothing.

use fuzz::corpus::unescape;

#[derive(Clone, Debug)]
pub struct SmugglingCase {
    pub name: String,
    /// The expected results, in the order of the requests.
    pub expect: Vec<ExpectedOutcome>,
    /// The text after `>>>`, unchanged.
    pub text: String,
}

/// The expected result of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedOutcome {
    /// The request reaches a server completely.
    Forwarded(ForwardedRequest),
    /// The head may reach a server, but never the whole request. The defect is named if a rule was broken.
    Truncated(String, String, Option<String>),
    /// The request reaches no server, because of this defect.
    Refused(String),
}

/// A request that reaches a server completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardedRequest {
    pub method: String,
    pub target: String,
    /// Bytes of the body.
    pub bytes: u64,
    /// The server may decline it.
    pub nonstandard: bool,
    /// The request may also be truncated.
    pub optional: bool,
    /// No bytes after this request are read.
    pub last: bool,
}

impl ForwardedRequest {
    /// A GET without a body.
    pub fn get(target: String) -> ForwardedRequest {
        ForwardedRequest {
            method: "GET".to_owned(),
            target,
            bytes: 0,
            nonstandard: false,
            optional: false,
            last: false,
        }
    }
}

impl ExpectedOutcome {
    /// Whether the connection ends after the request.
    pub fn ends(&self) -> bool {
        match self {
            ExpectedOutcome::Forwarded(passed) => passed.last,
            ExpectedOutcome::Truncated(..) | ExpectedOutcome::Refused(_) => true,
        }
    }
}

impl SmugglingCase {
    /// The target of the following request on the same connection.
    pub fn same(&self) -> String {
        format!("/{}/marker-same", self.name)
    }

    /// The target of the following request on another connection.
    pub fn fresh(&self) -> String {
        format!("/{}/marker-fresh", self.name)
    }

    /// The bytes to send, without the file's line ends.
    pub fn bytes(&self) -> Vec<u8> {
        unescape(&self.text)
    }
}

/// The cases of a table.
pub fn read(table: &str) -> Vec<SmugglingCase> {
    let cases = table.split("\n== ").skip(1);
    cases.map(case).collect()
}

fn case(text: &str) -> SmugglingCase {
    let (title, rest) = text.split_once('\n').unwrap();
    let (name, _) = title.split_once(": ").unwrap_or_else(|| panic!("no intent: {title}"));
    let rest = rest.replace("CASE", name);
    let (outcomes, sent) = rest.split_once(">>>\n").unwrap_or_else(|| panic!("{name}: no >>>"));
    let expect = outcomes.lines().map(|line| expect(name, line)).collect();
    SmugglingCase { name: name.to_owned(), expect, text: sent.trim_end_matches('\n').to_owned() }
}

fn expect(name: &str, line: &str) -> ExpectedOutcome {
    let words: Vec<&str> = line.split(' ').collect();
    let passed = |odd, either, last| {
        let [_, method, target, bytes] = words[..] else { panic!("{name}: {line}") };
        let method = method.to_owned();
        let target = target.to_owned();
        let bytes = bytes.parse().unwrap();
        ExpectedOutcome::Forwarded(ForwardedRequest {
            method,
            target,
            bytes,
            nonstandard: odd,
            optional: either,
            last,
        })
    };
    match words[..] {
        ["passed", ..] => passed(false, false, false),
        ["odd", ..] => passed(true, false, false),
        ["either", ..] => passed(true, true, false),
        ["closed", ..] => passed(false, false, true),
        ["cut", method, target] => {
            ExpectedOutcome::Truncated(method.to_owned(), target.to_owned(), None)
        }
        ["cut-refused", method, target, defect] => ExpectedOutcome::Truncated(
            method.to_owned(),
            target.to_owned(),
            Some(defect.to_owned()),
        ),
        ["refused", defect] => ExpectedOutcome::Refused(defect.to_owned()),
        _ => panic!("{name}: {line}"),
    }
}
