//! A network namespace with a unique name, and ways to run code inside it.
//!
//! Programs enter through nsenter(1): `ip netns exec` would hide mounts, such as BPF file systems. Other modules add
//! the links.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Command;

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use thiserror::Error;

use super::namespace_name::unique_name;
use super::tool::{ToolError, find, run_command, run_with_input};

/// The directory of iproute2's named namespaces.
pub(super) const PLACE: &str = "/run/netns";

#[derive(Debug, Error)]
pub enum NamespaceError {
    #[error("network namespaces need root")]
    NotRoot,
    #[error("a namespace could not be set up")]
    Tool(#[from] ToolError),
    /// The namespace's file could not be opened.
    #[error("the namespace {name} could not be opened")]
    Open {
        name: String,
        #[source]
        source: io::Error,
    },
    /// The kernel did not let the thread enter.
    #[error("the namespace {name} could not be entered")]
    Enter {
        name: String,
        #[source]
        source: Errno,
    },
    /// The kernel rejected a setting.
    #[error("{key} cannot be set to {value}")]
    Setting {
        /// The file below /proc/sys.
        key: String,
        /// The rejected value.
        value: String,
        #[source]
        source: io::Error,
    },
}

/// A kernel setting of a namespace's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysctlSetting<'a> {
    /// Its path below /proc/sys, such as `net/ipv4/ip_forward`.
    pub path: &'a str,
    pub value: &'a str,
}

/// A namespace; dropping it removes it with its links.
#[derive(Debug)]
pub struct NetworkNamespace {
    name: String,
}

impl NetworkNamespace {
    /// A new namespace in which only the loopback is up.
    pub fn new(role: &str) -> Result<NetworkNamespace, NamespaceError> {
        if !rustix::process::geteuid().is_root() {
            return Err(NamespaceError::NotRoot);
        }
        let name = unique_name(role);
        run_command(Command::new(find("ip")).args(["netns", "add", &name]))?;
        let namespace = NetworkNamespace { name };
        namespace.ip("link set lo up\n")?;
        Ok(namespace)
    }

    /// The name below /run/netns.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn file(&self) -> PathBuf {
        PathBuf::from(PLACE).join(&self.name)
    }

    /// A program inside, with the caller's mounts and working directory.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(find("nsenter"));
        let mut net = std::ffi::OsString::from("--net=");
        net.push(self.file());
        command.arg(net).arg("--").arg(program);
        command
    }

    /// Runs lines of `ip` inside, such as `addr add 10.0.0.1/24 dev eth0`.
    pub fn ip(&self, lines: &str) -> Result<String, ToolError> {
        run_with_input(Command::new(find("ip")).args(["-n", &self.name, "-batch", "-"]), lines)
    }

    /// Runs a closure on a thread inside. The thread and all that it starts see no other network.
    pub fn run_inside<T: Send>(&self, run: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let opened = File::open(self.file());
        let place =
            opened.map_err(|source| NamespaceError::Open { name: self.name.clone(), source })?;
        let inside = || {
            move_into_link_name_space(place.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|source| NamespaceError::Enter { name: self.name.clone(), source })?;
            Ok(run())
        };
        let done = std::thread::scope(|scope| scope.spawn(inside).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Writes settings below /proc/sys, such as `net/ipv4/ip_forward`.
    pub fn write_sysctls(&self, settings: &[SysctlSetting<'_>]) -> Result<(), NamespaceError> {
        self.run_inside(|| {
            settings.iter().try_for_each(|SysctlSetting { path: key, value }| {
                std::fs::write(format!("/proc/sys/{key}"), value).map_err(|source| {
                    let key = (*key).to_owned();
                    let value = (*value).to_owned();
                    NamespaceError::Setting { key, value, source }
                })
            })
        })?
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        // A namespace that stays is found by its name and removed by the next run.
        let _ = run_command(Command::new(find("ip")).args(["netns", "del", &self.name]));
    }
}
