//! Keys and certificates: read (`files`, `authorities`), kept and compared with what is on disk (`vault`), looked after (`watch`).
//!
//! What they are made into is the request plane's; nothing of a key is ever said.

pub mod authorities;
pub mod calling;
pub mod files;
mod held;
pub mod told;
pub mod trusted;
pub mod vault;
pub mod watch;
