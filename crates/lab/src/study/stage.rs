//! What a study needs of whoever orders it, and why one may not come to an end.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use super::balancer::BalancerError;
use crate::line::LineError;
use crate::load;
use crate::net::{BpfFsError, LinkError, NamespaceError, SiteError, ToolError};
use crate::stream::client::RunError;

/// What is given.
pub struct Stage<'a> {
    /// This program, which is the balancer.
    pub program: &'a Path,
    /// Set: end soon, with what has been measured.
    pub stop: &'a AtomicBool,
    /// Hears of every step.
    pub told: &'a dyn Fn(&str),
    /// Takes captures, by their names; they are dropped unless it keeps them.
    pub captured: &'a dyn Fn(&str, &[u8]) -> io::Result<()>,
}

impl Stage<'_> {
    /// Whether it is to end.
    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Why a study came to nothing.
#[derive(Debug, Error)]
pub enum StudyError {
    /// The network.
    #[error("a network of namespaces")]
    Namespace(#[from] NamespaceError),
    /// A line.
    #[error("a line")]
    Line(#[from] LineError),
    /// A site.
    #[error("a network of namespaces")]
    Site(#[from] SiteError),
    /// A cable.
    #[error("a cable")]
    Cable(#[from] LinkError),
    /// A bpf file system.
    #[error(transparent)]
    BpfFs(#[from] BpfFsError),
    /// A program that sets networks up.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The balancer.
    #[error(transparent)]
    Balancer(#[from] BalancerError),
    /// A server.
    #[error("a server")]
    Origin(#[from] crate::origin::StartError),
    /// The load.
    #[error(transparent)]
    Load(#[from] load::StartError),
    /// A stream.
    #[error(transparent)]
    Stream(#[from] RunError),
    /// A socket or a file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Nothing could be told from what was measured.
    #[error("{0}")]
    Nothing(String),
}
