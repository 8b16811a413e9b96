//! One step of the TLS library, and the destination of its output.

use rustls::Error;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};

pub(super) enum SessionStep {
    Continue,
    Stop,
    Failed(Error),
}

/// What a step did with the received bytes.
pub(super) struct SessionProgress {
    /// Bytes at the beginning that were processed.
    pub(super) discard: usize,
    pub(super) step: SessionStep,
}

/// The destination of the output of steps.
pub(super) struct StepOutput<'a> {
    pub(super) plain: &'a mut Vec<u8>,
    pub(super) out: &'a mut Vec<u8>,
    pub(super) peer_closed: &'a mut bool,
    pub(super) into: &'a mut [u8],
    pub(super) bytes_given: usize,
}

impl StepOutput<'_> {
    fn plaintext(&mut self, bytes: &[u8]) {
        let room = &mut self.into[self.bytes_given..];
        // In order: no byte may overtake buffered plaintext.
        let fits = if self.plain.is_empty() { bytes.len().min(room.len()) } else { 0 };
        room[..fits].copy_from_slice(&bytes[..fits]);
        self.bytes_given += fits;
        self.plain.extend_from_slice(&bytes[fits..]);
    }
}

pub(super) fn step<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    outcome: &mut StepOutput<'_>,
) -> SessionProgress {
    SessionProgress { discard: status.discard, step: run_one_step(status.state, outcome) }
}

pub(super) fn run_one_step<Data>(
    state: Result<ConnectionState<'_, '_, Data>, Error>,
    outcome: &mut StepOutput<'_>,
) -> SessionStep {
    match state {
        Ok(ConnectionState::ReadTraffic(mut traffic)) => {
            while let Some(record) = traffic.next_record() {
                match record {
                    Ok(record) => outcome.plaintext(record.payload),
                    Err(error) => return SessionStep::Failed(error),
                }
            }
            SessionStep::Continue
        }
        Ok(ConnectionState::EncodeTlsData(mut data)) => {
            let at = outcome.out.len();
            let mut room = 0;
            loop {
                outcome.out.resize(at + room, 0);
                match data.encode(&mut outcome.out[at..]) {
                    Ok(_) => return SessionStep::Continue,
                    Err(EncodeError::InsufficientSize(wanted)) if room == 0 => {
                        room = wanted.required_size;
                    }
                    Err(error) => return SessionStep::Failed(Error::General(error.to_string())),
                }
            }
        }
        Ok(ConnectionState::TransmitTlsData(transmit)) => {
            // The bytes are already queued in `out`, and are sent in order.
            transmit.done();
            SessionStep::Continue
        }
        Ok(ConnectionState::PeerClosed) => {
            *outcome.peer_closed = true;
            SessionStep::Continue
        }
        Ok(_) => SessionStep::Stop,
        Err(error) => SessionStep::Failed(error),
    }
}
