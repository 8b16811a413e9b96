//! The configuration file that a verb is given: as a word of its own or after `-c`, whichever a user is used to.

use std::path::{Path, PathBuf};

use crate::user_environment::standard_config;

/// A configuration file that has a default.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(multiple = false)]
pub struct StandardConfigArgs {
    /// The configuration, or - for standard input [default: this user's in $XDG_CONFIG_HOME/steelyard, or
    /// /etc/steelyard/steelyard.toml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same file, named by an option.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl StandardConfigArgs {
    #[cfg(test)]
    pub fn from_path(file: &Path) -> StandardConfigArgs {
        StandardConfigArgs { file: Some(file.to_owned()), config: None }
    }

    pub fn path(&self) -> &Path {
        self.file.as_deref().or(self.config.as_deref()).unwrap_or_else(|| standard_config())
    }
}

/// A configuration file that must be named, because the verb is about another one than the daemon's own.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct NamedConfigArgs {
    /// The configuration, or - for standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same file, named by an option.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl NamedConfigArgs {
    pub fn path(&self) -> &Path {
        // The group has one of both.
        self.file.as_deref().or(self.config.as_deref()).unwrap_or_else(|| Path::new("-"))
    }
}
