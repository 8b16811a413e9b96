//! The servers of a pool by what clients that are kept have of them: words of cookies, and hashed names.

use std::collections::HashMap;
use std::sync::Arc;

use model::affinity;
use model::affinity::cookie::{Made, Secrets, Word};
use model::id::ServerId;
use model::snapshot::PoolView;

/// Servers by what clients that are kept have of them.
pub struct Names {
    share: Option<String>,
    scope: String,
    secrets: Arc<Secrets>,
    words: HashMap<Word, (ServerId, Made)>,
    names: HashMap<u64, ServerId>,
}

impl Names {
    /// Those of a pool; `share`: the word of services that share what is kept.
    pub fn of(view: &PoolView, share: Option<&str>, secrets: &Arc<Secrets>) -> Names {
        let scope = share.unwrap_or(&view.config.name).to_owned();
        let each = || view.servers.iter().map(|server| (server.config.name.as_str(), server.id));
        let words = each().flat_map(|(name, id)| {
            secrets.words(&scope, name).map(move |(word, made)| (word, (id, made)))
        });
        Names {
            share: share.map(str::to_owned),
            words: words.collect(),
            names: each().map(|(name, id)| (affinity::server(name), id)).collect(),
            secrets: secrets.clone(),
            scope,
        }
    }

    /// Whether they are made for this.
    pub fn are_by(&self, share: Option<&str>, secrets: &Arc<Secrets>) -> bool {
        self.share.as_deref() == share && Arc::ptr_eq(&self.secrets, secrets)
    }

    /// The server that these words of a cookie mean: the best-made one of the pool counts.
    pub fn by_words(&self, words: &[Word]) -> Option<(ServerId, Made)> {
        let known = words.iter().filter_map(|word| self.words.get(word));
        known.min_by_key(|(_, made)| *made).copied()
    }

    /// Whether a word is this pool's, of whatever server.
    pub fn own(&self, word: &Word) -> bool {
        self.words.contains_key(word) || self.secrets.are_of(&self.scope, word)
    }

    /// The word of a server for new cookies.
    pub fn word(&self, server: &str) -> Word {
        self.secrets.current.word(&self.scope, server)
    }

    /// The server of a hashed name.
    pub fn by_name(&self, name: u64) -> Option<ServerId> {
        self.names.get(&name).copied()
    }
}
