//! What a service takes of TCP headers, in the form of the map. Pure.

use model::config::{HeaderAction, TcpNormalization};

use crate::abi::{TcpAction, TcpField};

/// The action of each field, two bits each; 0 if every field stays.
pub fn normalization_policy(normalize: &TcpNormalization) -> u32 {
    let TcpNormalization { mss, window_scale, sack, timestamps, .. } = *normalize;
    let dropped = |drops| if drops { HeaderAction::Drop } else { HeaderAction::Allow };
    let fields = [
        (TcpField::Mss, mss),
        (TcpField::WindowScale, window_scale),
        (TcpField::Sack, sack),
        (TcpField::Timestamps, timestamps),
        (TcpField::ReservedBits, normalize.reserved_bits),
        (TcpField::Urgent, normalize.urgent),
        (TcpField::SynData, dropped(normalize.drops_syn_data)),
        (TcpField::ExceedMss, dropped(normalize.drops_exceeding_segments)),
    ];
    fields.into_iter().fold(0, |policy, (field, action)| {
        let action = match action {
            HeaderAction::Allow => TcpAction::TcpAllow,
            HeaderAction::Clear => TcpAction::TcpClear,
            HeaderAction::Drop => TcpAction::TcpDrop,
        };
        policy | (action as u32) << (2 * field as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_apart_and_nothing_is_zero() {
        assert_eq!(normalization_policy(&TcpNormalization::default()), 0);
        let some = TcpNormalization {
            mss: HeaderAction::Drop,
            timestamps: HeaderAction::Clear,
            drops_syn_data: true,
            ..TcpNormalization::default()
        };
        assert_eq!(normalization_policy(&some), 0b10_0000_0100_0010);
    }
}
