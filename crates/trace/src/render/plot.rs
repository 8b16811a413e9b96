//! Plots over time: bytes in flight against the window with the limits below, throughput, and round trips.
//!
//! All share one time axis, so that one zoom fits all. Bytes in flight are the sender's view.

use model::limit::Limit;

use super::axis::{format_bytes, format_seconds, ticks};
use super::svg::{Svg, SvgPoint};
use crate::attribution::sender::SenderView;
use crate::attribution::transaction::{LimitStretch, limit_owner};
use crate::event::ConnectionSide;
use crate::scene::ConnectionScene;

/// Width of a plot's frame and of its inside.
pub const WIDTH: f64 = 1_000.0;
/// The left margin holds the figures of the axis.
const MARGIN_LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const INSIDE: f64 = WIDTH - MARGIN_LEFT - RIGHT;
/// Points of a line that are drawn at most.
/// Six for each pixel of the width: more are not seen.
const MAX_POINTS: usize = 6_000;
/// Bins of the throughput plot.
/// Four pixels each.
const BINS: usize = 240;

/// A plot: markup and height.
pub struct TracePlot {
    pub name: &'static str,
    /// The plot's title on the page.
    pub title: String,
    /// Markup without a frame.
    pub inner: String,
    pub height: f64,
}

/// The span of time that plots cover.
#[derive(Clone, Copy, Debug)]
pub struct PlotSpan {
    from_ns: i64,
    to_ns: i64,
}

impl PlotSpan {
    pub fn from_scene(scene: &ConnectionScene) -> PlotSpan {
        let events = &scene.conversation.events;
        let from_ns = events.first().map_or(0, |event| event.time_ns);
        let to_ns = events.last().map_or(1, |event| event.time_ns).max(from_ns + 1);
        PlotSpan { from_ns, to_ns }
    }

    /// The first moment, seconds.
    pub fn first_seconds(self) -> f64 {
        self.from_ns as f64 / 1e9
    }

    /// The last moment, seconds.
    pub fn last_seconds(self) -> f64 {
        self.to_ns as f64 / 1e9
    }

    fn x(self, time_ns: i64) -> f64 {
        (time_ns - self.from_ns) as f64 / (self.to_ns - self.from_ns) as f64 * INSIDE
    }
}

/// Bytes in flight, or of a window, from a time on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PlotSample {
    time_ns: i64,
    bytes: i64,
}

/// An axis of values; logarithmic or not.
#[derive(Clone, Copy)]
struct ValueAxis {
    most: f64,
    height: f64,
    log: bool,
}

impl ValueAxis {
    fn y(self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(1.0)).ln() / self.most.max(2.0).ln()
        } else {
            value / self.most.max(1e-12)
        };
        self.height * (1.0 - part.clamp(0.0, 1.0))
    }

    fn marks(self) -> Vec<f64> {
        if !self.log {
            return ticks(self.most, 4.0);
        }
        (0..=9).map(|power| 10_f64.powi(power)).take_while(|mark| *mark <= self.most).collect()
    }
}

/// Bytes in flight from `side`, the window of its peer, and the limits as a ribbon.
pub fn plot_in_flight(
    scene: &ConnectionScene,
    span: PlotSpan,
    side: ConnectionSide,
    log: bool,
) -> Option<TracePlot> {
    let sender = &scene.attribution.views.as_ref()?[side.index()];
    let mut flights = Vec::new();
    flight_steps(sender, &mut flights);
    let most = flights.iter().map(|sample| sample.bytes).max().filter(|most| *most > 0)?;
    let windows = sender.acks.iter();
    let windows: Vec<PlotSample> =
        windows.map(|ack| PlotSample { time_ns: ack.time_ns, bytes: ack.window }).collect();
    let widest = windows.iter().map(|sample| sample.bytes).max().unwrap_or(0);
    // A window that is far out of reach would flatten the line that matters.
    let shown = if log { widest } else { widest.min(most.saturating_mul(5)) };
    let scale = ValueAxis { most: most.max(shown) as f64 * 1.05, height: 230.0, log };
    let mut svg = Svg::default();
    let class = if sender.scaled { "window" } else { "window unknown" };
    svg.steps(class, &thinned(&windows, span, scale));
    svg.steps("flight", &thinned(&flights, span, scale));
    let repairs: Vec<SvgPoint> = sender
        .sent
        .iter()
        .filter(|sent| sent.repairs)
        .map(|sent| SvgPoint { x: span.x(sent.time_ns), y: scale.height - 3.0 })
        .take(MAX_POINTS)
        .collect();
    svg.dots("repair", &repairs);
    draw_limit_ribbon(&mut svg, scene, span, side, scale.height + 8.0);
    let who = if side == ConnectionSide::Client { "client" } else { "server" };
    let unknown = if sender.scaled { "" } else { " (scale not known: at least this)" };
    let title =
        format!("In flight from the {who}, in its own view, and the window it may fill{unknown}");
    let inner = framed(svg, scale, format_bytes, 24.0);
    let name = match (side, log) {
        (ConnectionSide::Client, false) => "flight-client",
        (ConnectionSide::Client, true) => "flight-client-log",
        (ConnectionSide::Server, false) => "flight-server",
        (ConnectionSide::Server, true) => "flight-server-log",
    };
    Some(TracePlot { name, title, inner, height: scale.height + 70.0 })
}

/// In flight at every packet and at every acknowledgement.
fn flight_steps(sender: &SenderView, out: &mut Vec<PlotSample>) {
    let mut known = 0;
    let mut acked = sender.sent.first().map_or(0, |sent| sent.from);
    for (sent, high) in sender.sent.iter().zip(&sender.high) {
        while let Some(ack) = sender.acks.get(known).filter(|ack| ack.time_ns <= sent.time_ns) {
            let before = out.last().map_or(0, |sample| sample.bytes);
            let drop = (ack.ack - acked).max(0);
            acked = acked.max(ack.ack);
            out.push(PlotSample { time_ns: ack.time_ns, bytes: (before - drop).max(0) });
            known += 1;
        }
        out.push(PlotSample { time_ns: sent.time_ns, bytes: (high - acked).max(0) });
    }
}

fn draw_limit_ribbon(
    svg: &mut Svg,
    scene: &ConnectionScene,
    span: PlotSpan,
    side: ConnectionSide,
    y: f64,
) {
    let mut drawn = 0;
    for transaction in &scene.attribution.transactions {
        for (sender, phase) in transaction.phases().filter(|(sender, _)| *sender == side) {
            for LimitStretch { limit, from_ns, to_ns } in &phase.stretches {
                // A twentieth of a pixel keeps the shortest stretch visible when the page is zoomed.
                let width = (span.x(*to_ns) - span.x(*from_ns)).max(0.05);
                if width < 0.3 && drawn > MAX_POINTS {
                    continue;
                }
                drawn += 1;
                let whose = limit_owner(*limit, sender).name();
                let class = format!("ribbon {whose} {}", class_of(*limit));
                let seconds = format_seconds((*to_ns - *from_ns) as f64 / 1e9);
                let title = format!("{}: {seconds}, {whose}", limit.title());
                svg.rect(&class, span.x(*from_ns), y, width, 14.0, &title);
            }
        }
        let thinks = transaction.response.as_ref().filter(|_| side == ConnectionSide::Server);
        if let Some(phase) = thinks.filter(|_| transaction.server_ns > 0) {
            let from = phase.from_ns - transaction.server_ns;
            let width = span.x(phase.from_ns) - span.x(from);
            let title = format!("{}: server", Limit::ServerThink.title());
            svg.rect("ribbon server think", span.x(from), y, width, 14.0, &title);
        }
    }
}

fn class_of(limit: Limit) -> &'static str {
    match limit {
        Limit::SillyWindow | Limit::ZeroWindow | Limit::Rwnd => "narrow",
        Limit::Loss | Limit::LossSuspected => "loss",
        Limit::SendBuffer => "buffer",
        Limit::AppSender => "app",
        _ => "other",
    }
}

/// Bytes a second of both directions.
pub fn plot_throughput(scene: &ConnectionScene, span: PlotSpan) -> TracePlot {
    let width_ns = (span.to_ns - span.from_ns) as f64 / BINS as f64;
    let mut bins = [[0.0; BINS]; 2];
    for event in scene.conversation.events.iter().filter(|event| event.has_new_data()) {
        let at = ((event.time_ns - span.from_ns) as f64 / width_ns) as usize;
        bins[event.side().index()][at.min(BINS - 1)] += f64::from(event.length);
    }
    let rate = |bytes: f64| bytes * 8.0 / (width_ns / 1e9);
    let most = bins.iter().flatten().fold(1.0, |most, bytes| f64::max(most, rate(*bytes)));
    let scale = ValueAxis { most: most * 1.05, height: 120.0, log: false };
    let mut svg = Svg::default();
    for (class, bins) in ["client", "server"].iter().zip(&bins) {
        let point = |(at, bytes): (usize, &f64)| SvgPoint {
            x: at as f64 * INSIDE / BINS as f64,
            y: scale.y(rate(*bytes)),
        };
        let points: Vec<SvgPoint> = bins.iter().enumerate().map(point).collect();
        svg.steps(&format!("rate {class}"), &points);
    }
    let inner = framed(svg, scale, format_bit_rate, 0.0);
    let title = "Throughput, by who sent".to_owned();
    TracePlot { name: "throughput", title, inner, height: scale.height + 40.0 }
}

/// Bits a second for people.
fn format_bit_rate(value: f64) -> String {
    if value < 1e3 { format!("{value:.0} bit/s") } else { format!("{}bit/s", format_bytes(value)) }
}

/// Every sample of the round trip, by who answered.
pub fn plot_round_trips(scene: &ConnectionScene, span: PlotSpan) -> TracePlot {
    let path = &scene.attribution.path;
    let samples = [ConnectionSide::Client, ConnectionSide::Server].map(|side| path.samples(side));
    let longest = samples.iter().flat_map(|samples| samples.iter());
    let most = longest.map(|sample| sample.round_trip_ns).max().unwrap_or(0) as f64 / 1e9;
    // A twentieth more, so that the highest point does not touch the edge. The least keeps an empty axis from dividing
    // by 0.
    let scale = ValueAxis { most: (most * 1.05).max(1e-6), height: 120.0, log: false };
    let mut svg = Svg::default();
    for (class, samples) in ["client", "server"].iter().zip(samples) {
        let step = samples.len() / MAX_POINTS + 1;
        let point = |sample: &crate::attribution::path::RoundTripSample| {
            let value = sample.round_trip_ns as f64 / 1e9;
            SvgPoint { x: span.x(sample.time_ns), y: scale.y(value) }
        };
        let points: Vec<SvgPoint> = samples.iter().step_by(step).map(point).collect();
        svg.dots(&format!("rtt {class}"), &points);
    }
    let inner = framed(svg, scale, format_seconds, 0.0);
    let title = "Round trip between capture and client, capture and server".to_owned();
    TracePlot { name: "round-trips", title, inner, height: scale.height + 40.0 }
}

/// At most this many points: of several on one pixel, the extremes.
fn thinned(points: &[PlotSample], span: PlotSpan, scale: ValueAxis) -> Vec<SvgPoint> {
    let at = |sample: &PlotSample| SvgPoint {
        x: span.x(sample.time_ns),
        y: scale.y(sample.bytes as f64),
    };
    if points.len() <= MAX_POINTS {
        return points.iter().map(at).collect();
    }
    let group = points.len() / (MAX_POINTS / 2) + 1;
    let extremes = |group: &[PlotSample]| {
        let low = group.iter().min_by_key(|sample| sample.bytes).copied();
        let high = group.iter().max_by_key(|sample| sample.bytes).copied();
        let mut both: Vec<PlotSample> = low.into_iter().chain(high).collect();
        both.sort_unstable();
        both
    };
    points.chunks(group).flat_map(extremes).map(|point| at(&point)).collect()
}

/// Adds the value axis; the page zooms the content along time.
fn framed(content: Svg, scale: ValueAxis, words: impl Fn(f64) -> String, extra: f64) -> String {
    let mut svg = Svg::default();
    for mark in scale.marks() {
        let y = 10.0 + scale.y(mark);
        svg.line("grid", MARGIN_LEFT, y, MARGIN_LEFT + INSIDE, y);
        svg.text("small", "end", MARGIN_LEFT - 6.0, y + 4.0, &words(mark));
    }
    let height = scale.height + extra;
    svg.raw(&format!(
        "<svg x=\"{MARGIN_LEFT}\" y=\"10\" width=\"{INSIDE}\" height=\"{height}\" viewBox=\"0 0 {INSIDE} {height}\" \
         preserveAspectRatio=\"none\" class=\"inside\"><g class=\"zoom\">"
    ));
    svg.raw(&content.inner());
    svg.raw("</g></svg>");
    svg.raw(&format!("<g class=\"times\" data-y=\"{}\"></g>", height + 26.0));
    svg.inner()
}
