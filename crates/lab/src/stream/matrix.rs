//! The matrix of a stream benchmark: every carrier, way, buffer and message size, each repeated until its mean is known
//! well enough, or loudly not.
//!
//! It carries out nothing: cells go out, runs come in.

use super::ask::{Ask, Carrier, Seen, VERSION, Way};
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
    figures(ask, Some(&run.sent), Some(&run.received))
}

/// The figures of a run that broke off: those of the end that ordered it, which is the only one that tells.
pub fn metrics_of_cut(ask: &Ask, seen: &Seen) -> Vec<Metric> {
    match ask.way {
        Way::To => figures(ask, Some(seen), None),
        Way::From => figures(ask, None, Some(seen)),
    }
}

fn figures(ask: &Ask, sent: Option<&Seen>, received: Option<&Seen>) -> Vec<Metric> {
    let rate = |bytes: u64, nanos: u64| {
        if nanos > 0 { bytes as f64 * 8.0 / (nanos as f64 / 1e9) } else { 0.0 }
    };
    let mut out = Vec::new();
    let mut add = |name: &str, unit: &str, better, value: Option<f64>| {
        out.extend(value.map(|value| Metric::new(name, unit, better, value)));
    };
    let of_sent = |of: fn(&Seen) -> u64| sent.map(|seen| of(seen) as f64);
    let of_received = |of: fn(&Seen) -> u64| received.map(|seen| of(seen) as f64);
    // The receiver's clock ends with the last byte; a single read has no duration of its own.
    let throughput = received.map(|seen| {
        let others = sent.map_or(0, |sent| sent.nanos);
        rate(seen.bytes, if seen.nanos > 0 { seen.nanos } else { others })
    });
    add("throughput", "bit/s", Better::More, throughput);
    add("sent", "bit/s", Better::Neither, sent.map(|seen| rate(seen.bytes, seen.nanos)));
    if ask.carrier == Carrier::Udp {
        let loss = sent.zip(received).map(|(sent, received)| {
            let lost = sent.messages.saturating_sub(received.messages) as f64;
            lost / (sent.messages.max(1) as f64) * 100.0
        });
        add("messages-sent", "1", Better::Neither, of_sent(|seen| seen.messages));
        add("messages-received", "1", Better::Neither, of_received(|seen| seen.messages));
        add("loss", "%", Better::Less, loss);
        add("reordered", "1", Better::Less, of_received(|seen| seen.reordered));
        add("refused-by-sender", "1", Better::Neither, of_sent(|seen| seen.refused));
    }
    add("message", "B", Better::Neither, Some(f64::from(ask.message)));
    add("send-buffer", "B", Better::Neither, of_sent(|seen| seen.send_buffer));
    add("receive-buffer", "B", Better::Neither, of_received(|seen| seen.receive_buffer));
    add("segment", "B", Better::Neither, sent.and_then(|seen| seen.segment).map(f64::from));
    let again = sent.and_then(|seen| seen.retransmitted).map(f64::from);
    add("retransmitted", "1", Better::Less, again);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let names = |metrics: &[Metric]| -> Vec<String> {
            metrics.iter().map(|metric| metric.name.clone()).collect()
        };
        // Each end knows its own half.
        let to = names(&metrics_of_cut(&ask, &run.sent));
        let from = names(&metrics_of_cut(&Ask { way: Way::From, ..ask }, &run.received));
        let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
        assert!(has(&to, "sent") && !has(&to, "throughput") && !has(&to, "loss"), "{to:?}");
        assert!(has(&from, "throughput") && !has(&from, "sent") && !has(&from, "loss"), "{from:?}");
    }

    #[test]
    fn segments_that_were_sent_again_are_the_senders() {
        let (carrier, way) = (Carrier::Tcp, Way::To);
        let ask =
            Ask { version: VERSION, carrier, way, message: 1, buffer: None, millis: 1, rate: None };
        let sent = Seen { retransmitted: Some(7), ..Seen::default() };
        let received = Seen { retransmitted: Some(1), ..Seen::default() };
        let metrics = metrics(&ask, &Run { sent, received });
        let again = metrics.iter().find(|metric| metric.name == "retransmitted").unwrap();
        assert_eq!((again.value, again.better), (7.0, Better::Less));
    }
}
