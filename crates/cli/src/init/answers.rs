//! The answers of a first configuration.

use clap::ValueEnum;

/// What a first service forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StarterMethod {
    /// HTTP requests, of any version
    Http,
    /// Bytes of any protocol
    Tcp,
}

impl StarterMethod {
    /// As in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            StarterMethod::Http => "http",
            StarterMethod::Tcp => "tcp",
        }
    }
}

/// The answers to all three questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarterAnswers {
    pub listen: String,
    pub forward: StarterMethod,
    pub servers: Vec<String>,
}
