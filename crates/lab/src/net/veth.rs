//! Virtual cables (veth) between namespaces, and the settings of their ends that native XDP needs.
//!
//! If both ends run native XDP programs, nothing completes checksums that a sender left to the device. A packet that a
//! program transmits arrives only if a program is loaded at the other end. Other modules add addresses.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use files::TemporaryDir;
use thiserror::Error;

use super::bpffs::BpfFsError;
use super::namespace::{NamespaceError, NetworkNamespace};
use super::namespace_name::unique_name;
use super::tool::{ToolError, find, run_command};

/// Where the checksums of sent packets are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChecksumMode {
    /// The sender computes checksums, and the ends pass packets through programs. Native XDP needs this mode.
    #[default]
    Computed,
    /// The sender leaves checksums to the device, as veth does by default, and veth never computes them. Large segments
    /// stay whole. Only generic XDP programs see such packets whole.
    Offloaded,
}

#[derive(Debug, Error)]
pub enum VethError {
    #[error("a cable could not be laid")]
    Tool(#[from] ToolError),
    /// A namespace could not be entered or configured.
    #[error("a host could not be set up")]
    Namespace(#[from] NamespaceError),
    /// The XDP program could not be written to a file.
    #[error("the program for the ends of cables cannot be written: {0}")]
    Program(#[source] io::Error),
    /// The BPF file system failed.
    #[error(transparent)]
    BpfFs(#[from] BpfFsError),
}

/// The compiled XDP program that passes every packet.
const PASS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pass.bpf.o"));

/// `ip` makes directories in whatever file system for BPF it finds mounted, also in that of another program, which may
/// unmount it meanwhile. It gets one of its own, at the place where it looks first.
const LOAD: &str = "mount -t bpf bpf /sys/fs/bpf && \
     exec nsenter --net=\"$0\" ip link set dev \"$1\" xdpdrv obj \"$2\" sec xdp.frags";

#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    pub namespace: &'a NetworkNamespace,
    /// The link's name in the namespace.
    pub link: &'a str,
}

/// Creates a cable and sets both ends up.
pub fn create_veth(
    a: VethEnd,
    b: VethEnd,
    mtu: u32,
    checksums: ChecksumMode,
) -> Result<(), VethError> {
    let mut ip = Command::new(find("ip"));
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

/// The XDP program that passes every packet, in a file that is removed on drop.
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

    /// Loads the program in native mode on this end.
    pub fn load(&self, end: VethEnd) -> Result<(), VethError> {
        let mut command = Command::new(find("unshare"));
        command.args(["--mount", "--propagation", "private", "sh", "-c", LOAD]);
        run_command(command.arg(end.namespace.file()).arg(end.link).arg(&self.file))?;
        Ok(())
    }
}
