//! Files beside certificates that a configuration names, as they were read last.

pub mod auth_store;
pub mod error_page_store;
pub mod key_set;
pub mod network_file_store;
