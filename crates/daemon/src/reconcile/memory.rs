//! What outlives a process: operators' words (in a file, over restarts) and health (to the process that takes over).
//!
//! Plain data with a version; it reads and writes no file.

use std::time::SystemTime;

use model::config::{Admin, Server};
use serde::{Deserialize, Serialize};

use super::overlay::Overlay;
use super::server;
use crate::control::origin::Origin;
use crate::control::picture::{
    Hand, Judged, Maintain, Quiesce, Resolved, ServerFacts, Share, Word,
};

/// The form of what is kept; another one is not understood.
pub const VERSION: u32 = 1;

/// What outlives a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Memory {
    /// `VERSION`.
    pub version: u32,
    /// Servers of which something is remembered.
    pub servers: Vec<Remembered>,
    /// Servers that are not as the file has them.
    #[serde(default, skip_serializing_if = "Overlay::is_empty")]
    pub overlay: Overlay,
}

/// What is remembered of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Remembered {
    /// Its pool's name.
    pub pool: String,
    /// Its name.
    pub name: String,
    /// Its address as configured: at another one it is another server.
    pub address: String,
    /// An operator's word about its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<Said<Admin>>,
    /// An operator's word about its weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Said<u16>>,
    /// It takes no new client for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiesce: Option<Quiesce>,
    /// A window of maintenance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintain: Option<Maintain>,
    /// It was enabled against what the schedule wanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite: bool,
    /// The weight that the judge gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<u16>,
    /// Its health, for a process that takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// Where its name led, for a process that takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<std::net::SocketAddr>,
}

/// One word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Said<T> {
    /// What was said.
    pub value: T,
    /// What the file said then.
    pub over: T,
    /// By whom.
    pub by: Origin,
    /// When.
    pub at: SystemTime,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { version: VERSION, servers: Vec::new(), overlay: Overlay::default() }
    }
}

impl Memory {
    /// Operators' words and the judge's weights: what a restart keeps.
    pub fn words<'a>(servers: impl Iterator<Item = &'a ServerFacts>) -> Memory {
        let judge = |facts: &ServerFacts| facts.share.and_then(|share| share.judge);
        let all = servers.filter(|facts| facts.hand != Hand::default() || judge(facts).is_some());
        let kept = |facts| Remembered { share: judge(facts), ..words_of(facts) };
        Memory::sorted(all.map(kept).collect())
    }

    /// Everything: what a process that takes over starts with.
    pub fn everything<'a>(servers: impl Iterator<Item = &'a ServerFacts>) -> Memory {
        Memory::sorted(servers.map(remember).collect())
    }

    /// With servers that are not as the file has them.
    pub fn with(self, overlay: &Overlay) -> Memory {
        Memory { overlay: overlay.clone(), ..self }
    }

    /// What is remembered of this server.
    pub fn of(&self, pool: &str, config: &Server) -> Option<&Remembered> {
        let address = server::address_text(&config.address);
        let same =
            |it: &&Remembered| it.pool == pool && it.name == config.name && it.address == address;
        self.servers.iter().find(same)
    }

    fn sorted(mut servers: Vec<Remembered>) -> Memory {
        servers.sort_by(|a, b| (&a.pool, &a.name).cmp(&(&b.pool, &b.name)));
        Memory { servers, ..Memory::default() }
    }
}

/// Puts what is remembered into a server that is new to this process.
pub fn recall(facts: &mut ServerFacts, memory: &Memory, now: SystemTime) {
    let Some(old) = memory.of(&facts.pool_name, &facts.config) else { return };
    say(facts, old);
    facts.share = old.share.map(|judge| {
        let weight = server::weight(judge);
        Share { judge: Some(judge), percent: 100, weight }
    });
    if let Some(judged) = old.judged.clone().filter(|judged| judged.evidence) {
        facts.judged = judged;
    }
    if let (Some(address), Resolved::NotYet) = (old.resolved, &facts.resolved) {
        facts.resolved = Resolved::At(address);
    }
    server::settle(facts, now);
    facts.since = if facts.judged.evidence { facts.judged.since } else { now };
}

/// What operators said of a server, as it is written down.
pub fn words_of(facts: &ServerFacts) -> Remembered {
    Remembered { share: None, judged: None, resolved: None, ..remember(facts) }
}

/// What operators said of a server is from now on this and nothing else.
pub fn restore(old: &ServerFacts, words: &Remembered, now: SystemTime) -> ServerFacts {
    let mut facts = ServerFacts { hand: Hand::default(), ..old.clone() };
    say(&mut facts, words);
    server::settle(&mut facts, now);
    facts
}

/// What was said of what the file still says.
fn say(facts: &mut ServerFacts, old: &Remembered) {
    if let Some(said) = old.admin.clone().filter(|said| said.over == facts.config.admin) {
        let Said { value, over, by, at } = said;
        facts.hand.admin = Some(Word { value, over, by, at });
    }
    if let Some(said) = old.weight.clone().filter(|said| said.over == facts.config.weight.get()) {
        let (value, over) = (server::weight(said.value), facts.config.weight);
        facts.hand.weight = Some(Word { value, over, by: said.by, at: said.at });
    }
    facts.hand.quiesce.clone_from(&old.quiesce);
    facts.hand.maintain.clone_from(&old.maintain);
    facts.hand.despite = old.despite;
}

fn remember(facts: &ServerFacts) -> Remembered {
    let admin = facts.hand.admin.clone();
    let weight = facts.hand.weight.clone();
    Remembered {
        pool: facts.pool_name.clone(),
        name: facts.config.name.clone(),
        address: server::address_text(&facts.config.address),
        admin: admin.map(|Word { value, over, by, at }| Said { value, over, by, at }),
        quiesce: facts.hand.quiesce.clone(),
        despite: facts.hand.despite,
        maintain: facts.hand.maintain.clone(),
        weight: weight.map(|Word { value, over, by, at }| Said {
            value: value.get(),
            over: over.get(),
            by,
            at,
        }),
        share: facts.share.and_then(|share| share.judge),
        judged: Some(facts.judged.clone()),
        resolved: facts.resolved.address(),
    }
}
