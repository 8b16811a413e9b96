//! Pools of buffers and pipes that tasks borrow from their worker, so that an idle connection holds none.
//!
//! Both pools are bounded; what does not fit is freed. They are not shared between threads.

use std::cell::RefCell;

use crate::rt::NetDriver;

/// Bytes read at a time when copying.
pub const COPY_BYTES: usize = 48 * 1024;

/// Bounds what a worker keeps of buffers after a burst, with `MAX_POOLED_BYTES`.
const MAX_POOLED: usize = 256;
/// A buffer that grew beyond this is freed.
const MAX_POOLED_BYTES: usize = 64 * 1024;
/// What a new buffer begins with: most heads fit.
const INITIAL_BYTES: usize = 2048;
/// Bounds descriptors that a worker keeps after a burst: two for each pipe.
const MAX_POOLED_PIPES: usize = 64;

#[derive(Debug, Default)]
pub struct Buffers(RefCell<Vec<Vec<u8>>>);

impl Buffers {
    pub fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(INITIAL_BYTES))
    }

    pub fn put(&self, mut buffer: Vec<u8>) {
        let mut pooled = self.0.borrow_mut();
        if buffer.capacity() > 0
            && buffer.capacity() <= MAX_POOLED_BYTES
            && pooled.len() < MAX_POOLED
        {
            buffer.clear();
            pooled.push(buffer);
        }
    }
}

pub struct Pipes<N: NetDriver>(RefCell<Vec<N::Pipe>>);

impl<N: NetDriver> Default for Pipes<N> {
    fn default() -> Self {
        Pipes(RefCell::default())
    }
}

impl<N: NetDriver> Pipes<N> {
    /// An empty pipe; `None` when there is none to be had.
    pub fn take(&self, net: &N) -> Option<N::Pipe> {
        self.0.borrow_mut().pop().or_else(|| net.pipe())
    }

    /// Takes an empty one back.
    pub fn put(&self, pipe: N::Pipe) {
        let mut pooled = self.0.borrow_mut();
        if pooled.len() < MAX_POOLED_PIPES {
            pooled.push(pipe);
        }
    }
}

/// The buffers that a worker reads into and writes from within one step, never across a wait.
#[derive(Debug)]
pub struct Scratch {
    pub input: Box<[u8]>,
    pub output: Vec<u8>,
}

impl Scratch {
    /// With `size` bytes to read into.
    pub fn new(size: usize) -> Self {
        Scratch { input: vec![0; size].into_boxed_slice(), output: Vec::with_capacity(size) }
    }
}
