//! Writes into the kernel what follows from how uplinks stand: programs, rules, tables and translations, each only as far as
//! it differs from what was written. It decides nothing.

use std::io;
use std::path::{Path as File, PathBuf};

use bpf::PinDirectory;
use links::uplink::datapath::{UplinkCounters, UplinkDatapath};
use links::uplink::packet_mark::{MarkBits, UPLINKS, name_hash};
use links::uplink::plan::{RoutingBase, RoutingPlan};
use links::uplink::table::UplinkSettings;
use links::uplink::translate::{SourceTranslation, nft_transaction};
use links::uplink::uplink_wheel::{UplinkCandidate, UplinkWheel};
use model::config::{Config, UplinksConfig};

use super::path::MonitoredUplink;
use super::rtnetlink::RouteNetlink;
use super::{netns, nfnetlink};
use crate::planes::packets::open_plane::error_chain;
use crate::util::bpf_pins;
use crate::util::event::EventLog;

/// Where the kernel's list of mounts is.
const MOUNTS: &str = "/proc/self/mountinfo";
const NETFILTER: isize = 12;

/// The loaded BPF programs with the directory that has their pins.
#[derive(Debug)]
struct OpenUplinkPlane {
    plane: UplinkDatapath,
    /// Its lock keeps other processes out.
    _pin_directory: PinDirectory,
}

/// The BPF programs, and the data written to the kernel.
#[derive(Debug, Default)]
pub(super) struct UplinkKernelState {
    plane: Option<OpenUplinkPlane>,
    settings: Option<UplinkSettings>,
    wheels: [Option<UplinkWheel>; 2],
    inside_interfaces: Vec<String>,
    covers_own_sockets: bool,
    plan: Option<RoutingPlan>,
    /// The plan at the time when the kernel's state was doubted.
    doubted_plan: Option<RoutingPlan>,
    /// Rules and routes that had disappeared.
    pub missing_routes: usize,
    /// Interfaces from which another program had detached the BPF program.
    pub detached: Vec<String>,
    translated: [Option<Vec<SourceTranslation>>; 2],
    /// Installation errors, one sentence each.
    pub errors: Vec<String>,
}

impl UplinkKernelState {
    /// Loads the programs, unless they are. Whose number each uplink's was.
    pub fn open(&mut self, config: &Config, events: &EventLog) -> Vec<u64> {
        self.errors.clear();
        if self.plane.is_none() {
            match load(config, events) {
                Ok(plane) => self.plane = Some(plane),
                Err(why) => {
                    self.errors.push(format!("no uplink is drawn for single connections: {why}"))
                }
            }
        }
        let owners = self.plane.as_ref().map(|open| open.plane.number_owners());
        owners.and_then(Result::ok).unwrap_or_default()
    }

    /// Marks everything to be rewritten, because another program may have changed it.
    pub fn invalidate(&mut self) {
        self.invalidate_routes();
        self.settings = None;
        self.wheels = [None, None];
        self.translated = [None, None];
        self.covers_own_sockets = false;
    }

    /// Rules and routes are to be compared with the kernel's.
    pub fn invalidate_routes(&mut self) {
        self.doubted_plan = self.plan.take().or(self.doubted_plan.take());
    }

    /// Writes the maps of the BPF programs.
    pub fn write_programs(&mut self, config: &UplinksConfig, paths: &[MonitoredUplink]) {
        let Some(OpenUplinkPlane { plane, .. }) = &self.plane else { return };
        let mut troubles = Vec::new();
        if let Err(error) = assign_own_numbers(plane, paths) {
            troubles.push(error);
        }
        for (at, v6) in [(0, false), (1, true)] {
            let wheel = build_wheel(paths, v6);
            if self.wheels[at].as_ref() != Some(&wheel) {
                match plane.set_wheel(v6, &wheel) {
                    Ok(()) => self.wheels[at] = Some(wheel),
                    Err(error) => troubles.push(error_chain(&error)),
                }
            }
        }
        match settings(config, paths) {
            Ok(settings) if self.settings.as_ref() == Some(&settings) => {}
            Ok(settings) => match plane.apply_settings(&settings) {
                Ok(()) => self.settings = Some(settings),
                Err(error) => troubles.push(error_chain(&error)),
            },
            Err(error) => troubles.push(format!("this network namespace has no number: {error}")),
        }
        self.errors.extend(troubles);
    }

    /// The programs' places: sockets, and interfaces inside.
    pub fn attach_programs(&mut self, config: &UplinksConfig) {
        let Some(OpenUplinkPlane { plane, .. }) = &self.plane else { return };
        if !self.covers_own_sockets {
            match groups().ok_or_else(|| "version 2 of control groups is not mounted".to_owned()) {
                Ok(group) => match plane.attach_cgroup(&group) {
                    Ok(()) => self.covers_own_sockets = true,
                    Err(error) => self.errors.push(is_single(&error_chain(&error))),
                },
                Err(why) => self.errors.push(is_single(&why)),
            }
        }
        for gone in self.inside_interfaces.iter().filter(|name| !config.inside.contains(name)) {
            if let Err(error) = plane.detach_interface(gone) {
                self.errors.push(error_chain(&error));
            }
        }
        let before = std::mem::take(&mut self.inside_interfaces);
        for name in &config.inside {
            match plane.attach_interface(name) {
                Ok(new) => {
                    if new && before.contains(name) {
                        self.detached.push(name.clone());
                    }
                    self.inside_interfaces.push(name.clone());
                }
                Err(error) => self.errors.push(format!(
                    "what comes in by {name} is not shared for single connections: {}",
                    error_chain(&error)
                )),
            }
        }
    }

    pub async fn write_routes(
        &mut self,
        config: &UplinksConfig,
        paths: &[MonitoredUplink],
        netlink: &RouteNetlink,
    ) {
        let ground = RoutingBase {
            marks: mark_bits(config),
            first_table: config.table,
            first_priority: config.rule,
        };
        let planned: Vec<_> = paths.iter().filter_map(MonitoredUplink::plan_path).collect();
        let to = RoutingPlan::from_paths(ground, &planned);
        let there = match self.plan.take() {
            Some(plan) => Ok(plan),
            None => netlink.installed_plan().await,
        };
        let mut there = match there {
            Ok(there) => there,
            Err(error) => return self.errors.push(format!("no route is written: {error}")),
        };
        if let Some(stood) = self.doubted_plan.take() {
            self.missing_routes += to.count_missing(&stood, &there);
        }
        let mut whole = true;
        for step in to.steps_from(&there) {
            match netlink.apply_step(&step).await {
                Ok(()) => there.apply_step(&step),
                Err(error) => {
                    whole = false;
                    self.errors
                        .push(format!("{} is refused by the kernel: {error}", step.object()));
                }
            }
        }
        self.plan = whole.then_some(there);
    }

    /// Whose source is translated.
    pub fn write_translations(&mut self, config: &UplinksConfig, paths: &[MonitoredUplink]) {
        let marks = mark_bits(config);
        for (at, v6) in [(0, false), (1, true)] {
            let wanted = config.translate.applies_to_family(v6) && !config.inside.is_empty();
            let of = |path: &MonitoredUplink| {
                let source = path.source.filter(|source| wanted && source.is_ipv6() == v6)?;
                let mark = marks.mark_for(path.number);
                let mask = marks.mask();
                Some(SourceTranslation { mark, mask, ifindex: path.ifindex(), source })
            };
            let all: Vec<SourceTranslation> = paths.iter().filter_map(of).collect();
            if self.translated[at].as_ref() == Some(&all) {
                continue;
            }
            match nfnetlink::exchange_messages(NETFILTER, &nft_transaction(v6, &all)) {
                Ok(_) => self.translated[at] = Some(all),
                // Without nf_tables there is nothing to be removed either.
                Err(_) if all.is_empty() => self.translated[at] = Some(all),
                Err(error) => self.errors.push(format!(
                    "sources are not translated, which needs nf_tables with NAT in the kernel: {error}"
                )),
            }
        }
    }

    /// The counters of an uplink.
    pub fn counts(&self, number: u8) -> UplinkCounters {
        let counts = self.plane.as_ref().map(|open| open.plane.counts(number));
        counts.and_then(Result::ok).unwrap_or_default()
    }

    /// Removes everything. Returns the failures, one sentence each.
    pub async fn remove_all(&mut self, pins: Option<&File>, netlink: &RouteNetlink) -> Vec<String> {
        let mut left = Vec::new();
        match netlink.installed_plan().await {
            Ok(there) => {
                for step in RoutingPlan::default().steps_from(&there) {
                    if let Err(error) = netlink.apply_step(&step).await {
                        left.push(format!("{} is left: {error}", step.object()));
                    }
                }
            }
            Err(error) => left.push(format!("rules and routes are left: {error}")),
        }
        for v6 in [false, true] {
            // Without nf_tables there is nothing to be removed.
            let _ = nfnetlink::exchange_messages(NETFILTER, &nft_transaction(v6, &[]));
        }
        if let Some(pins) = pins.filter(|pins| pins.exists())
            && let Err(error) = PinDirectory::open(pins).and_then(|home| home.clear())
        {
            left.push(error_chain(&error));
        }
        *self = UplinkKernelState::default();
        left
    }
}

/// The wheel of a family.
pub(super) fn build_wheel(paths: &[MonitoredUplink], v6: bool) -> UplinkWheel {
    let of = |path: &&MonitoredUplink| path.gateway.is_ipv6() == v6;
    let all: Vec<UplinkCandidate> =
        paths.iter().filter(of).map(MonitoredUplink::wheel_candidate).collect();
    UplinkWheel::from_candidates(&all)
}

/// The marks as configured.
pub(super) fn mark_bits(config: &UplinksConfig) -> MarkBits {
    MarkBits { bit: config.mark_bit }
}

fn is_single(why: &str) -> String {
    format!("own connections go by a hash of their addresses, not one by one: {why}")
}

fn load(config: &Config, events: &EventLog) -> Result<OpenUplinkPlane, String> {
    let home = bpf_pins::PinnedPlane::Uplinks.claim(config).map_err(|error| error_chain(&error))?;
    let plane = UplinkDatapath::open(&home).map_err(|error| error_chain(&error))?;
    bpf_pins::PinnedPlane::Uplinks.warn_if_not_persistent(&home, events);
    Ok(OpenUplinkPlane { plane, _pin_directory: home })
}

fn assign_own_numbers(plane: &UplinkDatapath, paths: &[MonitoredUplink]) -> Result<(), String> {
    for path in paths {
        let owned = plane.assign_number(path.number, name_hash(&path.config.name));
        owned.map_err(|error| error_chain(&error))?;
    }
    Ok(())
}

fn settings(config: &UplinksConfig, paths: &[MonitoredUplink]) -> io::Result<UplinkSettings> {
    let mut alive = [0; 2];
    let mut interfaces = [0; UPLINKS as usize];
    let spread = [false, true].map(|v6| build_wheel(paths, v6).spread);
    for path in paths {
        let one = path.wheel_candidate();
        if one.is_usable && (one.up || spread[usize::from(path.gateway.is_ipv6())]) {
            alive[usize::from(path.gateway.is_ipv6())] |= 1 << path.number;
        }
        if let Some(to) = interfaces.get_mut(usize::from(path.number) - 1) {
            *to = path.ifindex();
        }
    }
    let stays = [false, true].map(|v6| config.translate.applies_to_family(v6));
    Ok(UplinkSettings {
        network_namespace: netns::network_namespace()?,
        marks: Some(mark_bits(config)),
        alive,
        pins_source: stays,
        interfaces,
    })
}

/// Where the root of version 2 of control groups is mounted.
fn groups() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string(MOUNTS).ok()?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut words = place.split(' ').skip(3);
        let root = words.next()?;
        let at = words.next()?;
        (kind.starts_with("cgroup2 ") && root == "/").then(|| PathBuf::from(at))
    })
}
