//! The lower bound for a large body: moves pages between a client and one upstream through a pipe, without copying.
//!
//! `splice_forwarder LISTEN UPSTREAM`. One thread, edge-triggered epoll, splice(2); each direction gets a pipe with its
//! first bytes. It has no timeouts, counters or rules.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

#[path = "support/forward.rs"]
mod forward;
use forward::{Pair, Step, serve};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (listen, upstream): (SocketAddr, SocketAddr) = forward::two_addresses()?;
    serve(listen, upstream, SplicePipe::default, |pair, from, ended| {
        splice_on(pair, from, ended).unwrap_or(Step::Over)
    })
}

/// A pipe for each side's bytes, and the number of bytes in it.
#[derive(Default)]
struct SplicePipe {
    pipes: [Option<(OwnedFd, OwnedFd)>; 2],
    pending: [usize; 2],
}

fn splice_on(pair: &mut Pair<SplicePipe>, from: usize, ended: bool) -> Result<Step, Errno> {
    let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
    if pair.state.pipes[from].is_none() {
        let pipe = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
        // Ignored: a smaller pipe also works when the user's limit of pipe pages is reached.
        let _ = fcntl_setpipe_size(&pipe.0, PIPE_BYTES);
        pair.state.pipes[from] = Some(pipe);
    }
    let Some((outlet, inlet)) = &pair.state.pipes[from] else { return Ok(Step::Over) };
    let held = &mut pair.state.pending[from];
    let mut small = false;
    loop {
        while *held > 0 {
            match splice(outlet, None, &pair.sockets[1 - from], None, *held, flags) {
                Ok(moved) => *held -= moved,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Step::Blocked),
                Err(error) => return Err(error),
            }
        }
        // After a short read the socket is usually empty; otherwise an event follows.
        if small && !ended {
            return Ok(Step::Wait);
        }
        match splice(&pair.sockets[from], None, inlet, None, PIPE_BYTES, flags) {
            Ok(0) => return Ok(Step::Ended),
            Ok(moved) => {
                *held = moved;
                small = moved < SMALL;
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(Step::Wait),
            Err(error) => return Err(error),
        }
    }
}

const PIPE_BYTES: usize = 1 << 20;
const SMALL: usize = 4_096;
