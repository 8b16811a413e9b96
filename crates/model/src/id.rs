//! Stable identities of configured objects.
//!
//! An id is given once per object by the reconciler and survives every change that keeps the object, so that
//! counters, connections and health can stay with it. It does not say what the object is called.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);
    };
}

id!(
    ServiceId
);
id!(
    PoolId
);
id!(
    /// A server of one pool, at one address: a server whose address changes is another one.
    ServerId
);
id!(
    /// One listening address of a service.
    ListenerId
);
