//! Which packets of records arrived. Pure.
//!
//! A packet that was overtaken is dropped: it may be older than the packet that overtook it. Its sender learns that it
//! did not arrive, and sends the same places again.

/// Packets below the newest whose arrival is acknowledged; more than may be in flight.
pub const ACK_WINDOW: usize = 256;

/// The acknowledgement for a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    pub newest: u64,
    /// Bit 0 of the first word stands for the newest packet, bit 1 for the packet before, and so on.
    pub received: [u64; ACK_WINDOW / 64],
}

impl Acknowledgement {
    /// Whether a packet arrived; `None`: it may still be in flight.
    pub fn is_received(&self, number: u64) -> Option<bool> {
        let behind = usize::try_from(self.newest.checked_sub(number)?).unwrap_or(usize::MAX);
        let word = self.received.get(behind / 64);
        Some(word.is_some_and(|word| word & 1 << (behind % 64) != 0))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveWindow {
    acknowledgement: Acknowledgement,
}

impl ReceiveWindow {
    /// Accepts a packet that is newer than all before, and marks it. Returns whether it was.
    pub fn accept(&mut self, number: u64) -> bool {
        let Some(ahead) =
            number.checked_sub(self.acknowledgement.newest).filter(|ahead| *ahead > 0)
        else {
            return false;
        };
        let ahead = usize::try_from(ahead).unwrap_or(usize::MAX).min(ACK_WINDOW);
        self.acknowledgement.newest = number;
        self.acknowledgement.received = shift_bits(&self.acknowledgement.received, ahead);
        self.acknowledgement.received[0] |= 1;
        true
    }

    pub fn acknowledgement(&self) -> Acknowledgement {
        self.acknowledgement
    }
}

/// The bits, shifted up.
fn shift_bits(came: &[u64; ACK_WINDOW / 64], by: usize) -> [u64; ACK_WINDOW / 64] {
    let words = by / 64;
    let bits = by % 64;
    std::array::from_fn(|at| {
        let word = |back: usize| at.checked_sub(back).and_then(|from| came.get(from)).copied();
        let low = word(words).unwrap_or(0) << bits;
        let carried = if bits == 0 { 0 } else { word(words + 1).unwrap_or(0) >> (64 - bits) };
        low | carried
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn overtaken_packets_count_as_missing() {
        let mut window = ReceiveWindow::default();
        assert_eq!(
            [1, 2, 5, 4, 5, 6].map(|number| window.accept(number)),
            [true, true, true, false, false, true]
        );
        let heard = window.acknowledgement();
        let came = [1, 2, 3, 4, 5, 6, 7].map(|number| heard.is_received(number));
        let yes = Some(true);
        let no = Some(false);
        assert_eq!(came, [yes, yes, no, no, yes, yes, None]);
    }

    proptest! {
        #[test]
        fn the_bitmap_shows_accepted_packets(steps in prop::collection::vec(1..400_u64, 1..60)) {
            let (mut window, mut number, mut all) = (ReceiveWindow::default(), 0, BTreeSet::new());
            for step in steps {
                number += step;
                prop_assert!(window.accept(number));
                all.insert(number);
                let heard = window.acknowledgement();
                for back in 0..ACK_WINDOW as u64 {
                    let Some(one) = number.checked_sub(back) else { break };
                    prop_assert_eq!(heard.is_received(one), Some(all.contains(&one)));
                }
                prop_assert_eq!(heard.is_received(number + 1), None);
            }
        }
    }
}
