//! The matrix of a stream benchmark: every transport, direction, buffer and message size, each repeated until its mean
//! is precise enough or reported as imprecise.
//!
//! It makes no runs: it returns cells and assesses runs.

use super::client::StreamRun;
use super::request::{StreamDirection, StreamReport, StreamRequest, StreamTransport, VERSION};
use crate::result::{BenchMetric, MetricDirection};
use crate::stats::interval::mean_width_percent;

/// The parameters of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// TCP, UDP or both.
    pub carriers: Vec<StreamTransport>,
    /// To the server, from it, or both.
    pub directions: Vec<StreamDirection>,
    /// Socket buffer sizes; `None`: the kernel chooses.
    pub buffers: Vec<Option<u32>>,
    pub messages: Vec<u32>,
    /// Duration of sending in each run, milliseconds.
    pub millis: u32,
    /// Largest bit rate of datagrams, with all headers on Ethernet.
    pub rate: Option<u64>,
    /// The required precision of the mean.
    pub precision: PrecisionTarget,
}

/// The precision at which a cell has been repeated enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionTarget {
    /// Confidence of the interval, 0.95 or 0.99.
    pub confidence: f64,
    /// Full width of the interval in per cent of the mean.
    pub width_percent: f64,
    pub least: u32,
    pub most: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellPrecision {
    /// Another run is needed.
    NotYet,
    /// The interval is narrow enough.
    Precise,
    /// After all allowed runs the interval is still too wide: its width in per cent of the mean.
    Imprecise(f64),
}

impl Matrix {
    /// All cells, ordered by direction and transport, with larger buffers later.
    pub fn cells(&self) -> Vec<StreamRequest> {
        let mut cells = Vec::new();
        for carrier in &self.carriers {
            for way in &self.directions {
                for buffer in &self.buffers {
                    for message in &self.messages {
                        let carrier = *carrier;
                        let way = *way;
                        let buffer = *buffer;
                        let message = *message;
                        let version = VERSION;
                        let millis = self.millis;
                        let rate = self.rate.filter(|_| carrier == StreamTransport::Udp);
                        cells.push(StreamRequest {
                            version,
                            carrier,
                            way,
                            message,
                            buffer,
                            millis,
                            rate,
                        });
                    }
                }
            }
        }
        cells
    }
}

impl PrecisionTarget {
    /// Whether these throughputs are precise enough.
    pub fn check_precision(&self, throughputs: &[f64]) -> CellPrecision {
        let runs = throughputs.len() as u32;
        if runs < self.least {
            return CellPrecision::NotYet;
        }
        let width = mean_width_percent(throughputs, self.confidence).map(|half| half * 2.0);
        match width {
            Some(width) if width <= self.width_percent => CellPrecision::Precise,
            _ if runs < self.most => CellPrecision::NotYet,
            Some(width) => CellPrecision::Imprecise(width),
            None => CellPrecision::Imprecise(f64::INFINITY),
        }
    }
}

/// The name of a cell.
pub fn cell_name(ask: &StreamRequest) -> String {
    let carrier = match ask.carrier {
        StreamTransport::Tcp => "tcp",
        StreamTransport::Udp => "udp",
    };
    let way = match ask.way {
        StreamDirection::To => "to",
        StreamDirection::From => "from",
    };
    let buffer = ask.buffer.map_or("auto".to_owned(), |bytes| format!("{bytes} B"));
    format!("{carrier} {way}, buffer {buffer}, message {} B", ask.message)
}

/// The figures of a run. The throughput is that of received data, because sent data may be lost.
pub fn metrics(ask: &StreamRequest, run: &StreamRun) -> Vec<BenchMetric> {
    build_metrics(ask, Some(&run.sent), Some(&run.received))
}

/// The figures of an interrupted run, only those of the client.
pub fn partial_metrics(ask: &StreamRequest, seen: &StreamReport) -> Vec<BenchMetric> {
    match ask.way {
        StreamDirection::To => build_metrics(ask, Some(seen), None),
        StreamDirection::From => build_metrics(ask, None, Some(seen)),
    }
}

fn build_metrics(
    ask: &StreamRequest,
    sent: Option<&StreamReport>,
    received: Option<&StreamReport>,
) -> Vec<BenchMetric> {
    let rate = |bytes: u64, nanos: u64| {
        if nanos > 0 { bytes as f64 * 8.0 / (nanos as f64 / 1e9) } else { 0.0 }
    };
    let mut out = Vec::new();
    let mut add = |name: &str, unit: &str, better, value: Option<f64>| {
        out.extend(value.map(|value| BenchMetric::new(name, unit, better, value)));
    };
    let of_sent = |of: fn(&StreamReport) -> u64| sent.map(|seen| of(seen) as f64);
    let of_received = |of: fn(&StreamReport) -> u64| received.map(|seen| of(seen) as f64);
    // The receiver's time ends with the last byte; a single read has no duration of its own.
    let throughput = received.map(|seen| {
        let others = sent.map_or(0, |sent| sent.nanos);
        rate(seen.bytes, if seen.nanos > 0 { seen.nanos } else { others })
    });
    add("throughput", "bit/s", MetricDirection::More, throughput);
    add("sent", "bit/s", MetricDirection::Neither, sent.map(|seen| rate(seen.bytes, seen.nanos)));
    if ask.carrier == StreamTransport::Udp {
        let loss = sent.zip(received).map(|(sent, received)| {
            let lost = sent.messages.saturating_sub(received.messages) as f64;
            lost / (sent.messages.max(1) as f64) * 100.0
        });
        add("messages-sent", "1", MetricDirection::Neither, of_sent(|seen| seen.messages));
        add("messages-received", "1", MetricDirection::Neither, of_received(|seen| seen.messages));
        add("loss", "%", MetricDirection::Less, loss);
        add("reordered", "1", MetricDirection::Less, of_received(|seen| seen.reordered));
        add("refused-by-sender", "1", MetricDirection::Neither, of_sent(|seen| seen.refused));
    }
    add("message", "B", MetricDirection::Neither, Some(f64::from(ask.message)));
    add("send-buffer", "B", MetricDirection::Neither, of_sent(|seen| seen.send_buffer));
    add("receive-buffer", "B", MetricDirection::Neither, of_received(|seen| seen.receive_buffer));
    add(
        "segment",
        "B",
        MetricDirection::Neither,
        sent.and_then(|seen| seen.segment).map(f64::from),
    );
    let retransmitted = sent.and_then(|seen| seen.retransmitted).map(f64::from);
    add("retransmitted", "1", MetricDirection::Less, retransmitted);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT_PRECISION: PrecisionTarget =
        PrecisionTarget { confidence: 0.95, width_percent: 5.0, least: 3, most: 5 };

    // Rows: L03
    #[test]
    fn repeats_end_when_the_mean_is_known_or_loudly_not() {
        assert_eq!(DEFAULT_PRECISION.check_precision(&[100.0, 100.0]), CellPrecision::NotYet);
        assert_eq!(
            DEFAULT_PRECISION.check_precision(&[100.0, 100.5, 99.5]),
            CellPrecision::Precise
        );
        assert_eq!(DEFAULT_PRECISION.check_precision(&[100.0, 150.0, 50.0]), CellPrecision::NotYet);
        let CellPrecision::Imprecise(width) =
            DEFAULT_PRECISION.check_precision(&[100.0, 150.0, 50.0, 100.0, 90.0])
        else {
            panic!()
        };
        assert!(width > 50.0, "{width}");
        assert!(matches!(
            DEFAULT_PRECISION.check_precision(&[0.0; 5]),
            CellPrecision::Imprecise(_)
        ));
    }

    // Rows: L01
    #[test]
    fn the_matrix_is_whole_and_its_names_differ() {
        let matrix = Matrix {
            carriers: vec![StreamTransport::Tcp, StreamTransport::Udp],
            directions: vec![StreamDirection::To, StreamDirection::From],
            buffers: vec![None, Some(32_768), Some(65_536)],
            messages: vec![64, 1_448],
            millis: 100,
            rate: Some(1_000_000),
            precision: DEFAULT_PRECISION,
        };
        let cells = matrix.cells();
        assert_eq!(cells.len(), 24);
        assert!(cells.iter().all(|ask| ask.check().is_ok()), "streams have no rate");
        let names: std::collections::BTreeSet<String> = cells.iter().map(cell_name).collect();
        assert_eq!(names.len(), 24);
    }

    // Rows: L04
    #[test]
    fn lost_bytes_are_no_throughput() {
        let ask = StreamRequest {
            version: VERSION,
            carrier: StreamTransport::Udp,
            way: StreamDirection::To,
            message: 1_000,
            buffer: None,
            millis: 1_000,
            rate: None,
        };
        let second = StreamReport { nanos: 1_000_000_000, ..StreamReport::default() };
        let run = StreamRun {
            sent: StreamReport { bytes: 1_000_000, messages: 1_000, ..second },
            received: StreamReport { bytes: 750_000, messages: 750, reordered: 3, ..second },
        };
        let metrics = metrics(&ask, &run);
        let of = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().value;
        assert_eq!(
            (of("throughput"), of("sent"), of("loss"), of("reordered")),
            (6e6, 8e6, 25.0, 3.0)
        );
        let names = |metrics: &[BenchMetric]| -> Vec<String> {
            metrics.iter().map(|metric| metric.name.clone()).collect()
        };
        // Each end knows its own half.
        let to = names(&partial_metrics(&ask, &run.sent));
        let from = names(&partial_metrics(
            &StreamRequest { way: StreamDirection::From, ..ask },
            &run.received,
        ));
        let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
        assert!(has(&to, "sent") && !has(&to, "throughput") && !has(&to, "loss"), "{to:?}");
        assert!(has(&from, "throughput") && !has(&from, "sent") && !has(&from, "loss"), "{from:?}");
    }

    #[test]
    fn segments_that_were_sent_again_are_the_senders() {
        let carrier = StreamTransport::Tcp;
        let way = StreamDirection::To;
        let ask = StreamRequest {
            version: VERSION,
            carrier,
            way,
            message: 1,
            buffer: None,
            millis: 1,
            rate: None,
        };
        let sent = StreamReport { retransmitted: Some(7), ..StreamReport::default() };
        let received = StreamReport { retransmitted: Some(1), ..StreamReport::default() };
        let metrics = metrics(&ask, &StreamRun { sent, received });
        let retransmitted = metrics.iter().find(|metric| metric.name == "retransmitted").unwrap();
        assert_eq!((retransmitted.value, retransmitted.better), (7.0, MetricDirection::Less));
    }
}
