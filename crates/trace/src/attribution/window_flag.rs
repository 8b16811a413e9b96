//! A window that contradicts its announced scale: it shrinks by more than was received, as if another scale applied.
//!
//! Only where the scale is known. The flag alone attributes no time; it explains a silly window.

use crate::conversation::Conversation;
use crate::event::{ConnectionSide, PacketEvent};

use super::scale::WindowScale;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowFlag {
    /// Who advertises the window.
    pub side: ConnectionSide,
    /// Number of the packet with the small window.
    pub number: u32,
    pub before: u16,
    pub after: u16,
    /// The shift that was announced.
    pub announced: u8,
    /// The shift that explains the small window.
    pub shift: u8,
    /// Bytes in the receiver's buffer that make the explanation fit.
    pub buffered: i64,
}

impl WindowFlag {
    /// Its name in reports.
    pub const CODE: &'static str = "WINDOW_SCALE_INCONSISTENT";

    /// The likely origin of the small window, as text.
    pub fn hint(&self) -> String {
        let WindowFlag { after, shift, buffered, announced, .. } = self;
        let before = u32::from(self.before) << announced;
        format!(
            "{after} = ({before} - {buffered}) >> {shift}: advertised as if a scale factor of {shift} were in force \
             with {buffered} bytes in the buffer"
        )
    }
}

/// The last large window of a side, and the offset that its side had acknowledged then.
struct LargeWindow {
    window: u16,
    bytes: i64,
    acked: i64,
}

/// What a packet advertises. The window of a SYN is never scaled (RFC 7323, 2.2).
fn advertised_bytes(event: &PacketEvent, scale: WindowScale) -> i64 {
    match event.is_syn() {
        true => i64::from(event.window),
        false => i64::from(event.window) << scale.shift,
    }
}

/// The first such window of a side; `segment`: its peer's largest segment.
pub fn find_inconsistent_window(
    conversation: &Conversation,
    side: ConnectionSide,
    scale: WindowScale,
    segment: u32,
) -> Option<WindowFlag> {
    if !scale.is_known() {
        return None;
    }
    let mut large: Option<LargeWindow> = None;
    let events = conversation.events.iter().filter(|e| e.side() == side && e.has_ack());
    for event in events {
        let window = event.window;
        let bytes = advertised_bytes(event, scale);
        let Some(base) = large.as_ref().filter(|base| bytes <= base.bytes / 8) else {
            large = Some(LargeWindow { window, bytes, acked: event.ack });
            continue;
        };
        let LargeWindow { window: before, bytes: a, acked } = *base;
        let received = (event.ack - acked).max(0);
        let shrunk = a - bytes;
        if window > 0 && received < shrunk {
            let found = explain_window(a, i64::from(window), received + i64::from(segment));
            if let Some(WindowExplanation { shift, buffered }) = found {
                let number = event.number;
                let after = window;
                return Some(WindowFlag {
                    side,
                    number,
                    before,
                    after,
                    announced: scale.shift,
                    shift,
                    buffered,
                });
            }
        }
    }
    None
}

/// What makes a window be advertised as another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WindowExplanation {
    shift: u8,
    /// Bytes in the receive buffer.
    buffered: i64,
}

/// The explanation with which a window of `a` bytes would be advertised as `b`.
fn explain_window(a: i64, b: i64, most: i64) -> Option<WindowExplanation> {
    (1..=14).find_map(|shift: u8| {
        let unit = 1_i64 << shift;
        let real = b << shift;
        // |(a − buffered) − real| < unit
        let low = (a - real - unit + 1).max(0);
        let high = (a - real + unit - 1).min(most);
        // The quotient of one such window is the most likely buffer size.
        (low <= high).then(|| WindowExplanation { shift, buffered: b.clamp(low, high) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: D07
    #[test]
    fn the_study_s_window_is_explained_by_a_shift_of_seven() {
        let expected = Some(WindowExplanation { shift: 7, buffered: 254 });
        assert_eq!(explain_window(32_768, 254, 1_568), expected);
        assert_eq!(explain_window(65_535, 511, 1_460), expected);
        assert_eq!(explain_window(40_000, 3, 1_460).map(|found| found.shift), Some(14));
        assert_eq!(explain_window(40_000, 2_000, 0), None);
    }
}
