//! Reads the tables of cases; their form is described at the top of `http1.txt`. It sends nothing.

use fuzz::corpus::unescape;

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What must happen, in the order of the requests.
    pub expect: Vec<Expect>,
    /// What follows `>>>`, as written.
    pub text: String,
}

/// What must become of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// It reaches a server whole.
    Passed(Passed),
    /// Its head may reach a server, never the whole; with the defect where a rule was broken.
    Cut(String, String, Option<String>),
    /// It reaches no server, for this defect.
    Refused(String),
}

/// A request that reaches a server whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its method.
    pub method: String,
    /// Its target.
    pub target: String,
    /// Bytes of its body.
    pub bytes: u64,
    /// The server may decline it.
    pub odd: bool,
    /// It may also be cut.
    pub either: bool,
    /// Nothing after it is read.
    pub last: bool,
}

impl Passed {
    /// A GET without a body.
    pub fn get(target: String) -> Passed {
        Passed {
            method: "GET".to_owned(),
            target,
            bytes: 0,
            odd: false,
            either: false,
            last: false,
        }
    }
}

impl Expect {
    /// Whether the connection ends with it.
    pub fn ends(&self) -> bool {
        match self {
            Expect::Passed(passed) => passed.last,
            Expect::Cut(..) | Expect::Refused(_) => true,
        }
    }
}

impl Case {
    /// The target of the request that follows on the same connection.
    pub fn same(&self) -> String {
        format!("/{}/marker-same", self.name)
    }

    /// The target of the request that follows on another connection.
    pub fn fresh(&self) -> String {
        format!("/{}/marker-fresh", self.name)
    }

    /// The bytes to send, line ends of the file left out.
    pub fn bytes(&self) -> Vec<u8> {
        unescape(&self.text)
    }
}

/// The cases of a table.
pub fn read(table: &str) -> Vec<Case> {
    let cases = table.split("\n== ").skip(1);
    cases.map(case).collect()
}

fn case(text: &str) -> Case {
    let (title, rest) = text.split_once('\n').unwrap();
    let (name, _) = title.split_once(": ").unwrap_or_else(|| panic!("no intent: {title}"));
    let rest = rest.replace("CASE", name);
    let (outcomes, sent) = rest.split_once(">>>\n").unwrap_or_else(|| panic!("{name}: no >>>"));
    let expect = outcomes.lines().map(|line| expect(name, line)).collect();
    Case { name: name.to_owned(), expect, text: sent.trim_end_matches('\n').to_owned() }
}

fn expect(name: &str, line: &str) -> Expect {
    let words: Vec<&str> = line.split(' ').collect();
    let passed = |odd, either, last| {
        let [_, method, target, bytes] = words[..] else { panic!("{name}: {line}") };
        let (method, target) = (method.to_owned(), target.to_owned());
        let bytes = bytes.parse().unwrap();
        Expect::Passed(Passed { method, target, bytes, odd, either, last })
    };
    match words[..] {
        ["passed", ..] => passed(false, false, false),
        ["odd", ..] => passed(true, false, false),
        ["either", ..] => passed(true, true, false),
        ["closed", ..] => passed(false, false, true),
        ["cut", method, target] => Expect::Cut(method.to_owned(), target.to_owned(), None),
        ["cut-refused", method, target, defect] => {
            Expect::Cut(method.to_owned(), target.to_owned(), Some(defect.to_owned()))
        }
        ["refused", defect] => Expect::Refused(defect.to_owned()),
        _ => panic!("{name}: {line}"),
    }
}
