//! Rules of proxied services, made ready: which one takes a request or a connection, and why the others do not.
//!
//! A `Table` is compiled once for a service's configuration and never changes; what rules count lives beside it
//! (`live`) and stays through changes. Finding is a lookup by host and path (`index`), then the candidates in their order:
//! the first that fits counts. Nothing here reads a clock or opens anything; time and the state of pools come in.

pub mod admit;
pub mod ask;
pub mod check;
pub mod edit;
pub mod index;
pub mod limit;
pub mod live;
pub mod ruling;
pub mod standing;
pub mod table;
pub mod tell;
pub mod value;

mod glob;
mod those;

pub use admit::{Admitted, admit, retarget};
pub use ask::{Facts, Found, PoolFacts, View};
pub use live::RuleLive;
pub use ruling::Ruling;
pub use standing::Standing;
pub use table::{Compiled, Table, Todo};
