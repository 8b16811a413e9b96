//! Files and directories on a machine with other users: made exclusively, and trusted by owner and mode. It does not
//! interpret their contents.

pub mod create;
pub mod owned_file;
pub mod regular_file;
pub mod safe_path;
pub mod secret;
pub mod temporary;

pub use temporary::TemporaryDir;
