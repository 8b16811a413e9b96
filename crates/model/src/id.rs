//! Stable identities of configured objects.
//!
//! The reconciler gives each object its id once. The id survives every change that keeps the object, so that counters,
//! connections and health stay with it. The name of the object is stored elsewhere.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);
    };
}

id!(ServiceId);
id!(PoolId);
id!(
    /// A server of one pool at one address. A server whose address changes gets a new id.
    ServerId
);
id!(
    /// One listening address of a service.
    ListenerId
);
