//! `explain trace --watch`: frames of an interface to the analysis, and the report so far to the terminal.
//!
//! The ring of the kernel is read as fast as it is filled; reports are made of a copy, and take a part of the time at
//! most, so that the ring does not fill meanwhile.

mod kernel_ring;

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use trace::analysis::{Analysis, AnalysisSettings};
use trace::input::RingBlock;
use trace::report::TraceReport;
use trace::report_builder::{self, CaptureSource};

use self::kernel_ring::KernelRing;
use super::render;
use crate::interrupt::stop_on_interrupt;
use crate::outcome::{CommandError, sentence};
use crate::show::paint::Paint;
use crate::show::screen::{self, Screen};

/// How to watch.
#[derive(Clone, Copy, Debug)]
pub struct WatchSettings {
    /// When to end without being asked to.
    pub duration: Option<Duration>,
    pub ring_mebibytes: u32,
    /// Nothing is shown before the end.
    pub json: bool,
}

/// All interfaces.
const ANY: &str = "any";
/// How long the ring may stay silent before the clock and the signals are looked at again. Longer than the kernel keeps a
/// block that is not full.
const PATIENCE: Duration = Duration::from_millis(100);
/// Between two reports on the terminal, and between two looks at the kernel's counts.
const EVERY: Duration = Duration::from_secs(2);
/// Reports on the terminal take one part in so many of the time.
const SHARE: u32 = 20;
/// Connections that are told apart at a time: some six kilobytes each.
const MAX_CONNECTIONS: usize = 10_000;

/// Watches an interface until a signal, the time's end, or the interface's.
pub fn watch_interface(
    interface: &str,
    settings: AnalysisSettings,
    wishes: &WatchSettings,
) -> Result<TraceReport, CommandError> {
    let place = WatchedInterface::find(interface)?;
    // Before packets are taken: a signal from then on ends the watch with its report.
    let stop = stop_on_interrupt()?;
    let ring = KernelRing::open(place.index, wishes.ring_mebibytes)
        .map_err(|error| place.explain_refusal(&error, wishes.ring_mebibytes))?;
    let settings = AnalysisSettings { endless: true, max_connections: MAX_CONNECTIONS, ..settings };
    let mut watch = InterfaceWatch {
        place,
        ring,
        analysis: Analysis::new(settings),
        source: CaptureSource { files: vec![interface.to_owned()], ..CaptureSource::default() },
        broken: 0,
        down_since_ns: None,
        is_silent: false,
    };
    let end = wishes.duration.map(|duration| Instant::now() + duration);
    let mut view = WatchView::open(wishes.json)?;
    while !stop.load(Ordering::Relaxed)
        && end.is_none_or(|end| Instant::now() < end)
        && !watch.analysis.is_full()
    {
        if !watch.read_block()? {
            break;
        }
        if view.is_due() {
            watch.count_drops();
            view.show(&watch)?;
        }
    }
    drop(view);
    watch.drain(wishes.ring_mebibytes)?;
    watch.count_drops();
    let report = report_builder::build_report(watch.analysis.finish(), watch.source);
    Ok(report)
}

/// The interface, and its number.
#[derive(Debug)]
struct WatchedInterface {
    name: String,
    /// 0: all.
    index: u32,
}

impl WatchedInterface {
    fn find(name: &str) -> Result<WatchedInterface, CommandError> {
        let found = if name == ANY { Some(0) } else { interface_index(name) };
        let index = found.ok_or_else(|| {
            let names = interface_names().join(", ");
            CommandError::Absent(format!(
                "there is no interface `{name}`; expected one of {names}, or any for all"
            ))
        })?;
        Ok(WatchedInterface { name: name.to_owned(), index })
    }

    fn is_there(&self) -> bool {
        self.index == 0 || interface_index(&self.name) == Some(self.index)
    }

    fn explain_refusal(&self, error: &io::Error, mebibytes: u32) -> CommandError {
        let name = &self.name;
        let text = match error.kind() {
            io::ErrorKind::PermissionDenied => format!(
                "packets of {name} may not be read: run it as root, or give this program CAP_NET_RAW (setcap cap_net_raw+ep)"
            ),
            io::ErrorKind::OutOfMemory => format!(
                "the kernel has no memory for a ring of {mebibytes} MiB: choose a smaller one with --ring"
            ),
            _ => format!("packets of {name} cannot be read: {}", sentence(error)),
        };
        CommandError::Unusable(text)
    }
}

/// A running analysis of an interface.
struct InterfaceWatch {
    place: WatchedInterface,
    ring: KernelRing,
    analysis: Analysis,
    source: CaptureSource,
    /// Packets that a block of the ring announced and did not have.
    broken: u64,
    /// When the interface was found to be down, nanoseconds since 1970, until packets come that are younger.
    down_since_ns: Option<i64>,
    /// The last look at the ring found no block.
    is_silent: bool,
}

impl InterfaceWatch {
    /// Analyses a block of packets, if there is one. `false`: the interface is gone, and no other will come.
    fn read_block(&mut self) -> Result<bool, CommandError> {
        let analysis = &mut self.analysis;
        let down_since_ns = &mut self.down_since_ns;
        let read = self.ring.read_block(PATIENCE, |bytes| {
            let mut block = RingBlock::new(bytes);
            for frame in block.by_ref() {
                analysis.add_frame(&frame);
                // A block may hold what came before the interface went down.
                down_since_ns.take_if(|since_ns| frame.time_ns > *since_ns);
            }
            block.broken()
        });
        match read {
            Ok(broken) => {
                self.is_silent = broken.is_none();
                self.broken += u64::from(broken.unwrap_or(0));
            }
            Err(error) if error.kind() == io::ErrorKind::NetworkDown => {
                self.is_silent = false;
                self.down_since_ns = Some(epoch_ns());
            }
            Err(error) => {
                return Err(CommandError::Unusable(format!(
                    "packets of {} cannot be read any more: {}",
                    self.place.name,
                    sentence(&error)
                )));
            }
        }
        // The kernel reports that an interface went down, and nothing when one that is down is removed. Blocks that it
        // has still are read first.
        let is_removed = self.is_silent && self.down_since_ns.is_some() && !self.place.is_there();
        if is_removed {
            self.source.damage = Some(format!("interface {} was removed", self.place.name));
        }
        Ok(!is_removed)
    }

    /// Analyses what came before the end and that the kernel still has: at most a whole ring, of so many blocks.
    fn drain(&mut self, blocks: u32) -> Result<(), CommandError> {
        for _ in 0..blocks {
            if !self.read_block()? || self.is_silent {
                break;
            }
        }
        Ok(())
    }

    fn count_drops(&mut self) {
        // Counts that cannot be read are those of a ring that is gone.
        let dropped = self.ring.take_drops().unwrap_or_default();
        self.source.drops += dropped + std::mem::take(&mut self.broken);
    }
}

/// What a terminal shows meanwhile.
struct WatchView {
    screen: Option<Screen>,
    /// A line of progress where the report goes elsewhere.
    has_line: bool,
    next: Instant,
}

impl WatchView {
    fn open(json: bool) -> io::Result<WatchView> {
        let is_shown = !json && screen::is_terminal();
        let screen = if is_shown { Some(Screen::open(true)?) } else { None };
        let has_line = !is_shown && io::stderr().is_terminal();
        Ok(WatchView { screen, has_line, next: Instant::now() + EVERY })
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    fn show(&mut self, watch: &InterfaceWatch) -> io::Result<()> {
        let begun = Instant::now();
        if let Some(screen) = &mut self.screen {
            let report =
                report_builder::build_report(watch.analysis.interim(), watch.source.clone());
            let mut text = String::new();
            if watch.down_since_ns.is_some() {
                text.push_str(&format!("{} is down\n", watch.place.name));
            }
            text.push_str(&render::render_report(&report, screen::width(), Paint::for_stdout()));
            screen.draw(&text)?;
        } else if self.has_line {
            let frames = watch.analysis.facts().frames;
            let drops = watch.source.drops;
            let name = &watch.place.name;
            write!(io::stderr(), "\r{name}: {frames} packets, {drops} dropped; Ctrl-C ends ")?;
        }
        self.next = Instant::now() + EVERY.max(begun.elapsed() * SHARE);
        Ok(())
    }
}

impl Drop for WatchView {
    fn drop(&mut self) {
        if self.has_line {
            // A line that cannot be cleared stops nothing.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// The clock of packets, nanoseconds since 1970.
fn epoch_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn interface_index(name: &str) -> Option<u32> {
    let family = rustix::net::AddressFamily::INET;
    let socket = rustix::net::socket(family, rustix::net::SocketType::DGRAM, None).ok()?;
    rustix::net::netdevice::name_to_index(&socket, name).ok()
}

fn interface_names() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
