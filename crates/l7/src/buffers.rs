//! Buffers and pipes that a worker lends to its tasks, so that an idle connection holds none.
//!
//! Both shelves are bounded; what does not fit is freed. It is not shared between threads.

use std::cell::RefCell;

use crate::rt::Net;

/// Bytes read at a time when copying.
pub const COPY: usize = 48 * 1024;

/// Buffers kept for the next task.
const KEPT: usize = 256;
/// A buffer that grew beyond this is freed.
const LARGEST: usize = 64 * 1024;
/// What a new buffer begins with: most heads fit.
const FIRST: usize = 2048;
/// Pipes kept for the next task.
const KEPT_PIPES: usize = 64;

/// Byte buffers.
#[derive(Debug, Default)]
pub struct Buffers(RefCell<Vec<Vec<u8>>>);

impl Buffers {
    /// An empty buffer.
    pub fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(FIRST))
    }

    /// Takes one back.
    pub fn give(&self, mut buffer: Vec<u8>) {
        let mut kept = self.0.borrow_mut();
        if buffer.capacity() > 0 && buffer.capacity() <= LARGEST && kept.len() < KEPT {
            buffer.clear();
            kept.push(buffer);
        }
    }
}

/// Pipes for splicing.
pub struct Pipes<N: Net>(RefCell<Vec<N::Pipe>>);

impl<N: Net> Default for Pipes<N> {
    fn default() -> Self {
        Pipes(RefCell::default())
    }
}

impl<N: Net> Pipes<N> {
    /// An empty pipe; `None` when there is none to be had.
    pub fn take(&self, net: &N) -> Option<N::Pipe> {
        self.0.borrow_mut().pop().or_else(|| net.pipe())
    }

    /// Takes an empty one back.
    pub fn give(&self, pipe: N::Pipe) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < KEPT_PIPES {
            kept.push(pipe);
        }
    }
}

/// The buffers that a worker reads into and writes from within one step, never across a wait.
#[derive(Debug)]
pub struct Scratch {
    /// Read into.
    pub input: Box<[u8]>,
    /// Composed in.
    pub output: Vec<u8>,
}

impl Scratch {
    /// With `size` bytes to read into.
    pub fn new(size: usize) -> Self {
        Scratch { input: vec![0; size].into_boxed_slice(), output: Vec::with_capacity(size) }
    }
}
