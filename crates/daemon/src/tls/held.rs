//! One certificate in force with the file that it came from, and what a change of that file makes of it.
//!
//! It looks after no service: `vault` does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use l7::tls::identity::Identity;

use super::files::{self, Pair};
use super::told::{Told, day, moment};

/// A certificate in force.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub file: PathBuf,
    pub identity: Arc<Identity>,
    pub since: SystemTime,
    pub trouble: Option<String>,
}

impl Kept {
    /// What is told of it.
    pub(super) fn told(&self) -> Told {
        let facts = &self.identity.facts;
        Told {
            file: self.file.clone(),
            names: facts.names.clone(),
            kind: facts.kind,
            not_after: moment(facts.not_after),
            span: moment(facts.not_after)
                .duration_since(moment(facts.not_before))
                .unwrap_or_default(),
            stapled: facts.stapled,
            since: self.since,
            trouble: self.trouble.clone(),
        }
    }
}

/// A file's certificate, if it may take the place of the one before.
pub(super) fn taken(file: &Path, old: Option<&Kept>, now: SystemTime) -> Result<Kept, String> {
    let Pair { identity } = files::pair(file).map_err(|why| why.to_string())?;
    let over = |identity: &Identity| moment(identity.facts.not_after) <= now;
    if over(&identity) && old.is_some_and(|old| !over(&old.identity)) {
        return Err(format!(
            "{}: its new certificate has expired, the one in force has not",
            file.display()
        ));
    }
    match old {
        Some(old) if old.identity.same(&identity) => Ok(Kept { trouble: None, ..old.clone() }),
        _ => Ok(Kept {
            file: file.to_owned(),
            identity: Arc::new(identity),
            since: now,
            trouble: None,
        }),
    }
}

/// What is new about a certificate, as a sentence; `None`: nothing.
pub(super) fn difference(old: Option<&Kept>, new: &Kept) -> Option<String> {
    let (file, facts) = (new.file.display(), &new.identity.facts);
    let until = day(facts.not_after);
    let names = |names: &[String]| names.join(", ");
    let Some(old) = old else {
        return Some(format!("{file} is new: {}, good until {until}", names(&facts.names)));
    };
    if Arc::ptr_eq(&old.identity, &new.identity) {
        return None;
    }
    let before = &old.identity.facts.names;
    let only = |these: &[String], those: &[String]| {
        let only = these.iter().filter(|name| !those.contains(name)).cloned();
        names(&only.collect::<Vec<_>>())
    };
    let mut sentence = format!("{file} was renewed for {}", names(&facts.names));
    for (word, which) in [("new", only(&facts.names, before)), ("gone", only(before, &facts.names))]
    {
        if !which.is_empty() {
            sentence.push_str(&format!("; {word}: {which}"));
        }
    }
    sentence.push_str(&format!("; good until {until}"));
    Some(sentence)
}
