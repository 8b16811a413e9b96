//! Virtual cables between namespaces, and what their ends must be like for programs in the driver.
//!
//! On a cable whose ends are both programs' (native XDP), nobody completes checksums that a sender left to the
//! device, and what a program transmits arrives only where a program is loaded at the other end. It gives no addresses.

use std::io;
use std::path::PathBuf;

use files::TemporaryDir;
use thiserror::Error;

use super::bpffs::BpfFsError;
use super::namespace::{NamespaceError, NetworkNamespace};
use super::namespace_name::unique_name;
use super::tool::{ToolError, find, run_command};

/// Who computes checksums of what hosts send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChecksumMode {
    /// The senders; the ends pass packets through programs. For programs in the driver.
    #[default]
    Computed,
    /// The devices, in the end nobody, as virtual cables do unless told otherwise; large segments stay whole. Only
    /// generic programs see such packets whole.
    Offloaded,
}

/// Why a cable could not be laid.
#[derive(Debug, Error)]
pub enum VethError {
    #[error("a cable could not be laid")]
    Tool(#[from] ToolError),
    /// A namespace could not be entered or set.
    #[error("a host could not be set up")]
    Namespace(#[from] NamespaceError),
    /// The program for the ends could not be written to a file.
    #[error("the program for the ends of cables cannot be written: {0}")]
    Program(#[source] io::Error),
    /// No bpf file system.
    #[error(transparent)]
    BpfFs(#[from] BpfFsError),
}

/// The program that passes every packet, compiled.
const PASS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pass.bpf.o"));

/// One end of a cable.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    pub namespace: &'a NetworkNamespace,
    /// Its link's name there.
    pub link: &'a str,
}

/// Lays a cable and brings both ends up; `b` is the end at the router.
pub fn create_veth(
    a: VethEnd,
    b: VethEnd,
    mtu: u32,
    checksums: ChecksumMode,
) -> Result<(), VethError> {
    let mut ip = std::process::Command::new(find("ip"));
    ip.args(["link", "add", a.link, "netns", a.namespace.name(), "mtu", &mtu.to_string()]);
    ip.args(["type", "veth", "peer", "name", b.link, "netns", b.namespace.name()]);
    run_command(ip.args(["mtu", &mtu.to_string()]))?;
    for end in [a, b] {
        if checksums == ChecksumMode::Computed {
            let mut ethtool = end.namespace.command(find("ethtool"));
            run_command(ethtool.args(["-K", end.link, "tx", "off", "gro", "on"]))?;
        }
        end.namespace.ip(&format!("link set {} up\n", end.link))?;
    }
    Ok(())
}

/// The program for the ends of cables, in a file for as long as this is kept.
#[derive(Debug)]
pub struct XdpPassProgram {
    file: PathBuf,
    _dir: TemporaryDir,
}

impl XdpPassProgram {
    pub fn new() -> Result<XdpPassProgram, VethError> {
        let dir = TemporaryDir::with_prefix(&unique_name("pass")).map_err(VethError::Program)?;
        let file = dir.write("pass.bpf.o", PASS).map_err(VethError::Program)?;
        Ok(XdpPassProgram { file, _dir: dir })
    }

    /// Loads it into the driver of this end.
    pub fn load(&self, end: VethEnd) -> Result<(), VethError> {
        let file = self.file.display();
        end.namespace
            .ip(&format!("link set dev {} xdpdrv obj {file} sec xdp.frags\n", end.link))?;
        Ok(())
    }
}
