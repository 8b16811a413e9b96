//! The matrix of a stream benchmark: every carrier, way, buffer and message size, each repeated until its mean is known
//! well enough, or loudly not.
//!
//! It carries out nothing: cells go out, runs come in.

use super::ask::{Ask, Carrier, VERSION, Way};
use super::client::Run;
use crate::result::{Better, Metric};
use crate::stats::interval::mean_width_percent;

/// What is to be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// TCP, UDP or both.
    pub carriers: Vec<Carrier>,
    /// To the serving end, from it, or both.
    pub ways: Vec<Way>,
    /// Socket buffers; `None`: as the kernel does it.
    pub buffers: Vec<Option<u32>>,
    /// Bytes of messages.
    pub messages: Vec<u32>,
    /// How long each run sends, milliseconds.
    pub millis: u32,
    /// Bits a second at which datagrams leave at most, with all heads on Ethernet.
    pub rate: Option<u64>,
    /// How sure the mean must be.
    pub wanted: Wanted,
}

/// When a cell has been repeated enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Confidence of the interval, 0.95 or 0.99.
    pub confidence: f64,
    /// The interval's width in per cent of the mean, both sides together.
    pub width_percent: f64,
    /// Runs at least.
    pub least: u32,
    /// Runs at most.
    pub most: u32,
}

/// A cell's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// Another run is needed.
    NotYet,
    /// The interval is narrow enough.
    Enough,
    /// It is not, after all runs that may be made: its width in per cent of the mean.
    Loose(f64),
}

impl Matrix {
    /// Every cell; runs of a way and a carrier stand together, larger buffers later.
    pub fn cells(&self) -> Vec<Ask> {
        let mut cells = Vec::new();
        for carrier in &self.carriers {
            for way in &self.ways {
                for buffer in &self.buffers {
                    for message in &self.messages {
                        let (carrier, way, buffer, message) = (*carrier, *way, *buffer, *message);
                        let (version, millis) = (VERSION, self.millis);
                        let rate = self.rate.filter(|_| carrier == Carrier::Udp);
                        cells.push(Ask { version, carrier, way, message, buffer, millis, rate });
                    }
                }
            }
        }
        cells
    }
}

impl Wanted {
    /// Whether these throughputs are enough.
    pub fn judge(&self, throughputs: &[f64]) -> Known {
        let runs = throughputs.len() as u32;
        if runs < self.least {
            return Known::NotYet;
        }
        let width = mean_width_percent(throughputs, self.confidence).map(|half| half * 2.0);
        match width {
            Some(width) if width <= self.width_percent => Known::Enough,
            _ if runs < self.most => Known::NotYet,
            Some(width) => Known::Loose(width),
            None => Known::Loose(f64::INFINITY),
        }
    }
}

/// What a cell is called.
pub fn name(ask: &Ask) -> String {
    let carrier = match ask.carrier {
        Carrier::Tcp => "tcp",
        Carrier::Udp => "udp",
    };
    let way = match ask.way {
        Way::To => "to",
        Way::From => "from",
    };
    let buffer = ask.buffer.map_or("auto".to_owned(), |bytes| format!("{bytes} B"));
    format!("{carrier} {way}, buffer {buffer}, message {} B", ask.message)
}

/// The figures of a run. What was received counts as throughput: what was sent may be lost.
pub fn metrics(ask: &Ask, run: &Run) -> Vec<Metric> {
    let rate = |bytes: u64, nanos: u64| {
        if nanos > 0 { bytes as f64 * 8.0 / (nanos as f64 / 1e9) } else { 0.0 }
    };
    let (sent, received) = (&run.sent, &run.received);
    let mut out = Vec::new();
    let mut add =
        |name: &str, unit: &str, better, value| out.push(Metric::new(name, unit, better, value));
    // The receiver's clock ends with the last byte; a single read has no duration of its own.
    let nanos = if received.nanos > 0 { received.nanos } else { sent.nanos };
    add("throughput", "bit/s", Better::More, rate(received.bytes, nanos));
    add("sent", "bit/s", Better::Neither, rate(sent.bytes, sent.nanos));
    if ask.carrier == Carrier::Udp {
        let lost = sent.messages.saturating_sub(received.messages) as f64;
        add("messages-sent", "1", Better::Neither, sent.messages as f64);
        add("messages-received", "1", Better::Neither, received.messages as f64);
        add("loss", "%", Better::Less, lost / (sent.messages.max(1) as f64) * 100.0);
        add("reordered", "1", Better::Less, received.reordered as f64);
        add("refused-by-sender", "1", Better::Neither, sent.refused as f64);
    }
    add("message", "B", Better::Neither, f64::from(ask.message));
    add("send-buffer", "B", Better::Neither, sent.send_buffer as f64);
    add("receive-buffer", "B", Better::Neither, received.receive_buffer as f64);
    if let Some(segment) = sent.segment {
        add("segment", "B", Better::Neither, f64::from(segment));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::ask::Seen;

    const WANTED: Wanted = Wanted { confidence: 0.95, width_percent: 5.0, least: 3, most: 5 };

    #[test]
    fn repeats_end_when_the_mean_is_known_or_loudly_not() {
        assert_eq!(WANTED.judge(&[100.0, 100.0]), Known::NotYet);
        assert_eq!(WANTED.judge(&[100.0, 100.5, 99.5]), Known::Enough);
        assert_eq!(WANTED.judge(&[100.0, 150.0, 50.0]), Known::NotYet);
        let Known::Loose(width) = WANTED.judge(&[100.0, 150.0, 50.0, 100.0, 90.0]) else {
            panic!()
        };
        assert!(width > 50.0, "{width}");
        assert!(matches!(WANTED.judge(&[0.0; 5]), Known::Loose(_)));
    }

    #[test]
    fn the_matrix_is_whole_and_its_names_differ() {
        let matrix = Matrix {
            carriers: vec![Carrier::Tcp, Carrier::Udp],
            ways: vec![Way::To, Way::From],
            buffers: vec![None, Some(32_768), Some(65_536)],
            messages: vec![64, 1_448],
            millis: 100,
            rate: Some(1_000_000),
            wanted: WANTED,
        };
        let cells = matrix.cells();
        assert_eq!(cells.len(), 24);
        assert!(cells.iter().all(|ask| ask.check().is_ok()), "streams have no rate");
        let names: std::collections::BTreeSet<String> = cells.iter().map(name).collect();
        assert_eq!(names.len(), 24);
    }

    #[test]
    fn what_is_lost_is_no_throughput() {
        let ask = Ask {
            version: VERSION,
            carrier: Carrier::Udp,
            way: Way::To,
            message: 1_000,
            buffer: None,
            millis: 1_000,
            rate: None,
        };
        let second = Seen { nanos: 1_000_000_000, ..Seen::default() };
        let run = Run {
            sent: Seen { bytes: 1_000_000, messages: 1_000, ..second },
            received: Seen { bytes: 750_000, messages: 750, reordered: 3, ..second },
        };
        let metrics = metrics(&ask, &run);
        let of = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().value;
        assert_eq!(
            (of("throughput"), of("sent"), of("loss"), of("reordered")),
            (6e6, 8e6, 25.0, 3.0)
        );
    }
}
