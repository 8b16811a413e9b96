//! Files and directories on a machine that other users share: made exclusively, and trusted by who owns them and who may
//! use them. It knows nothing of what is in them.

pub mod create;
pub mod owned_file;
pub mod regular_file;
pub mod safe_path;
pub mod secret;
pub mod temporary;

pub use temporary::TemporaryDir;
