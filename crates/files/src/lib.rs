//! Files and directories on a machine that other users share: made exclusively, and trusted by who owns them and who may
//! use them. It knows nothing of what is in them.

pub mod make;
pub mod own;
pub mod place;
pub mod regular;
pub mod secret;
pub mod temporary;

pub use temporary::TemporaryDir;
