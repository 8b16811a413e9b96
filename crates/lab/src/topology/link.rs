//! Parses the properties of a link: its ends, its MTU, and its shape in each direction.

use std::time::Duration;

use model::config::unit::{BitsPerSecond, ByteSize, Percentage, Time};
use toml::Value;

use super::net::InterfaceAddress;
use super::section::{FileSection, Mistakes, texts};
use crate::link_emulation::{LinkFault, LinkShape};

/// The node at an end of a link, as written in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenLinkEnd {
    pub node: String,
    /// `None`: the next free name is taken.
    pub interface: Option<String>,
}

/// A link as written in the file; its nodes are not resolved yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkDefinition {
    pub ends: Vec<WrittenLinkEnd>,
    /// Addresses of each end.
    pub addresses: [Vec<InterfaceAddress>; 2],
    /// The largest packet, bytes.
    pub mtu: u32,
    /// The shapes for packets of each end.
    pub shapes: [LinkShape; 2],
}

/// The longest delay; a longer one would exceed the limit for frames in flight.
const LONGEST: Duration = Duration::from_secs(10);

pub fn parse_link(place: &str, value: Value, wrong: &mut Mistakes) -> LinkDefinition {
    let mut section = FileSection::from_value(place, value, wrong);
    let ends = section.texts("ends", wrong);
    if ends.len() != 2 {
        let text = format!(
            "found {}, expected two: ends = [\"client\", \"edge\"], or with interfaces [\"client:eth0\", \"edge:lan\"]",
            ends.len()
        );
        wrong.add(&section.key_path("ends"), text);
    }
    let ends = ends.into_iter().map(|text| match text.split_once(':') {
        Some((node, interface)) => {
            WrittenLinkEnd { node: node.to_owned(), interface: Some(interface.to_owned()) }
        }
        None => WrittenLinkEnd { node: text, interface: None },
    });
    // More ends were reported above.
    let ends = ends.take(2).collect();
    let addresses = parse_addresses(&mut section, wrong);
    let mtu = section.number("mtu", 1_280, 65_535, wrong).unwrap_or(1_500);
    let mut both = LinkShape::default();
    parse_shape(&mut section, &mut both, wrong);
    let mut shapes = [both.clone(), both];
    for (key, shape_of) in ["there", "back"].into_iter().zip(&mut shapes) {
        let place = section.key_path(key);
        if let Some(value) = section.take(key) {
            let mut direction = FileSection::from_value(&place, value, wrong);
            parse_shape(&mut direction, shape_of, wrong);
            direction.reject_unknown(wrong);
        }
    }
    for (shape, way) in shapes.iter_mut().zip(["there", "back"]) {
        if shape.reorder_ppm > 0 && shape.reorder_delay.is_zero() {
            wrong.add(
                place,
                format!(
                    "packets {way} are overtaken, and by how much is not said: reorder-by = \"5ms\""
                ),
            );
        }
        if shape.reorder_ppm == 0 {
            shape.reorder_delay = Duration::ZERO;
        }
    }
    section.reject_unknown(wrong);
    LinkDefinition { ends, addresses, mtu, shapes }
}

fn parse_addresses(section: &mut FileSection, wrong: &mut Mistakes) -> [Vec<InterfaceAddress>; 2] {
    let place = section.key_path("addresses");
    let mut found = [Vec::new(), Vec::new()];
    let values = match section.take("addresses") {
        None => return found,
        Some(Value::Array(values)) if values.len() <= 2 => values,
        Some(_) => {
            let text = "expected one entry an end, each an address or a list of them: [\"10.0.1.2/24\", \"10.0.1.1/24\"], \
                        [[\"10.0.1.2/24\", \"2001:db8::2/64\"], []]";
            wrong.add(&place, text);
            return found;
        }
    };
    for (value, of_end) in values.into_iter().zip(&mut found) {
        for text in texts(&place, value, wrong) {
            match text.parse() {
                Ok(net) => of_end.push(net),
                Err(()) => wrong.add(
                    &place,
                    format!("found `{text}`, expected an address with its network's length, such as 10.0.1.2/24"),
                ),
            }
        }
    }
    found
}

/// Parses the keys of a shape over its current values.
fn parse_shape(section: &mut FileSection, shape: &mut LinkShape, wrong: &mut Mistakes) {
    for (key, time) in [("delay", &mut shape.delay), ("reorder-by", &mut shape.reorder_delay)] {
        let expected = "a time up to 10s, such as \"65ms\"";
        match section.parsed::<Time>(key, expected, wrong) {
            Some(Time(found)) if found <= LONGEST => *time = found,
            Some(found) => {
                wrong.add(&section.key_path(key), format!("found `{found}`, expected {expected}"));
            }
            None => {}
        }
    }
    if let Some(rate) =
        section.parsed::<BitsPerSecond>("rate", "a rate, such as \"200Mbit/s\"", wrong)
    {
        shape.bits_per_second = rate.0;
    }
    if let Some(size) = section.parsed::<ByteSize>("queue", "a size, such as \"256KiB\"", wrong) {
        shape.queue_bytes = size.0;
        if shape.bits_per_second == 0 {
            wrong.add(&section.key_path("queue"), "nothing waits where no rate is set: add rate");
        }
    }
    for (key, ppm) in [
        ("loss", &mut shape.loss_ppm),
        ("reorder", &mut shape.reorder_ppm),
        ("duplicate", &mut shape.duplicate_ppm),
    ] {
        let expected = "a share up to 100%, such as \"0.1%\"";
        match section.parsed::<Percentage>(key, expected, wrong).map(|share| (share, share.0)) {
            Some((_, found)) if found <= Percentage::WHOLE => *ppm = found as u32,
            Some((found, _)) => {
                wrong.add(&section.key_path(key), format!("found `{found}`, expected {expected}"));
            }
            None => {}
        }
    }
    let hole = section.number("black-hole", 576, 65_535, wrong);
    let place = section.key_path("fault");
    match (section.text("fault", wrong).as_deref(), hole) {
        (None, None) => {}
        (None, Some(bytes)) => shape.fault = LinkFault::BlackHole(bytes),
        (Some("window-scale"), None) => shape.fault = LinkFault::WindowScale,
        (Some("window-scale"), Some(_)) => {
            wrong.add(&place, "one fault a direction: black-hole is one")
        }
        (Some(other), _) => {
            wrong.add(
                &place,
                format!("found `{other}`, expected \"window-scale\", or black-hole = BYTES"),
            );
        }
    }
}
