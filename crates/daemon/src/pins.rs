//! The directories below which planes of packets pin their objects: where they are, and whose. It loads nothing.
//!
//! Two daemons of one machine may see the same BPF file system from two network namespaces. The second is refused rather than
//! given directories by the number of its namespace: a container that starts again has another number, and would leave its
//! tables behind each time.

use std::path::{Path, PathBuf};

use bpf::home::{Pointers, permitted};
use bpf::{ClaimError, Home, HomeError, Owner, Sharing, lasting, owner};
use model::config::Config;

use crate::event::Events;

/// The planes that pin objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Packet services.
    Packets,
    /// Bundles.
    Links,
    /// Uplinks.
    Uplinks,
    /// The gate of shared addresses.
    Gate,
}

impl Plane {
    const ALL: [Plane; 4] = [Plane::Packets, Plane::Links, Plane::Uplinks, Plane::Gate];

    /// Its directory. All but the packet plane's lie beside that one, which goes when no service forwards packets.
    pub fn root(self, config: &Config) -> PathBuf {
        let packets = &config.packets.pins;
        let beside = |ending: &str| {
            let mut name = packets.file_name().unwrap_or_default().to_owned();
            name.push(ending);
            packets.with_file_name(name)
        };
        match self {
            Plane::Packets => packets.clone(),
            Plane::Links => beside("-links"),
            Plane::Uplinks => beside("-uplinks"),
            Plane::Gate => beside("-vrrp"),
        }
    }

    /// Has it for this daemon.
    ///
    /// # Errors
    /// Rights or kernel are missing, or another daemon has it.
    pub fn claim(self, config: &Config) -> Result<Home, HomeError> {
        if self == Plane::Packets {
            permitted(Pointers::Calculated)?;
        }
        // During an upgrade both processes have bundles, uplinks and gates, and one the tables of connections.
        let sharing = if self == Plane::Packets { Sharing::One } else { Sharing::Daemon };
        Home::claim(&self.root(config), &this(config), sharing)
    }

    /// Says so where what now stands will not outlive the process.
    pub fn warn(self, home: &Home, events: &Events) {
        if let Some(why) = lasting::doubt(home.root()) {
            events.warn("pins-not-lasting", format!("{}: {why}", self.loss(home.root())));
        }
    }

    /// Whether what is pinned there may be removed.
    pub fn is_own(self, config: &Config) -> bool {
        owner::is_own(&self.root(config), &this(config))
    }

    fn is_used(self, config: &Config) -> bool {
        match self {
            Plane::Packets => config.services.values().any(|service| service.packets.is_some()),
            Plane::Links => !config.links.is_empty(),
            Plane::Uplinks => !config.uplinks.is_empty(),
            Plane::Gate => config.vrrp.values().any(|group| group.dead_man.is_some()),
        }
    }

    fn loss(self, root: &Path) -> String {
        let loses = match self {
            Plane::Packets => "packet services forward nothing",
            Plane::Links => "bundles carry nothing",
            Plane::Uplinks => "connections by uplinks break",
            Plane::Gate => "the gate of shared addresses is open",
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
    let owner = this(config);
    for plane in Plane::ALL.into_iter().filter(|plane| plane.is_used(config)) {
        let path = plane.root(config);
        if let Some(holder) = owner::foreign(&path, &owner) {
            return Err(ClaimError::Foreign { path, holder });
        }
    }
    Ok(())
}

/// What would be lost with the process although it is pinned, in sentences.
pub fn doubts(config: &Config) -> Vec<String> {
    let doubt = |plane: &Plane| {
        let root = plane.root(config);
        // Pins that are not this daemon's say nothing about its own.
        let why = lasting::doubt(&root).filter(|_| plane.is_own(config))?;
        Some(format!("{}: {why}", plane.loss(&root)))
    };
    Plane::ALL.iter().filter(|plane| plane.is_used(config)).filter_map(doubt).collect()
}

fn this(config: &Config) -> Owner {
    Owner::this(&config.global.control.state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plane_has_a_directory_of_its_own_beside_the_packet_planes() {
        let text = "[packets]\npins = \"/sys/fs/bpf/here/two\"\n";
        let config = model::config::load(text, "t").unwrap().config;
        let roots = Plane::ALL.map(|plane| plane.root(&config).display().to_string());
        let wanted = ["two", "two-links", "two-uplinks", "two-vrrp"];
        assert_eq!(roots, wanted.map(|name| format!("/sys/fs/bpf/here/{name}")));
    }
}
