//! Conditions after `if` and `unless`: named criteria, anonymous ones, and how they are joined.

use std::collections::HashMap;

use crate::condition::Cond;
use crate::notes::{Notes, Why};

use super::fetch::{criterion, ignores_case};
use super::lex::Line;
use super::pools::Pools;

/// Criteria by name; several of one name are alternatives.
#[derive(Debug, Default)]
pub struct Acls(HashMap<String, Vec<Result<Cond, Why>>>);

/// Says where the case of a value cannot be left out of account.
pub fn tell_case(line: &Line, notes: &mut Notes) {
    if ignores_case(&line.words) {
        let reason = "values of fields are compared with their case: in the ways in which this one is usually written";
        let instead = "further spellings in the rule's `when`";
        notes.changed(line.number, &line.text(), reason, instead);
    }
}

impl Acls {
    /// Reads `acl NAME …` lines.
    pub fn read(lines: &[Line], pools: &Pools, notes: &mut Notes) -> Acls {
        let mut out = Acls::default();
        for line in lines {
            tell_case(line, notes);
            let cond = criterion(line.rest(2), pools);
            out.0.entry(line.word(1).to_owned()).or_default().push(cond);
        }
        out
    }

    /// What stands after the action: `if …`, `unless …` or nothing.
    pub fn condition(&self, words: &[String], pools: &Pools) -> Result<Cond, Why> {
        match words.first().map(String::as_str) {
            None => Ok(Cond::Is(true)),
            Some("if") => self.joined(&words[1..], pools),
            Some("unless") => Ok(self.joined(&words[1..], pools)?.negated()),
            Some(other) => Err(Why::new(format!("`{other}` is not known here"), "")),
        }
    }

    fn joined(&self, words: &[String], pools: &Pools) -> Result<Cond, Why> {
        let mut any = Vec::new();
        let mut all = Vec::new();
        let mut negated = false;
        let mut at = 0;
        while let Some(word) = words.get(at).map(String::as_str) {
            at += 1;
            match word {
                "or" | "||" => any.push(Cond::All(std::mem::take(&mut all))),
                "!" => negated = !negated,
                _ => {
                    let bare = word.trim_start_matches('!');
                    negated ^= (word.len() - bare.len()) % 2 == 1;
                    let cond = if bare == "{" {
                        let end = words[at..].iter().position(|word| word == "}");
                        let end = at + end.ok_or_else(|| Why::new("a brace is not closed", ""))?;
                        let inner = criterion(&words[at..end], pools)?;
                        at = end + 1;
                        inner
                    } else {
                        self.named(bare)?
                    };
                    all.push(if negated { cond.negated() } else { cond });
                    negated = false;
                }
            }
        }
        if all.is_empty() && any.is_empty() {
            return Err(Why::new("the condition is empty", ""));
        }
        any.push(Cond::All(all));
        Ok(Cond::Any(any))
    }

    fn named(&self, name: &str) -> Result<Cond, Why> {
        if let Some(alternatives) = self.0.get(name) {
            let conds: Result<Vec<Cond>, Why> = alternatives.iter().cloned().collect();
            return conds
                .map(Cond::Any)
                .map_err(|why| Why::new(format!("`{name}`: {}", why.reason), why.instead));
        }
        match name {
            "TRUE" => Ok(Cond::Is(true)),
            "FALSE" => Ok(Cond::Is(false)),
            "LOCALHOST" => Ok(Cond::texts("client", &["127.0.0.1/8", "::1"])),
            "METH_GET" => Ok(Cond::texts("method", &["GET", "HEAD"])),
            "HTTP" | "HTTP_1.1" => Err(Why::new("versions of the protocol are not told apart", "")),
            _ => match name.strip_prefix("METH_") {
                Some(method) => Ok(Cond::texts("method", &[method])),
                None => Err(Why::new(format!("there is no criterion `{name}`"), "")),
            },
        }
    }
}
