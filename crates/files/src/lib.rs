//! Files and directories on a machine with other users: made exclusively, and trusted by owner and mode; and the texts
//! of the errors that this meets. It does not interpret the contents of files.

pub mod create;
pub mod owned_file;
pub mod pem_fault;
pub mod plain_error;
pub mod regular_file;
pub mod safe_path;
pub mod secret;
mod serde_text;
pub mod temporary;

pub use temporary::TemporaryDir;
