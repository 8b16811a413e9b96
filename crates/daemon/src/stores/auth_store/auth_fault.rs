//! What a look at the files and the fetched keys of authentication brought, and why something cannot be used.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use l7::auth_object::AuthObjectError;

use crate::util::duration_text::format_duration;

/// What came of another look at the files.
#[derive(Debug, Default)]
pub struct ReloadedAuth {
    /// Objects whose changed files are in use now, a sentence each.
    pub renewed: Vec<String>,
    /// Those whose changed files are no good: the content before stays.
    pub refused: Vec<AuthFault>,
    /// Those that were refused before, and are still: they are no news.
    pub repeated: Vec<AuthFault>,
    /// Sets of keys that cannot be stored, a sentence each.
    pub unsaved: Vec<String>,
    /// Workers need other objects.
    pub is_changed: bool,
}

/// The error of one object's file.
#[derive(Debug)]
pub struct AuthFault {
    /// The key of the file in the configuration: `auth.staff.file`.
    pub key: String,
    pub error: AuthFileError,
    /// What follows, in a few words.
    pub effect: &'static str,
}

/// The effect of a fault: what there was counts.
pub const AS_BEFORE: &str = "as before";
/// The effect of a fault: there is nothing that counts.
pub const TOKENS_REFUSED: &str = "tokens are refused";

/// Why a file cannot be used. What it holds is never part of it.
#[derive(Debug, thiserror::Error)]
pub enum AuthFileError {
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}: {source}", path.display())]
    Content {
        path: PathBuf,
        #[source]
        source: AuthObjectError,
    },
    #[error("{url}: {reason}; its keys were the right ones {} ago", format_duration(*age))]
    Fetch { url: String, reason: String, age: Duration },
    #[error("{url}: {reason}; there are no keys yet")]
    FirstFetch { url: String, reason: String },
    #[error("{url}: its keys have not been confirmed for {}", format_duration(*keep))]
    Outdated { url: String, keep: Duration },
}
