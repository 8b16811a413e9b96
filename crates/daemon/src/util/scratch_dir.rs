//! A temporary directory in the system's temporary place, under this crate's name for it.

pub use files::TemporaryDir as Scratch;
