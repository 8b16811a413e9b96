//! Packets of planted cases, and the capture files made of them.

use serde_json::Value;
use trace::analysis::{Analysis, AnalysisSettings};
use trace::ingest::ingest_capture;
use trace::render::page::{self, draw_connection};
use trace::report::TraceReport;
use trace::report_builder::{CaptureSource, build_report};

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;
pub const MS: i64 = 1_000_000;

/// A packet as it passes the place of the capture.
#[derive(Clone, Debug)]
pub struct PlantedPacket {
    pub time_ns: i64,
    pub connection: u16,
    pub is_from_client: bool,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    /// Window scale, in SYNs.
    pub scale: Option<u8>,
    pub ip_id: u16,
    pub ttl: u8,
    pub vlan: Option<u16>,
    /// TCP timestamps: value and echo.
    pub stamps: Option<[u32; 2]>,
    pub payload: Vec<u8>,
}

impl PlantedPacket {
    /// The packet from its Ethernet header on.
    pub fn frame(&self) -> Vec<u8> {
        let client = ([10, 0, 0, 1], 20_000 + self.connection);
        let server = ([10, 0, 0, 2], 80);
        let (from, to) = if self.is_from_client { (client, server) } else { (server, client) };
        let mut options = Vec::new();
        if self.flags & SYN != 0 {
            options.extend([2, 4, 5, 180]);
            if let Some(shift) = self.scale {
                options.extend([1, 3, 3, shift]);
            }
        }
        if let Some([value, echo]) = self.stamps {
            options.extend([1, 1, 8, 10]);
            options.extend(value.to_be_bytes());
            options.extend(echo.to_be_bytes());
        }
        let header = 20 + options.len();
        let total = (20 + header + self.payload.len()) as u16;
        let mut out = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if let Some(vlan) = self.vlan {
            out.extend([0x81, 0]);
            out.extend(vlan.to_be_bytes());
        }
        out.extend([8, 0, 0x45, 0]);
        out.extend(total.to_be_bytes());
        out.extend(self.ip_id.to_be_bytes());
        out.extend([0x40, 0, self.ttl, 6, 0, 0]);
        out.extend(from.0);
        out.extend(to.0);
        out.extend(from.1.to_be_bytes());
        out.extend(to.1.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        out.extend([(header as u8 / 4) << 4, self.flags]);
        out.extend(self.window.to_be_bytes());
        out.extend([0; 4]);
        out.extend(options);
        out.extend(&self.payload);
        out
    }
}

/// A pcap file in nanoseconds of these packets, in order of time.
pub fn write_pcap(packets: &[PlantedPacket]) -> Vec<u8> {
    let mut sorted: Vec<&PlantedPacket> = packets.iter().collect();
    sorted.sort_by_key(|packet| packet.time_ns);
    let mut out = Vec::new();
    for value in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        out.extend(value.to_le_bytes());
    }
    for packet in sorted {
        append_frame(&mut out, packet.time_ns, &packet.frame());
    }
    out
}

/// Appends a frame to a pcap file.
pub fn append_frame(out: &mut Vec<u8>, time_ns: i64, frame: &[u8]) {
    append_cut_frame(out, time_ns, frame, frame.len());
}

/// Appends a frame of which at most so many bytes were captured.
pub fn append_cut_frame(out: &mut Vec<u8>, time_ns: i64, frame: &[u8], most: usize) {
    let captured = &frame[..most.min(frame.len())];
    let seconds = 1_700_000_000 + time_ns / 1_000_000_000;
    let fraction = time_ns % 1_000_000_000;
    for value in [seconds as u32, fraction as u32, captured.len() as u32, frame.len() as u32] {
        out.extend(value.to_le_bytes());
    }
    out.extend(captured);
}

/// The report of a capture of these packets.
pub fn analyse(packets: &[PlantedPacket]) -> Value {
    serde_json::to_value(report_of(packets)).unwrap()
}

fn report_of(packets: &[PlantedPacket]) -> TraceReport {
    report_with(packets, AnalysisSettings::default())
}

/// The report of a capture of these packets, with these limits.
pub fn report_with(packets: &[PlantedPacket], settings: AnalysisSettings) -> TraceReport {
    report_of_file(&write_pcap(packets), settings)
}

/// The report of a capture file, with these limits.
pub fn report_of_file(bytes: &[u8], settings: AnalysisSettings) -> TraceReport {
    let mut analysis = Analysis::new(settings);
    let mut source = CaptureSource::default();
    ingest_capture(&mut analysis, &mut source, "planted", bytes, |_| ()).unwrap();
    build_report(analysis.finish(), source)
}

/// The page of a connection.
pub fn draw(packets: &[PlantedPacket], number: u32) -> String {
    let settings = AnalysisSettings { only: Some(number), ..AnalysisSettings::default() };
    let mut analysis = Analysis::new(settings);
    let mut source = CaptureSource::default();
    let bytes = write_pcap(packets);
    ingest_capture(&mut analysis, &mut source, "planted", &bytes[..], |_| ()).unwrap();
    let scene = analysis.scene(number).unwrap();
    draw_connection(&scene, &report_of(packets)).page
}

/// The page of a connection, and of those that a page draws beside it.
pub fn draw_all(packets: &[PlantedPacket], number: u32) -> String {
    let report = report_of(packets);
    let beside = page::further_connections(&report, number);
    let settings = AnalysisSettings { only: Some(number), beside, ..AnalysisSettings::default() };
    let mut analysis = Analysis::new(settings);
    let mut source = CaptureSource::default();
    let bytes = write_pcap(packets);
    ingest_capture(&mut analysis, &mut source, "planted", &bytes[..], |_| ()).unwrap();
    page::draw_connections(&analysis.scenes(), &report).page
}

/// Code and owner of the first cause; empty without one.
pub fn first_cause(report: &Value) -> String {
    let first = &report["verdict"]["first_cause"];
    match (first["code"].as_str(), first["owner"].as_str()) {
        (Some(code), Some(owner)) => format!("{code} {owner}"),
        _ => String::new(),
    }
}
