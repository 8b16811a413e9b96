//! An object whose keys are fetched: which set it has, and when it needs another one.

use std::sync::{Arc, Mutex};

use l7::auth_object::AuthObject;
use model::config::AuthConfig;
use model::monotonic_time::MonotonicTime;

use crate::stores::key_set::refresh_state::{ActiveKeySet, KeySetState};
use crate::stores::key_set::{KeySetSource, lock_source};

#[derive(Clone, Debug)]
pub struct FetchedKeys {
    /// What its source is called.
    pub origin: String,
    pub source: Arc<Mutex<KeySetSource>>,
    /// The number of the set that the object has; 0: it has none.
    revision: u64,
}

/// An object with its keys.
pub struct FetchedObject {
    pub object: Arc<AuthObject>,
    pub keys: FetchedKeys,
}

/// What a look at the keys of an object brought.
pub enum KeyReplacement {
    /// It has another set.
    Renewed(Arc<AuthObject>),
    /// Its set is too old.
    Outdated(Arc<AuthObject>),
}

impl FetchedKeys {
    /// The object with what its source has by now.
    pub fn make_object(
        config: &Arc<AuthConfig>,
        origin: String,
        source: &Arc<Mutex<KeySetSource>>,
        now: MonotonicTime,
    ) -> FetchedObject {
        let mut keys = FetchedKeys { origin, source: Arc::clone(source), revision: 0 };
        let change = keys.look(config, lock_source(source).state(), now);
        let object = match change {
            Some(KeyReplacement::Renewed(object) | KeyReplacement::Outdated(object)) => object,
            None => Arc::new(AuthObject::without_keys(Arc::clone(config))),
        };
        FetchedObject { object, keys }
    }

    /// The object in the place of the one that there is; `None`: that one is still right.
    pub fn look(
        &mut self,
        config: &Arc<AuthConfig>,
        state: &KeySetState,
        now: MonotonicTime,
    ) -> Option<KeyReplacement> {
        let usable = state.usable(config.keep, now);
        let revision = usable.map_or(0, |set| set.revision);
        if revision == self.revision {
            return None;
        }
        self.revision = revision;
        let with_keys =
            |set: &ActiveKeySet| AuthObject::new(Arc::clone(config), set.content.as_bytes()).ok();
        Some(match usable.and_then(with_keys) {
            Some(object) => KeyReplacement::Renewed(Arc::new(object)),
            None => {
                KeyReplacement::Outdated(Arc::new(AuthObject::without_keys(Arc::clone(config))))
            }
        })
    }
}
