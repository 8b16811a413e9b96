//! Where the received bytes end: within the preface, a frame's header, or its payload.

use super::frames::{HEADER_BYTES, Http2FrameHeader, PREFACE};
use super::settings::ConnectionRole;

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputPhase {
    /// The preface, of which this many bytes have arrived.
    Preface(usize),
    Header,
    /// A payload that is handled once it is complete.
    Payload(Http2FrameHeader),
    Data(DataFrame),
    /// This many bytes of a payload that is ignored.
    Ignored(usize),
}

/// A DATA frame, whose payload is handled as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataFrame {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
    /// The data belongs to no stream that wants it.
    pub(super) discarded: bool,
    /// Bytes of the payload that have not arrived.
    pub(super) left: usize,
    /// Bytes of padding at its end; `None`: the byte that says so has not arrived.
    pub(super) padding: Option<usize>,
}

#[derive(Debug)]
pub(super) struct FrameInput {
    pub(super) phase: InputPhase,
    header: [u8; HEADER_BYTES],
    header_length: usize,
    /// The start of a payload that arrives in pieces.
    payload: Vec<u8>,
    silent: bool,
}

/// Used bytes, and the header once it is complete.
pub(super) struct HeaderStep {
    pub(super) used: usize,
    pub(super) header: Option<Http2FrameHeader>,
}

/// Used bytes, and the payload once it is complete: in the input, or gathered from several.
pub(super) enum PayloadStep<'b> {
    Partial(usize),
    Direct(&'b [u8]),
    Gathered { used: usize, payload: Vec<u8> },
}

impl FrameInput {
    /// The input of the side with this role.
    pub(super) fn new(role: ConnectionRole) -> FrameInput {
        let phase = match role {
            ConnectionRole::Server => InputPhase::Preface(0),
            ConnectionRole::Client => InputPhase::Header,
        };
        FrameInput {
            phase,
            header: [0; HEADER_BYTES],
            header_length: 0,
            payload: Vec::new(),
            silent: true,
        }
    }

    pub(super) fn mark_received(&mut self) {
        self.silent = false;
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silent
    }

    /// Whether a preface, header or payload other than data is incomplete.
    pub(super) fn is_mid_frame(&self) -> bool {
        match self.phase {
            InputPhase::Preface(arrived) => arrived > 0,
            InputPhase::Header => self.header_length > 0,
            InputPhase::Payload(_) | InputPhase::Ignored(_) => true,
            InputPhase::Data(_) => false,
        }
    }

    /// Frees memory that a large frame has left behind.
    pub(super) fn free(&mut self) {
        self.payload.shrink_to(0);
    }

    /// Takes bytes of the preface; `None`: they are not the preface.
    pub(super) fn take_preface(&mut self, arrived: usize, rest: &[u8]) -> Option<usize> {
        let wanted = PREFACE.get(arrived..)?;
        let used = wanted.len().min(rest.len());
        if wanted[..used] != rest[..used] {
            return None;
        }
        self.phase = match arrived + used {
            whole if whole == PREFACE.len() => InputPhase::Header,
            partial => InputPhase::Preface(partial),
        };
        Some(used)
    }

    /// Takes bytes of a frame's header.
    pub(super) fn take_header(&mut self, rest: &[u8]) -> HeaderStep {
        let used = (HEADER_BYTES - self.header_length).min(rest.len());
        self.header[self.header_length..self.header_length + used].copy_from_slice(&rest[..used]);
        self.header_length += used;
        if self.header_length < HEADER_BYTES {
            return HeaderStep { used, header: None };
        }
        self.header_length = 0;
        HeaderStep { used, header: Some(Http2FrameHeader::read(self.header)) }
    }

    /// Takes bytes of a payload of `length` bytes.
    pub(super) fn take_payload<'b>(&mut self, length: usize, rest: &'b [u8]) -> PayloadStep<'b> {
        if self.payload.is_empty()
            && let Some(payload) = rest.get(..length)
        {
            return PayloadStep::Direct(payload);
        }
        let used = length.saturating_sub(self.payload.len()).min(rest.len());
        self.payload.extend_from_slice(&rest[..used]);
        if self.payload.len() < length {
            return PayloadStep::Partial(used);
        }
        PayloadStep::Gathered { used, payload: std::mem::take(&mut self.payload) }
    }
}
