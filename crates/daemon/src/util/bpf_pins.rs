//! The directories below which planes of packets pin their objects: where they are, and whose. It loads nothing.
//!
//! Two daemons of one machine may see the same BPF file system from two network namespaces. The second is refused rather than
//! given directories by the number of its namespace: a container that starts again has another number, and would leave its
//! tables behind each time.

use std::path::{Path, PathBuf};

use bpf::pin_directory::{PointerArithmetic, check_permissions};
use bpf::{
    ClaimError, ClaimScope, PinDirectory, PinDirectoryError, PinOwner, pin_lifetime, pin_owner,
};
use model::config::Config;

use crate::util::event::EventLog;

/// The planes that pin objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinnedPlane {
    Packets,
    Links,
    Uplinks,
    /// The gate of shared addresses.
    Gate,
}

impl PinnedPlane {
    const ALL: [PinnedPlane; 4] =
        [PinnedPlane::Packets, PinnedPlane::Links, PinnedPlane::Uplinks, PinnedPlane::Gate];

    /// The directory of this plane's pins. Pins of the other planes are beside those of the packet plane, whose
    /// directory is removed when no service forwards packets.
    pub fn pin_directory(self, config: &Config) -> PathBuf {
        let packets = &config.packets.pins;
        let beside = |ending: &str| {
            let mut name = packets.file_name().unwrap_or_default().to_owned();
            name.push(ending);
            packets.with_file_name(name)
        };
        match self {
            PinnedPlane::Packets => packets.clone(),
            PinnedPlane::Links => beside("-links"),
            PinnedPlane::Uplinks => beside("-uplinks"),
            PinnedPlane::Gate => beside("-vrrp"),
        }
    }

    /// Has it for this daemon.
    ///
    /// # Errors
    /// Rights or kernel are missing, or another daemon has it.
    pub fn claim(self, config: &Config) -> Result<PinDirectory, PinDirectoryError> {
        if self == PinnedPlane::Packets {
            check_permissions(PointerArithmetic::Used)?;
        }
        // During an upgrade both processes have bundles, uplinks and gates, and one the tables of connections.
        let sharing =
            if self == PinnedPlane::Packets { ClaimScope::Process } else { ClaimScope::Daemon };
        PinDirectory::claim(&self.pin_directory(config), &current_owner(config), sharing)
    }

    /// Logs a warning if pins will not outlive the process.
    pub fn warn_if_not_persistent(self, home: &PinDirectory, events: &EventLog) {
        if let Some(why) = pin_lifetime::lifetime_warning(home.root()) {
            events.warn("pins-not-lasting", format!("{}: {why}", self.loss(home.root())));
        }
    }

    /// Whether this daemon may remove the pins there.
    pub fn is_own(self, config: &Config) -> bool {
        pin_owner::is_own(&self.pin_directory(config), &current_owner(config))
    }

    fn is_used(self, config: &Config) -> bool {
        match self {
            PinnedPlane::Packets => {
                config.services.values().any(|service| service.packets.is_some())
            }
            PinnedPlane::Links => !config.links.is_empty(),
            PinnedPlane::Uplinks => !config.uplinks.is_empty(),
            PinnedPlane::Gate => config.vrrp.values().any(|group| group.fencing_timeout.is_some()),
        }
    }

    fn loss(self, root: &Path) -> String {
        let loses = match self {
            PinnedPlane::Packets => "packet services forward nothing",
            PinnedPlane::Links => "bundles carry nothing",
            PinnedPlane::Uplinks => "connections by uplinks break",
            PinnedPlane::Gate => "the gate of shared addresses is open",
        };
        format!(
            "when this process dies, {loses} until it starts again: `{}` is gone with it",
            root.display()
        )
    }
}

/// Refuses a configuration whose planes another daemon has that runs.
///
/// # Errors
/// `Foreign`, of the first such plane.
pub fn refuse_foreign(config: &Config) -> Result<(), ClaimError> {
    let owner = current_owner(config);
    for plane in PinnedPlane::ALL.into_iter().filter(|plane| plane.is_used(config)) {
        let path = plane.pin_directory(config);
        if let Some(holder) = pin_owner::foreign_owner(&path, &owner) {
            return Err(ClaimError::Foreign { path, holder });
        }
    }
    Ok(())
}

/// State that would be lost with the process despite pinning, one sentence each.
pub fn persistence_warnings(config: &Config) -> Vec<String> {
    let doubt = |plane: &PinnedPlane| {
        let root = plane.pin_directory(config);
        // Pins of another daemon are no reason for a warning.
        let why = pin_lifetime::lifetime_warning(&root).filter(|_| plane.is_own(config))?;
        Some(format!("{}: {why}", plane.loss(&root)))
    };
    PinnedPlane::ALL.iter().filter(|plane| plane.is_used(config)).filter_map(doubt).collect()
}

fn current_owner(config: &Config) -> PinOwner {
    PinOwner::current(&config.global.control.state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plane_has_a_directory_of_its_own_beside_the_packet_planes() {
        let text = "[packets]\npins = \"/sys/fs/bpf/here/two\"\n";
        let config = model::config::load(text, "t").unwrap().config;
        let roots =
            PinnedPlane::ALL.map(|plane| plane.pin_directory(&config).display().to_string());
        let wanted = ["two", "two-links", "two-uplinks", "two-vrrp"];
        assert_eq!(roots, wanted.map(|name| format!("/sys/fs/bpf/here/{name}")));
    }
}
