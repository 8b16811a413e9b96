//! What a configuration names and this machine does not have: interfaces, source addresses, congestion controls,
//! programs, directories. Each may come before the daemon starts, so none is an error.
//!
//! The machine is queried through `Machine`; keys of certificates and secrets are checked elsewhere.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use model::config::{CheckedConfig, Config, EffectiveSetting, ForwardingMode};

use crate::util::atomic_file;

/// Bytes of a list of the kernel.
const PROC_BYTES: u64 = 4 << 20;

/// The host's properties that a check reads.
pub trait HostEnvironment {
    /// The names of its interfaces; `None`: they cannot be read.
    fn interfaces(&self) -> Option<BTreeSet<String>>;
    /// The congestion controls that its kernel offers; `None`: they cannot be read.
    fn congestions(&self) -> Option<BTreeSet<String>>;
    /// Whether packets can be sent from an address.
    fn has_address(&self, address: IpAddr) -> bool;
    /// Whether a directory is there.
    fn has_directory(&self, path: &Path) -> bool;
    /// Whether a file is there.
    fn has_file(&self, path: &Path) -> bool;
    /// Whether a file is there that can be run.
    fn has_program(&self, path: &Path) -> bool;
}

/// The host on which this process runs.
#[derive(Clone, Copy, Debug)]
pub struct ThisHost;

/// Something that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingDependency {
    /// The key that names it.
    pub key: String,
    /// The missing property and its consequence.
    pub message: String,
    pub expected: String,
}

/// Everything that the configuration needs and this host does not have.
pub fn find_missing(
    checked: &CheckedConfig,
    machine: &dyn HostEnvironment,
) -> Vec<MissingDependency> {
    let sources = SourceAddressKeys::from_config(&checked.config);
    let entries = checked.origins.entries();
    let written = entries.iter().filter(|entry| entry.origin.starts_with("line "));
    written.flat_map(|entry| check_entry(entry, &sources, machine)).collect()
}

fn check_entry(
    entry: &EffectiveSetting,
    sources: &SourceAddressKeys,
    machine: &dyn HostEnvironment,
) -> Vec<MissingDependency> {
    let key = entry.key.as_str();
    let last = key.rsplit('.').next().unwrap_or_default();
    let missing = |message: String, expected: String| MissingDependency {
        key: key.to_owned(),
        message,
        expected,
    };
    let texts = value_texts(&entry.value);
    let each = |of: &dyn Fn(&str) -> Option<MissingDependency>| {
        texts.iter().filter_map(|text_of| of(text_of)).collect()
    };
    match last {
        "interface" | "interfaces" => {
            let Some(known) = machine.interfaces() else { return Vec::new() };
            each(&|name| {
                let there = known.contains(name) || ["any", "auto"].contains(&name);
                let message = format!("this machine has no interface `{name}` now");
                (!there).then(|| missing(message, format_list(&known)))
            })
        }
        "congestion" => {
            let Some(known) = machine.congestions() else { return Vec::new() };
            each(&|name| {
                let there = known.contains(name) || name == "system";
                let message =
                    format!("this machine's kernel offers no congestion control `{name}` now");
                let expected = format!("{}, or `modprobe tcp_{name}`", format_list(&known));
                (!there).then(|| missing(message, expected))
            })
        }
        "source" if sources.is_local_source(key) => each(&|text| {
            let address: IpAddr = text.parse().ok()?;
            let there = sources.move_here.contains(&address) || machine.has_address(address);
            let message =
                format!("{address} is no address of this machine now: nothing can be sent from it");
            (!there).then(|| missing(message, "an address that `ip addr` lists".to_owned()))
        }),
        "target" if key == "global.access-log.target" => each(&|text| {
            let directory = Path::new(text).parent().filter(|_| text.contains('/'))?;
            let message = format!(
                "there is no directory {}: the daemon does not start without it",
                directory.display()
            );
            let expected = format!("`mkdir {}`, or another file", directory.display());
            (!machine.has_directory(directory)).then(|| missing(message, expected))
        }),
        "run" | "program" => each(&|text| {
            let message = format!("{text} is no program that can be run here");
            let expected = "the whole path of a file with the right to be executed".to_owned();
            (!machine.has_program(Path::new(text))).then(|| missing(message, expected))
        }),
        "file" if key.ends_with(".servers-from.file") => each(&|text| {
            let message = format!("there is no file {text}: the pool has no servers from it");
            let expected = "a file with a server in each line".to_owned();
            (!machine.has_file(Path::new(text))).then(|| missing(message, expected))
        }),
        _ => Vec::new(),
    }
}

/// Which keys name addresses that this machine sends from itself.
struct SourceAddressKeys {
    /// Pools that connections are made to.
    pools: BTreeSet<String>,
    /// Shared addresses: they come when this member is active.
    move_here: BTreeSet<IpAddr>,
}

impl SourceAddressKeys {
    fn from_config(config: &Config) -> SourceAddressKeys {
        let mut pools = BTreeSet::new();
        for service in config.services.values() {
            if !matches!(service.forward, ForwardingMode::Http | ForwardingMode::Tcp) {
                continue;
            }
            pools.insert(service.pool.clone());
            let rules = service.rules.iter().flat_map(|rule| rule.pools());
            pools.extend(rules.flatten().map(str::to_owned));
        }
        let groups = config.vrrp.values();
        let addresses = groups.flat_map(|group| {
            let also = group.also.iter().flat_map(|also| &also.addresses);
            group.addresses.iter().chain(also).copied()
        });
        SourceAddressKeys { pools, move_here: addresses.collect() }
    }

    fn is_local_source(&self, key: &str) -> bool {
        match key.split('.').collect::<Vec<_>>()[..] {
            ["pool", pool, "source"] => self.pools.contains(pool),
            ["vrrp", _, "source"] => true,
            _ => false,
        }
    }
}

/// The texts of a value as it would be written: one, or a list of them.
fn value_texts(value: &str) -> Vec<String> {
    // Such a TOML value is valid JSON too: a basic string, or a list of them.
    match serde_json::from_str(value) {
        Ok(serde_json::Value::String(text)) => vec![text],
        Ok(serde_json::Value::Array(list)) => {
            list.iter().filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

fn format_list(known: &BTreeSet<String>) -> String {
    /// A dozen names show the form of a valid one, and a message with all of them would be hard to read.
    const MOST: usize = 12;
    let more = if known.len() > MOST { ", …" } else { "" };
    let first: Vec<&str> = known.iter().take(MOST).map(String::as_str).collect();
    format!("one of {}{more}", first.join(", "))
}

impl HostEnvironment for ThisHost {
    fn interfaces(&self) -> Option<BTreeSet<String>> {
        let text = atomic_file::read(Path::new("/proc/net/dev"), PROC_BYTES).ok()??;
        // Two lines of headings.
        let lines = text.lines().skip(2);
        Some(lines.filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect())
    }

    fn congestions(&self) -> Option<BTreeSet<String>> {
        let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        let text = atomic_file::read(Path::new(file), PROC_BYTES).ok()??;
        Some(text.split_whitespace().map(str::to_owned).collect())
    }

    fn has_address(&self, address: IpAddr) -> bool {
        let link_local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
        // One of a link cannot be tried without the link.
        let away = |error: std::io::Error| error.kind() == std::io::ErrorKind::AddrNotAvailable;
        link_local || !UdpSocket::bind(SocketAddr::new(address, 0)).is_err_and(away)
    }

    fn has_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn has_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn has_program(&self, path: &Path) -> bool {
        let about = std::fs::metadata(path);
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FakeHost;

    impl HostEnvironment for FakeHost {
        fn interfaces(&self) -> Option<BTreeSet<String>> {
            Some(["eth0", "lo"].map(str::to_owned).into())
        }

        fn congestions(&self) -> Option<BTreeSet<String>> {
            Some(["cubic", "reno"].map(str::to_owned).into())
        }

        fn has_address(&self, address: IpAddr) -> bool {
            address == IpAddr::from([10, 0, 0, 1])
        }

        fn has_directory(&self, path: &Path) -> bool {
            path == Path::new("/there")
        }

        fn has_file(&self, path: &Path) -> bool {
            path == Path::new("/there/file")
        }

        fn has_program(&self, path: &Path) -> bool {
            path == Path::new("/there/program")
        }
    }

    /// The missing properties of the fake machine: keys and messages.
    fn check(text: &str) -> Vec<(String, String)> {
        let checked = model::config::load(text, "f").unwrap_or_else(|error| panic!("{error}"));
        let missing = find_missing(&checked, &FakeHost);
        assert!(missing.iter().all(|dependency| !dependency.expected.is_empty()), "{missing:?}");
        missing.into_iter().map(|dependency| (dependency.key, dependency.message)).collect()
    }

    #[test]
    fn what_this_machine_does_not_have_is_named_where_it_is_written() {
        let base = "[service.s]\nlisten = \":80\"\nforward = \"tcp\"\npool = \"p\"\n";
        let group = "[vrrp.v]\ninterface = \"eth0\"\nid = 1\naddresses = \"10.0.0.7\"\n";
        let pool = "[pool.p]\nservers = [\"10.0.0.9:80\"]\n";
        let servers = "servers = [\"10.0.0.9:80\"]";
        for (there, from, to, key, says) in [
            (
                "global.socket.interface = \"eth0\"\n",
                "eth0",
                "eth7",
                "global.socket.interface",
                "eth7",
            ),
            (
                "global.socket.congestion = \"reno\"\n",
                "reno",
                "bbr",
                "global.socket.congestion",
                "bbr",
            ),
            (
                "global.access-log = \"/there/log\"\n",
                "/there/log",
                "/gone/log",
                "global.access-log.target",
                "no directory /gone",
            ),
            (
                "global.hook = [{ name = \"h\", run = \"/there/program\", on = [\"all\"] }]\n",
                "/there/program",
                "/gone",
                "global.hook[0].run",
                "/gone",
            ),
            ("", servers, "SERVERS\nsource = \"10.0.0.2\"", "pool.p.source", "10.0.0.2"),
            (
                "",
                servers,
                "servers-from = { file = \"/gone\" }",
                "pool.p.servers-from.file",
                "no file /gone",
            ),
            (
                "",
                servers,
                "SERVERS\nprobe = { program = \"/gone\" }",
                "pool.p.probe.program",
                "/gone",
            ),
            ("", "id = 1", "id = 1\nsource = \"10.0.0.8\"", "vrrp.v.source", "10.0.0.8"),
        ] {
            let text = format!("{there}{base}{group}{pool}");
            assert_eq!(check(&text), [], "{text}");
            let text = text.replacen(from, &to.replace("SERVERS", servers), 1);
            let missing = check(&text);
            let [(at, message)] = &missing[..] else { panic!("{missing:?}\n{text}") };
            assert_eq!(at, key);
            assert!(message.contains(says), "{message}");
        }
        for here in ["10.0.0.1", "10.0.0.7"] {
            let text = format!("{base}{group}{pool}source = \"{here}\"\n");
            assert_eq!(check(&text), [], "its own, and one that it may get: {here}");
        }
    }

    #[test]
    fn this_machine_has_what_it_has() {
        let machine = ThisHost;
        assert!(machine.interfaces().unwrap().contains("lo"));
        assert!(machine.has_address([127, 0, 0, 1].into()));
        assert!(!machine.has_address([192, 0, 2, 77].into()));
        assert!(
            machine.has_program(Path::new("/bin/sh")) && !machine.has_program(Path::new("/etc"))
        );
    }
}
