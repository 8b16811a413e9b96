//! The dispatcher: attaches one program to an interface and puts tenants into its slots, all pinned.
//!
//! An interface with another program is left alone. The dispatcher does not know what tenants do.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use thiserror::Error;

use crate::interface::{InterfaceError, NetworkInterface};
use crate::load::{LoadError, LoadedObject, ProgramSpec, load};
use crate::pin_directory::{PinDirectory, PinDirectoryError};
use crate::sys;
use crate::typed_map::{MapError, TypedMap};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dispatch.bpf.o"));

/// The directory of the pinned links, named after interfaces.
const LINKS: &str = "links";
/// XDP_FLAGS_SKB_MODE and XDP_FLAGS_DRV_MODE of the kernel's uapi header linux/if_link.h.
const GENERIC: u32 = 1 << 1;
const NATIVE: u32 = 1 << 2;

/// Slots in the order of call; the numbers of `bpf/tenant.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatcherSlot {
    /// Captures: gets every packet first.
    Tap = 0,
    Links = 1,
    Balance = 2,
    /// Decapsulation on a server.
    Decap = 3,
}

/// Where the program should run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BpfAttachMode {
    /// In the driver where possible, else in the stack.
    #[default]
    Auto,
    Native,
    /// In the stack, after the kernel built its packet.
    Generic,
}

/// Why the dispatcher cannot be attached to an interface.
#[derive(Debug, Error)]
pub enum AttachError {
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Another program is attached already.
    #[error(
        "interface `{interface}` already runs the packet program `{name}` (number {id}): remove it with `ip link set dev {interface} xdp off`, or leave the interface out"
    )]
    Occupied { interface: String, id: u32, name: String },
    #[error("interface `{interface}` cannot run packet programs {place}: {remedy}")]
    Refused {
        interface: String,
        /// `in its driver` or `in the stack`.
        place: &'static str,
        remedy: &'static str,
        #[source]
        source: io::Error,
    },
    /// A pin cannot be made, opened or removed.
    #[error("cannot {act} `{}`", path.display())]
    Pin {
        act: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Slot(#[from] MapError),
    /// The directory of the pins.
    #[error(transparent)]
    Home(#[from] PinDirectoryError),
}

/// An interface with the dispatcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedInterface {
    pub interface: String,
    pub index: u32,
    /// Whether the program runs in the driver.
    pub native: bool,
    /// Whether the dispatcher was attached before.
    pub adopted: bool,
}

#[derive(Debug)]
pub struct Dispatcher {
    pin_directory: PinDirectory,
    loaded: LoadedObject,
}

impl Dispatcher {
    /// Loads the dispatcher and reuses pinned slots.
    pub fn open(home: &PinDirectory) -> Result<Dispatcher, AttachError> {
        let loaded = load(
            home,
            &ProgramSpec {
                tenant: "dispatcher",
                object: OBJECT,
                version: 1,
                fingerprint: 0,
                sizes: &[],
                only: &[],
                replace: true,
            },
        )?;
        Ok(Dispatcher { pin_directory: home.clone(), loaded })
    }

    /// Puts a tenant's program into its slot and replaces the previous one. The change applies to all interfaces at
    /// once.
    pub fn install(&self, slot: DispatcherSlot, program: impl AsFd) -> Result<(), AttachError> {
        let fd = program.as_fd().as_raw_fd().unsigned_abs();
        Ok(self.slots()?.set(&(slot as u32), &fd)?)
    }

    /// Empties a slot; `false` when it was empty.
    pub fn uninstall(&self, slot: DispatcherSlot) -> Result<bool, AttachError> {
        Ok(self.slots()?.remove(&(slot as u32))?)
    }

    /// Attaches to an interface. An existing link continues with this build's program.
    pub fn attach(
        &self,
        name: &str,
        mode: BpfAttachMode,
    ) -> Result<AttachedInterface, AttachError> {
        let interface = NetworkInterface::find(name)?;
        let adopted = self.adopt(&interface)?;
        if !adopted {
            self.attach_link(&interface, mode)?;
        }
        let native = interface.attached_program()?.is_some_and(|holder| holder.native);
        Ok(AttachedInterface { interface: interface.name, index: interface.index, native, adopted })
    }

    /// Detaches from an interface, which may be gone; `false` when it was not attached.
    pub fn detach(&self, name: &str) -> Result<bool, AttachError> {
        let path = self.pin_path(name)?;
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(AttachError::Pin { act: "remove", path, source }),
        }
    }

    /// Names of the interfaces that have a pinned link.
    pub fn interfaces(&self) -> Result<Vec<String>, AttachError> {
        let path = self.pin_directory.subdirectory(LINKS)?;
        let failed = |source| AttachError::Pin { act: "list", path: path.clone(), source };
        let mut out = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(failed)? {
            out.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        out.sort();
        Ok(out)
    }

    fn adopt(&self, interface: &NetworkInterface) -> Result<bool, AttachError> {
        let path = self.pin_path(&interface.name)?;
        let link = match sys::pinned(&path) {
            Ok(link) => link,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(AttachError::Pin { act: "open", path, source }),
        };
        // An interface that was removed and recreated has another index: its old link is useless.
        if sys::link_ifindex(link.as_fd()).ok() != Some(interface.index) {
            self.detach(&interface.name)?;
            return Ok(false);
        }
        let program = self.loaded.program("steelyard")?;
        sys::link_update(link.as_fd(), program.as_fd()).map_err(|source| AttachError::Pin {
            act: "renew",
            path,
            source,
        })?;
        Ok(true)
    }

    fn attach_link(
        &self,
        interface: &NetworkInterface,
        mode: BpfAttachMode,
    ) -> Result<(), AttachError> {
        if let Some(holder) = interface.attached_program()? {
            return Err(AttachError::Occupied {
                interface: interface.name.clone(),
                id: holder.id,
                name: holder.name,
            });
        }
        let program = self.loaded.program("steelyard")?;
        let tries: &[u32] = match mode {
            BpfAttachMode::Auto => &[NATIVE, GENERIC],
            BpfAttachMode::Native => &[NATIVE],
            BpfAttachMode::Generic => &[GENERIC],
        };
        let mut last = None;
        for flags in tries {
            match sys::link_xdp(program.as_fd(), interface.index, *flags) {
                Ok(link) => {
                    let path = self.pin_path(&interface.name)?;
                    return sys::pin(link.as_fd(), &path).map_err(|source| AttachError::Pin {
                        act: "make",
                        path,
                        source,
                    });
                }
                Err(error) => last = Some((*flags, error)),
            }
        }
        let (flags, source) = last.unwrap_or((GENERIC, io::ErrorKind::Unsupported.into()));
        let (place, remedy) = if flags == NATIVE {
            ("in its driver", "use mode \"auto\" or \"generic\"")
        } else {
            ("in the stack", "leave the interface out")
        };
        Err(AttachError::Refused { interface: interface.name.clone(), place, remedy, source })
    }

    fn slots(&self) -> Result<TypedMap<u32, u32>, AttachError> {
        Ok(self.loaded.table("slots")?)
    }

    fn pin_path(&self, name: &str) -> Result<PathBuf, AttachError> {
        Ok(self.pin_directory.subdirectory(LINKS)?.join(name))
    }
}
