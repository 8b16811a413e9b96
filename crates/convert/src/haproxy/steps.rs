//! What HAProxy does with a request before it chooses a backend, as rules: refusals, redirects, fixed answers,
//! fields that are set on every request.

use crate::condition::Cond;
use crate::notes::{Notes, Why};
use crate::value;

use super::acl::{self, Acls};
use super::known;
use super::lex::Line;
use super::pools::Pools;

const AUTH: &str = "requests are not authenticated; so that nothing is open that was closed, a rule refuses what this protected";

/// A rule that ends there.
#[derive(Clone, Debug)]
pub struct Ending {
    /// When.
    pub when: Cond,
    /// `deny`, `redirect` or `answer`.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// Where it stood.
    pub line: u32,
    /// What stood there.
    pub text: String,
}

/// Fields that are changed on everything.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    set: Vec<String>,
    add: Vec<String>,
    remove: Vec<String>,
    answer_set: Vec<String>,
    answer_remove: Vec<String>,
}

impl Fields {
    /// As `rewrite` writes them, after those of `before`; `None`: nothing is changed.
    pub fn written(&self, before: &Fields) -> Option<String> {
        let both = |a: &[String], b: &[String]| [a, b].concat();
        let pairs: Vec<(&str, String)> = [
            ("set", both(&before.set, &self.set)),
            ("add", both(&before.add, &self.add)),
            ("remove", both(&before.remove, &self.remove)),
            ("answer-set", both(&before.answer_set, &self.answer_set)),
            ("answer-remove", both(&before.answer_remove, &self.answer_remove)),
        ]
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(key, list)| (key, value::texts(&list)))
        .collect();
        (!pairs.is_empty()).then(|| value::table(&pairs))
    }
}

/// What all steps of a proxy come to.
#[derive(Debug, Default)]
pub struct Steps {
    /// In the order in which HAProxy looks at them.
    pub endings: Vec<Ending>,
    /// On everything.
    pub fields: Fields,
    passed: Vec<Cond>,
}

/// Reads them. `http`: requests are seen.
pub fn read(lines: &[Line], http: bool, acls: &Acls, pools: &Pools, notes: &mut Notes) -> Steps {
    let mut out = Steps::default();
    // Whatever their order in the file: connections before requests, redirects last.
    for wanted in ["tcp-request", "block", "http-request", "redirect", "http-response"] {
        for line in lines.iter().filter(|line| line.word(0) == wanted) {
            if wanted.starts_with("http") && !http {
                notes.needless(
                    line.number,
                    &line.text(),
                    "this proxy forwards bytes and sees no requests",
                );
                continue;
            }
            if let Err(why) = out.line(line, acls, pools, notes) {
                notes.why(line.number, &line.text(), &why);
            }
        }
        out.passed.clear();
    }
    out
}

impl Steps {
    fn line(
        &mut self,
        line: &Line,
        acls: &Acls,
        pools: &Pools,
        notes: &mut Notes,
    ) -> Result<(), Why> {
        let from = match (line.word(0), line.word(1)) {
            ("tcp-request", "connection" | "content" | "session") => 2,
            ("redirect" | "block", _) => 0,
            _ => 1,
        };
        acl::tell_case(line, notes);
        let words = line.rest(from);
        let split =
            words.iter().position(|word| word == "if" || word == "unless").unwrap_or(words.len());
        let (action, condition) = words.split_at(split);
        let when = || acls.condition(condition, pools);
        let first = action.first().map_or("", String::as_str);
        match (line.word(0), first) {
            ("tcp-request", "reject") | ("http-request", "deny" | "reject") | ("block", _) => {
                let (key, value) = refusal(action, line.word(0) == "http-request");
                self.end(when()?, key, value, line);
            }
            ("tcp-request" | "http-request", "accept" | "allow") => self.passed.push(when()?),
            ("redirect", _) | ("http-request", "redirect") => {
                let value = redirect(&action[1..])?;
                self.end(when()?, "redirect", value, line);
            }
            ("http-request", "auth") => {
                let (when, reason) = (when()?, AUTH);
                let instead = "authenticate at the servers or with `tls.client`, then take the rule with `deny` out";
                notes.left(line.number, &line.text(), reason, instead);
                self.end(when, "deny", "true".to_owned(), line);
            }
            ("http-request", "return") => {
                let value = answer(&action[1..])?;
                self.end(when()?, "answer", value, line);
            }
            ("http-request" | "http-response", "set-header" | "add-header" | "del-header") => {
                self.field(line, action, when()?, notes)?;
            }
            (word, _) => known::tell(word, line, notes),
        }
        Ok(())
    }

    fn end(&mut self, when: Cond, key: &'static str, value: String, line: &Line) {
        // What was let through before is not looked at any more.
        let mut all = vec![when];
        all.extend(self.passed.iter().cloned().map(Cond::negated));
        self.endings.push(Ending {
            when: Cond::All(all),
            key,
            value,
            line: line.number,
            text: line.text(),
        });
    }

    fn field(
        &mut self,
        line: &Line,
        action: &[String],
        when: Cond,
        notes: &mut Notes,
    ) -> Result<(), Why> {
        let word = |at: usize| action.get(at).map_or("", String::as_str);
        let (name, text) = (word(1), action.get(2..).unwrap_or(&[]).join(" "));
        let lower = name.to_ascii_lowercase();
        if matches!(lower.as_str(), "x-forwarded-for" | "x-forwarded-proto") && text.contains("%[")
            || lower == "x-forwarded-proto"
        {
            notes.changed(
                line.number,
                &line.text(),
                "`forwarded` writes it, with what the client really used",
                "`forwarded = { x-forwarded = \"append\" }`",
            );
            return Ok(());
        }
        if when.settled(false) != Cond::Is(true) {
            return Err(Why::new(
                "fields are changed by the rule that chooses the pool",
                "`rewrite` in that rule",
            ));
        }
        if text.contains('%') {
            return Err(Why::new(
                "a field's value cannot be made of variables",
                "`forwarded`, or `rewrite.set` with a fixed value",
            ));
        }
        let field = format!("{name}: {text}");
        let fields = &mut self.fields;
        match (line.word(0), word(0)) {
            ("http-request", "set-header") => fields.set.push(field),
            ("http-request", "add-header") => fields.add.push(field),
            ("http-request", _) => fields.remove.push(name.to_owned()),
            (_, "set-header") => fields.answer_set.push(field),
            (_, "del-header") => fields.answer_remove.push(name.to_owned()),
            _ => {
                notes.changed(
                    line.number,
                    &line.text(),
                    "the field takes the place of one of the same name",
                    "",
                );
                fields.answer_set.push(field);
            }
        }
        Ok(())
    }
}

fn refusal(action: &[String], request: bool) -> (&'static str, String) {
    let at = action.iter().position(|word| word == "deny_status" || word == "status");
    match at.and_then(|at| action.get(at + 1)).filter(|_| request) {
        Some(status) if status != "403" => ("answer", status.clone()),
        _ => ("deny", "true".to_owned()),
    }
}

fn redirect(words: &[String]) -> Result<String, Why> {
    let (mut to, mut status, mut query) = (None, "302".to_owned(), "{query}");
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "scheme" | "location" | "prefix" => to = Some((word, words.next().unwrap_or_default())),
            "code" => words.next().unwrap_or_default().clone_into(&mut status),
            "drop-query" => query = "",
            "append-slash" | "set-cookie" | "clear-cookie" | "ignore-empty" => {
                return Err(Why::new(format!("a redirect has no `{word}`"), ""));
            }
            _ => return Err(Why::new(format!("`{word}` is not known in a redirect"), "")),
        }
    }
    let (kind, target) = to.ok_or_else(|| Why::new("it does not say where to", ""))?;
    if target.contains('%') || target.contains(['{', '}']) {
        return Err(Why::new(
            "where to depends on variables",
            "`redirect.to` with {host}, {path}, {query}",
        ));
    }
    let to = match kind {
        "scheme" => format!("{target}://{{host}}{{path}}{query}"),
        "prefix" => format!("{}{{path}}{query}", if target == "/" { "" } else { target }),
        _ => target.to_owned(),
    };
    Ok(value::table(&[("to", value::text(&to)), ("status", status)]))
}

fn answer(words: &[String]) -> Result<String, Why> {
    let (mut status, mut kind, mut body, mut fields) = ("200", None, None, Vec::new());
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        match word {
            "status" => status = next(),
            "content-type" => kind = Some(next()),
            "string" => body = Some(next()),
            "lf-string" => body = Some(next()).filter(|text| !text.contains('%')),
            "hdr" => {
                let name = next().to_owned();
                fields.push(format!("{name}: {}", next()));
            }
            _ => {
                return Err(Why::new(
                    format!("an answer has no `{word}`"),
                    "`answer` with a body of at most 4,096 bytes",
                ));
            }
        }
    }
    let mut pairs = vec![("status", status.to_owned())];
    pairs.extend(kind.map(|kind| ("type", value::text(kind))));
    pairs.extend(body.map(|body| ("body", value::text(body))));
    if !fields.is_empty() {
        pairs.push(("headers", value::texts(&fields)));
    }
    Ok(value::table(&pairs))
}
