//! Orders about servers, carried out: what operators say, what they add and remove. Each is recorded.
//!
//! What a word comes to is `reconcile::server`'s; how a file is edited is `model::config::edit`'s.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::config::edit::{Edit, edit, name_from, server_address};
use model::config::{Admin, Weight, WriteBack};
use model::id::ServerId;

use super::actor::Actor;
use super::order::Change;
use super::origin::Origin;
use super::picture::ServerFacts;
use super::record::words;
use super::word::{Operate, Operated, SaveError, ServerWord, SetServerError};
use crate::audit::Reversal;
use crate::keep;
use crate::reconcile::overlay::{Added, Manual, Removed, SERVERS};
use crate::reconcile::server::{self, address_text, summary};

/// How long a quiesce may be, and how far ahead a window may lie.
const FAR: Duration = Duration::from_secs(366 * 86_400);
/// Characters of a reason.
const REASON: usize = 200;
/// Bytes of a file that orders are written back to.
const FILE_BYTES: u64 = 16 << 20;

/// A text to write back, and where.
struct Written {
    file: PathBuf,
    text: String,
}

impl Actor {
    /// Carries out an order about a server.
    pub(super) async fn operate(&mut self, order: Operate) -> Result<Operated, SetServerError> {
        if self.handing {
            return Err(SetServerError::HandingOver);
        }
        sane(&order.word, SystemTime::now()).map_err(SetServerError::Wrong)?;
        if order.save == Some(true) && !order.word.in_file() {
            return Err(SaveError::NoWord(order.word.name()).into());
        }
        let failures = self.failures();
        let done = match &order.word {
            ServerWord::Add { address, weight } => {
                let (address, weight) = (address.clone(), *weight);
                self.add(order, &address, weight).await
            }
            ServerWord::Remove => self.remove(order).await,
            _ => self.tell(order).await,
        }?;
        Ok(Operated { unkept: self.unkept(failures), ..done })
    }

    /// A word about a server that is there.
    async fn tell(&mut self, order: Operate) -> Result<Operated, SetServerError> {
        let Operate { pool, name, word, save, origin } = order;
        let id = self.find(&pool, &name)?;
        let edit = match &word {
            ServerWord::Enable => Some(Edit::State(Admin::Enabled)),
            ServerWord::Drain => Some(Edit::State(Admin::Drain)),
            ServerWord::Disable => Some(Edit::State(Admin::Disabled)),
            ServerWord::Weight(weight) => Some(Edit::Weight(weight.get())),
            _ => None,
        };
        let written = match edit.filter(|_| self.saves(save)) {
            Some(edit) => Some(self.edited(&pool, &name, &edit)?),
            None => None,
        };
        let old = self.facts(id, &pool, &name)?;
        let before = self.book.clone();
        let (said, by, now) = (word.clone(), origin.clone(), SystemTime::now());
        self.server(id, |facts| server::told(facts, said, by, now));
        self.show(&before);
        if word == ServerWord::Cut
            && let Some(entry) = self.book.servers.get(&id)
        {
            entry.live.cuts.up();
            self.engine.cut(id);
        }
        self.keep_words();
        self.events.info("server-set", format!("{pool}/{name}: {word} by {origin}"));
        let new = self.facts(id, &pool, &name)?;
        let mut reversal = words(&old, &new);
        let generation = self.force.generation;
        let saved = match written {
            Some(written) => Some(self.write_back(written, &origin).await?),
            None => None,
        };
        let after = self.force.generation;
        if after != generation {
            reversal = Reversal::Generation { before: generation, after };
        }
        let new = self.facts(id, &pool, &name)?;
        let (target, what) = (format!("{pool}/{name}"), (summary(&old), summary(&new)));
        let what = (what.0.as_str(), what.1.as_str());
        let (action, reversal) = (word.to_string(), Some(reversal));
        let audit = self.note(&origin, (&action, &target), what, saved.clone(), reversal);
        Ok(Operated { facts: new, saved, audit, unkept: Vec::new() })
    }

    async fn add(
        &mut self,
        order: Operate,
        address: &str,
        weight: Option<Weight>,
    ) -> Result<Operated, SetServerError> {
        let Operate { pool, name, save, origin, word } = order;
        let at = server_address(address).map_err(SetServerError::Wrong)?;
        let name = if name == "-" { name_from(&at) } else { name };
        if !plain(&name) {
            let text = format!("'{name}' is not a name: lower-case letters, digits, single '-'");
            return Err(SetServerError::Wrong(text));
        }
        let Some(view) = self.book.pools.get(&pool) else {
            return Err(SetServerError::Unknown { near: self.near(&pool), pool, name });
        };
        // What is laid over the file has neither a name nor an address twice.
        let mut there = view.servers.iter().map(|server| &server.config);
        if let Some(server) = there.find(|it| it.name == name || it.address == at) {
            let (name, address) = (server.name.clone(), address_text(&server.address));
            return Err(SetServerError::Exists { pool, name, address });
        }
        if self.book.servers.len() >= SERVERS {
            return Err(SetServerError::Wrong(format!("there are {SERVERS} servers already")));
        }
        let weight = weight.map(Weight::get);
        let manual = self.overlay.manual(&pool, &name);
        let mut saved = None;
        let generation = self.force.generation;
        if self.saves(save) {
            let written = self.edited(&pool, &name, &Edit::Add { address, weight })?;
            saved = Some(self.write_back(written, &origin).await?);
        } else {
            let added = Added {
                pool: pool.clone(),
                name: name.clone(),
                address: at.to_string(),
                weight,
                by: origin.clone(),
                at: SystemTime::now(),
            };
            let said = Manual { added: Some(added), removed: None };
            self.refit(self.overlay.with_manual(&pool, &name, said)).await?;
        }
        self.events.info("server-set", format!("{pool}/{name}: {word} by {origin}"));
        let facts = self.facts(self.find(&pool, &name)?, &pool, &name)?;
        let reversal = self.other_servers(&pool, &name, manual, generation);
        let target = format!("{pool}/{name}");
        let what = ("not there", summary(&facts));
        let action = (word.name(), target.as_str());
        let audit = self.note(&origin, action, (what.0, &what.1), saved.clone(), Some(reversal));
        Ok(Operated { facts, saved, audit, unkept: Vec::new() })
    }

    async fn remove(&mut self, order: Operate) -> Result<Operated, SetServerError> {
        let Operate { pool, name, save, origin, word } = order;
        let id = self.find(&pool, &name)?;
        let facts = self.facts(id, &pool, &name)?;
        let left = self.book.pools.get(&pool).map_or(0, |view| view.servers.len());
        if left <= 1 {
            return Err(SetServerError::Last { pool, name });
        }
        let manual = self.overlay.manual(&pool, &name);
        let generation = self.force.generation;
        let mut saved = None;
        if self.saves(save) && manual.added.is_none() {
            let written = self.edited(&pool, &name, &Edit::Remove)?;
            saved = Some(self.write_back(written, &origin).await?);
        } else {
            let address = address_text(&facts.config.address);
            let (by, at) = (origin.clone(), SystemTime::now());
            let removed = Removed { pool: pool.clone(), name: name.clone(), address, by, at };
            // What was only added is simply not there any more.
            let removed = Some(removed).filter(|_| manual.added.is_none());
            let said = Manual { added: None, removed };
            self.refit(self.overlay.with_manual(&pool, &name, said)).await?;
        }
        self.events.info("server-set", format!("{pool}/{name}: {word} by {origin}"));
        let reversal = self.other_servers(&pool, &name, manual, generation);
        let target = format!("{pool}/{name}");
        let what = (summary(&facts), "not there");
        let action = (word.name(), target.as_str());
        let audit = self.note(&origin, action, (&what.0, what.1), saved.clone(), Some(reversal));
        Ok(Operated { facts, saved, audit, unkept: Vec::new() })
    }

    /// How an order about which servers there are is taken back.
    fn other_servers(&self, pool: &str, name: &str, before: Manual, generation: u64) -> Reversal {
        let now = self.force.generation;
        if now != generation {
            return Reversal::Generation { before: generation, after: now };
        }
        let (before, after) = (Box::new(before), Box::new(self.overlay.manual(pool, name)));
        Reversal::Manual { pool: pool.to_owned(), name: name.to_owned(), before, after }
    }

    fn saves(&self, asked: Option<bool>) -> bool {
        // Without a file nothing is saved unless somebody insists, and is told.
        let into_file = self.force.config.global.control.write_back == WriteBack::File;
        let usual = into_file && self.keeping.file.is_some();
        asked.unwrap_or(usual)
    }

    /// The file's text with an order in it; nothing is written yet.
    fn edited(&self, pool: &str, name: &str, order: &Edit<'_>) -> Result<Written, SaveError> {
        let path = self.keeping.file.clone().ok_or(SaveError::NoFile)?;
        let shown = path.display().to_string();
        let failed = |source: io::Error| SaveError::Read { file: shown.clone(), source };
        // A link stays a link.
        let file = path.canonicalize().map_err(failed)?;
        let text = keep::read(&file, FILE_BYTES).map_err(failed)?.unwrap_or_default();
        if text != *self.force.text {
            return Err(SaveError::Differs(shown));
        }
        Ok(Written { file, text: edit(&text, pool, name, order)? })
    }

    /// Puts an edited text in force, then writes it; the file's name.
    async fn write_back(
        &mut self,
        written: Written,
        origin: &Origin,
    ) -> Result<String, SetServerError> {
        let Written { file, text } = written;
        let shown = file.display().to_string();
        let change = Change::new(text.clone(), &*self.force.file, origin.clone());
        self.apply(change, None).await?;
        match keep::replace_like(&file, text.as_bytes()) {
            Ok(()) => {
                self.keeping.written(&self.force.text);
                if self.look_at_file() {
                    self.publish();
                }
                Ok(shown)
            }
            Err(source) => Err(SetServerError::Written { file: shown, source }),
        }
    }

    fn find(&self, pool: &str, name: &str) -> Result<ServerId, SetServerError> {
        let view = self.book.pools.get(pool);
        let found = view.and_then(|view| view.servers.iter().find(|it| it.config.name == name));
        found.map(|view| view.id).ok_or_else(|| SetServerError::Unknown {
            pool: pool.to_owned(),
            name: name.to_owned(),
            near: self.near(pool),
        })
    }

    fn facts(
        &self,
        id: ServerId,
        pool: &str,
        name: &str,
    ) -> Result<Arc<ServerFacts>, SetServerError> {
        let facts = self.book.servers.get(&id).map(|entry| Arc::clone(&entry.facts));
        facts.ok_or_else(|| SetServerError::Unknown {
            pool: pool.to_owned(),
            name: name.to_owned(),
            near: Vec::new(),
        })
    }

    /// The servers of a pool, or the pools when there is no such pool.
    fn near(&self, pool: &str) -> Vec<String> {
        match self.book.pools.get(pool) {
            Some(view) => {
                view.servers.iter().map(|server| format!("{pool}/{}", server.config.name)).collect()
            }
            None => self.book.pools.keys().map(|name| format!("pool {name}")).collect(),
        }
    }
}

/// A kebab-case name, as the configuration takes it.
fn plain(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.len() <= 255 && name.split('-').all(part)
}

/// Whether an order can be meant.
fn sane(word: &ServerWord, now: SystemTime) -> Result<(), String> {
    match word {
        ServerWord::Quiesce(limit) if limit.is_zero() || *limit > FAR => {
            Err("a quiesce lasts more than 0 and at most 366 days".to_owned())
        }
        ServerWord::Maintain { from, until, reason } => {
            let begins = from.unwrap_or(now);
            let far = |at: &SystemTime| *at > now + FAR;
            if until.is_some_and(|until| until <= begins || until <= now) {
                return Err("the window ends before it begins, or has passed".to_owned());
            }
            if far(&begins) || until.as_ref().is_some_and(far) {
                return Err("a window lies at most 366 days ahead".to_owned());
            }
            if reason.chars().count() > REASON || reason.chars().any(char::is_control) {
                return Err(format!("a reason has at most {REASON} characters, on one line"));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
