//! SETTINGS of both sides (RFC 9113 §6.5.2, RFC 8441 §3, RFC 9218 §2.1).

use super::error_code::{ErrorCode, FrameViolation};
use super::frames::{MAX_31_BITS, MAX_PAYLOAD, append_header, kind};

/// Numbers of the settings.
mod id {
    pub(super) const HEADER_TABLE_SIZE: u16 = 1;
    pub(super) const ENABLE_PUSH: u16 = 2;
    pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(super) const MAX_FRAME_SIZE: u16 = 5;
    pub(super) const MAX_HEADER_LIST_SIZE: u16 = 6;
    pub(super) const ENABLE_CONNECT_PROTOCOL: u16 = 8;
    pub(super) const NO_RFC7540_PRIORITIES: u16 = 9;
}

/// The window of streams and of the connection until a peer says otherwise (RFC 9113 §6.9.2).
pub(super) const INITIAL_WINDOW: u32 = 65_535;

/// The size of the decoder's table, which is the initial value, so that nothing is announced (RFC 9113 §6.5.2).
pub(super) const HEADER_TABLE_BYTES: usize = 4_096;

/// The side of the connection that a machine speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionRole {
    Server,
    Client,
}

/// What the peer has announced, or the initial values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerSettings {
    pub(super) header_table_bytes: usize,
    pub(super) concurrent_streams: u32,
    pub(super) initial_window: u32,
    pub(super) extended_connect: bool,
    /// `None` before the first SETTINGS frame.
    no_old_priorities: Option<bool>,
}

impl PeerSettings {
    pub(super) fn new() -> PeerSettings {
        PeerSettings {
            header_table_bytes: HEADER_TABLE_BYTES,
            concurrent_streams: u32::MAX,
            initial_window: INITIAL_WINDOW,
            extended_connect: false,
            no_old_priorities: None,
        }
    }

    /// Applies the payload of a SETTINGS frame from a peer, to whom this side is `role`.
    pub(super) fn apply(
        &mut self,
        payload: &[u8],
        role: ConnectionRole,
    ) -> Result<(), FrameViolation> {
        let before = self.no_old_priorities;
        for entry in payload.chunks_exact(6) {
            let number = u16::from_be_bytes([entry[0], entry[1]]);
            let value = u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]]);
            self.apply_entry(number, value, role)?;
        }
        let now = *self.no_old_priorities.get_or_insert(false);
        // It may not change after the first SETTINGS frame (RFC 9218 §2.1).
        if before.is_some_and(|before| before != now) {
            return Err(FrameViolation::PROTOCOL);
        }
        Ok(())
    }

    fn apply_entry(
        &mut self,
        number: u16,
        value: u32,
        role: ConnectionRole,
    ) -> Result<(), FrameViolation> {
        match number {
            id::HEADER_TABLE_SIZE => self.header_table_bytes = value as usize,
            id::ENABLE_PUSH if value > u32::from(role == ConnectionRole::Server) => {
                return Err(FrameViolation::PROTOCOL);
            }
            id::MAX_CONCURRENT_STREAMS => self.concurrent_streams = value,
            id::INITIAL_WINDOW_SIZE if value > MAX_31_BITS => {
                return Err(FrameViolation::Connection(ErrorCode::FLOW_CONTROL_ERROR));
            }
            id::INITIAL_WINDOW_SIZE => self.initial_window = value,
            id::MAX_FRAME_SIZE if !(16_384..=16_777_215).contains(&value) => {
                return Err(FrameViolation::PROTOCOL);
            }
            // Once allowed, it stays allowed (RFC 8441 §3).
            id::ENABLE_CONNECT_PROTOCOL if value > 1 || (self.extended_connect && value == 0) => {
                return Err(FrameViolation::PROTOCOL);
            }
            id::ENABLE_CONNECT_PROTOCOL => self.extended_connect = value == 1,
            id::NO_RFC7540_PRIORITIES if value > 1 => return Err(FrameViolation::PROTOCOL),
            id::NO_RFC7540_PRIORITIES => self.no_old_priorities = Some(value == 1),
            _ => {}
        }
        Ok(())
    }
}

/// The largest payload that is sent: what every peer accepts, so that frames of several streams alternate.
pub(super) const SENT_PAYLOAD: usize = MAX_PAYLOAD;

/// What this side announces.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnnouncedSettings {
    pub(super) stream_window: u32,
    pub(super) concurrent_streams: u32,
    pub(super) header_list_bytes: u32,
    pub(super) extended_connect: bool,
}

impl AnnouncedSettings {
    /// Appends the first SETTINGS frame.
    pub(super) fn append(&self, role: ConnectionRole, out: &mut Vec<u8>) {
        let mut payload = Vec::with_capacity(36);
        let mut add = |number: u16, value: u32| {
            payload.extend_from_slice(&number.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        };
        match role {
            ConnectionRole::Client => add(id::ENABLE_PUSH, 0),
            ConnectionRole::Server => {
                add(id::MAX_CONCURRENT_STREAMS, self.concurrent_streams);
                if self.extended_connect {
                    add(id::ENABLE_CONNECT_PROTOCOL, 1);
                }
            }
        }
        add(id::INITIAL_WINDOW_SIZE, self.stream_window);
        add(id::MAX_HEADER_LIST_SIZE, self.header_list_bytes);
        add(id::NO_RFC7540_PRIORITIES, 1);
        append_header(kind::SETTINGS, 0, 0, payload.len(), out);
        out.extend_from_slice(&payload);
    }
}

/// Appends a SETTINGS frame that only changes the window of streams.
pub(super) fn append_window_setting(stream_window: u32, out: &mut Vec<u8>) {
    append_header(kind::SETTINGS, 0, 0, 6, out);
    out.extend_from_slice(&id::INITIAL_WINDOW_SIZE.to_be_bytes());
    out.extend_from_slice(&stream_window.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    type SettingRows = &'static [(u16, u32)];

    fn payload(entries: &[(u16, u32)]) -> Vec<u8> {
        let bytes = |(number, value): &(u16, u32)| {
            [&number.to_be_bytes()[..], &value.to_be_bytes()].concat()
        };
        entries.iter().flat_map(bytes).collect()
    }

    #[test]
    fn values_are_checked() {
        use ConnectionRole::{Client, Server};
        let protocol = Err(FrameViolation::PROTOCOL);
        let rows: [(SettingRows, ConnectionRole, Result<(), FrameViolation>); 18] = [
            (&[], Server, Ok(())),
            (&[(1, u32::MAX), (3, 0), (6, 0), (7, 9), (0xffff, 1)], Server, Ok(())),
            (&[(2, 0)], Client, Ok(())),
            (&[(2, 1)], Client, protocol),
            (&[(2, 1)], Server, Ok(())),
            (&[(2, 2)], Server, protocol),
            (&[(4, MAX_31_BITS)], Server, Ok(())),
            (&[(4, MAX_31_BITS + 1)], Server, Err(FrameViolation::FLOW_CONTROL)),
            (&[(5, 16_383)], Server, protocol),
            (&[(5, 16_384)], Server, Ok(())),
            (&[(5, 16_777_215)], Server, Ok(())),
            (&[(5, 16_777_216)], Server, protocol),
            (&[(8, 1)], Client, Ok(())),
            (&[(8, 2)], Client, protocol),
            (&[(8, 1), (8, 0)], Client, protocol),
            (&[(9, 1)], Client, Ok(())),
            (&[(9, 2)], Client, protocol),
            (&[(4, 7), (4, 8)], Client, Ok(())),
        ];
        for (entries, role, wanted) in rows {
            let applied = PeerSettings::new().apply(&payload(entries), role);
            assert_eq!(applied, wanted, "{entries:?}");
        }
        let mut peer = PeerSettings::new();
        assert_eq!(peer.apply(&payload(&[(9, 1)]), Client), Ok(()));
        assert_eq!(peer.apply(&payload(&[(3, 7)]), Client), Ok(()));
        assert_eq!(peer.apply(&payload(&[(9, 0)]), Client), protocol, "it may not change");
    }
}
