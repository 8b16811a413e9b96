//! The bounce diagram: two lifelines and an arrow for each packet, as slanted as the path is long.
//!
//! Long silences are compressed and named. More packets than fit are drawn as bursts. Packets behind findings are
//! marked, and the capture is drawn where it was.

use model::limit::Limit;

use super::svg::Svg;
use crate::attribution::transaction::{LimitStretch, limit_owner};
use crate::event::{ConnectionSide, PacketEvent};
use crate::report::BottleneckFinding;
use crate::scene::ConnectionScene;
use crate::sentence::format_span;

/// Arrows that are drawn at most.
/// Bounds the elements of the page.
const MAX_ARROWS: usize = 2_000;
/// Sizes of the drawing in pixels, here and below.
const MARGIN_LEFT: f64 = 190.0;
const RIGHT: f64 = 830.0;
const TOP: f64 = 92.0;
/// Pixels of a compressed silence.
const BREAK: f64 = 34.0;
/// Pixels between two arrows, at least and at most.
const SMALLEST_ROOM: f64 = 11.0;
const LARGEST_ROOM: f64 = 90.0;
/// Silences longer than this are compressed, nanoseconds.
/// A second would take more pixels than all packets of a usual exchange.
const LONG_NS: i64 = 1_000_000_000;

/// One packet, or several consecutive ones in one direction.
struct Arrow {
    time_ns: i64,
    side: ConnectionSide,
    packets: u32,
    bytes: u64,
    first: PacketEvent,
    last: u32,
    repeat: bool,
}

/// The diagram: markup without a frame, and height in pixels.
#[derive(Debug)]
pub struct BounceDiagram {
    pub inner: String,
    pub height: f64,
}

pub fn draw_bounce_diagram(
    scene: &ConnectionScene,
    findings: &[BottleneckFinding],
) -> BounceDiagram {
    let arrows = arrows(&scene.conversation.events);
    let map = TimeMap::from_arrows(&arrows);
    let mut svg = Svg::default();
    let bottom = map.end() + 60.0;
    lifelines(&mut svg, scene, bottom);
    for CompressedSilence { after, y, gap_ns } in &map.breaks {
        let cause = cause_of(scene, arrows[*after].time_ns, *gap_ns);
        let name = cause.map_or("silence", |cause| cause.title);
        let class = cause.map_or("idle", |cause| cause.owner);
        let height = BREAK - 6.0;
        svg.rect(&format!("band {class}"), MARGIN_LEFT, y + 3.0, RIGHT - MARGIN_LEFT, height, name);
        let words = format!("{} · {name}", format_span(*gap_ns));
        svg.text("gap", "middle", (MARGIN_LEFT + RIGHT) / 2.0, y + BREAK / 2.0 + 4.0, &words);
    }
    let near = [ConnectionSide::Client, ConnectionSide::Server]
        .map(|side| scene.attribution.path.near_ns(side) as f64);
    for (arrow, y) in arrows.iter().zip(&map.heights) {
        draw_arrow(&mut svg, arrow, *y, map.per_ns, near, scene, findings);
    }
    let height = bottom + 20.0;
    BounceDiagram { inner: svg.inner(), height }
}

fn lifelines(svg: &mut Svg, scene: &ConnectionScene, bottom: f64) {
    let ends = scene.conversation.ends;
    let path = &scene.attribution.path;
    let client = path.near_ns(ConnectionSide::Client);
    let server = path.near_ns(ConnectionSide::Server);
    let whole = (client + server).max(1) as f64;
    let x = MARGIN_LEFT + (RIGHT - MARGIN_LEFT) * client as f64 / whole;
    svg.line("capture", x, 56.0, x, bottom);
    svg.text("small", "middle", x.clamp(MARGIN_LEFT + 30.0, RIGHT - 30.0), 54.0, "capture");
    for (at, name, end) in [(MARGIN_LEFT, "client", ends[0]), (RIGHT, "server", ends[1])] {
        svg.line("life", at, 44.0, at, bottom);
        svg.text("name", "middle", at, 18.0, name);
        let words = format!("{} · {}", crate::address::ip(end.address), end.port);
        svg.text("small", "middle", at, 34.0, &words);
    }
}

fn draw_arrow(
    svg: &mut Svg,
    arrow: &Arrow,
    at: f64,
    per_ns: f64,
    near: [f64; 2],
    scene: &ConnectionScene,
    findings: &[BottleneckFinding],
) {
    // Slants are to scale up to the distance that separates arrows.
    let slant = |ns: f64| (ns / 2.0 * per_ns).clamp(1.0, 26.0);
    let client = slant(near[0]);
    let server = slant(near[1]);
    let ((x1, y1), (x2, y2)) = match arrow.side {
        ConnectionSide::Client => ((MARGIN_LEFT, at - client), (RIGHT, at + server)),
        ConnectionSide::Server => ((RIGHT, at - server), (MARGIN_LEFT, at + client)),
    };
    let segment = u64::from(scene.attribution.segments[arrow.side.index()]);
    let size = match arrow.bytes / u64::from(arrow.packets.max(1)) {
        _ if arrow.repeat => "again",
        0 => "none",
        bytes if bytes < segment => "part",
        _ => "full",
    };
    let mut class = format!("arrow {size}");
    // Only the first three findings are marked; with more, most arrows would be.
    for (rank, finding) in findings.iter().enumerate().take(3) {
        let evidence = &finding.evidence;
        let within = evidence.connection == scene.number
            && arrow.last >= evidence.from_packet
            && arrow.first.number <= evidence.to_packet;
        if within {
            class.push_str(&format!(" found found{rank}"));
        }
    }
    svg.line(&class, x1, y1, x2, y2);
    let tip = if arrow.side == ConnectionSide::Client { -7.0 } else { 7.0 };
    svg.raw(&format!("<path class=\"{class} tip\" d=\"M{x2:.1} {y2:.1}l{tip:.1} -3.5v7z\"/>"));
    let (words_x, anchor) = match arrow.side {
        ConnectionSide::Client => (MARGIN_LEFT - 8.0, "end"),
        ConnectionSide::Server => (RIGHT + 8.0, "start"),
    };
    svg.text("label", anchor, words_x, y1 + 3.5, &label(arrow));
}

fn label(arrow: &Arrow) -> String {
    let first = &arrow.first;
    let seconds = arrow.time_ns as f64 / 1e9;
    if arrow.packets > 1 {
        return format!("{seconds:.4} · {} packets, {} bytes", arrow.packets, arrow.bytes);
    }
    let flags =
        [(first.is_syn(), " SYN"), (first.is_fin(), " FIN"), (first.flags & 4 != 0, " RST")];
    let flags: String = flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
    match first.length {
        0 => format!("{seconds:.4}{flags} ack {} win {}", first.ack, first.window),
        length => format!("{seconds:.4}{flags} {}+{length} win {}", first.seq, first.window),
    }
}

fn arrows(events: &[PacketEvent]) -> Vec<Arrow> {
    let one = |event: &PacketEvent| Arrow {
        time_ns: event.time_ns,
        side: event.side(),
        packets: 1,
        bytes: u64::from(event.length),
        first: *event,
        last: event.number,
        repeat: event.is_retransmission(),
    };
    if events.len() <= MAX_ARROWS {
        return events.iter().map(one).collect();
    }
    // Larger and larger bursts, until they fit; empty acknowledgements within do not end a burst.
    let mut within_ns = 1_000_000;
    loop {
        let mut out: Vec<Arrow> = Vec::new();
        for event in events {
            match out.last_mut() {
                Some(last)
                    if (last.side == event.side() || event.length == 0)
                        && event.time_ns - last.time_ns <= within_ns =>
                {
                    last.packets += 1;
                    last.bytes += u64::from(event.length);
                    last.last = event.number;
                    last.repeat |= event.is_retransmission();
                }
                _ => out.push(one(event)),
            }
        }
        if out.len() <= MAX_ARROWS || within_ns > i64::MAX / 8 {
            out.truncate(MAX_ARROWS);
            return out;
        }
        within_ns *= 4;
    }
}

/// The longest limit in a silence, for people.
#[derive(Clone, Copy)]
struct SilenceCause {
    ns: i64,
    title: &'static str,
    owner: &'static str,
}

fn cause_of(scene: &ConnectionScene, from_ns: i64, gap_ns: i64) -> Option<SilenceCause> {
    let within = |from: i64, to: i64| to.min(from_ns + gap_ns) - from.max(from_ns);
    let mut longest: Option<SilenceCause> = None;
    let mut offer = |ns: i64, limit: Limit, sender: ConnectionSide| {
        if ns > 0 && longest.is_none_or(|known| ns > known.ns) {
            let owner = limit_owner(limit, sender).name();
            longest = Some(SilenceCause { ns, title: limit.title(), owner });
        }
    };
    for transaction in &scene.attribution.transactions {
        for (sender, phase) in transaction.phases() {
            for LimitStretch { limit, from_ns, to_ns } in &phase.stretches {
                offer(within(*from_ns, *to_ns), *limit, sender);
            }
        }
        if let Some(response) = &transaction.response {
            let from = response.from_ns - transaction.server_ns;
            offer(within(from, response.from_ns), Limit::ServerThink, ConnectionSide::Server);
        }
        let start = transaction.span().from_ns;
        offer(
            within(start - transaction.pause_ns, start),
            Limit::ClientThink,
            ConnectionSide::Client,
        );
    }
    longest
}

/// A silence that is drawn shorter than to scale.
struct CompressedSilence {
    /// The index of the arrow before it.
    after: usize,
    /// Where it begins, pixels.
    y: f64,
    /// Its length in nanoseconds.
    gap_ns: i64,
}

/// From time to pixels: to scale between packets, silences compressed.
struct TimeMap {
    /// Of every arrow, pixels from the top.
    heights: Vec<f64>,
    breaks: Vec<CompressedSilence>,
    per_ns: f64,
}

impl TimeMap {
    fn from_arrows(arrows: &[Arrow]) -> TimeMap {
        let gaps: Vec<i64> =
            arrows.windows(2).map(|pair| pair[1].time_ns - pair[0].time_ns).collect();
        let mut short: Vec<i64> =
            gaps.iter().copied().filter(|gap| *gap <= LONG_NS && *gap > 0).collect();
        short.sort_unstable();
        let usual = short.get(short.len() * 3 / 4).copied().unwrap_or(1_000_000).max(1);
        let per_ns = 30.0 / usual as f64;
        let mut y = TOP;
        let mut map =
            TimeMap { heights: Vec::with_capacity(arrows.len()), breaks: Vec::new(), per_ns };
        for at in 0..arrows.len() {
            if at > 0 {
                let gap_ns = gaps[at - 1];
                if gap_ns > LONG_NS {
                    map.breaks.push(CompressedSilence { after: at - 1, y, gap_ns });
                    y += BREAK + SMALLEST_ROOM;
                } else {
                    y += (gap_ns as f64 * per_ns).clamp(SMALLEST_ROOM, LARGEST_ROOM);
                }
            }
            map.heights.push(y);
        }
        map
    }

    fn end(&self) -> f64 {
        self.heights.last().copied().unwrap_or(TOP)
    }
}
