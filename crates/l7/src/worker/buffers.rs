//! Pools of buffers and pipes that tasks borrow from their worker, so that an idle connection holds none.
//!
//! Both pools are bounded, and excess buffers are freed. They are not shared between threads.

use std::cell::RefCell;

use crate::rt::NetDriver;

/// Bytes per read when copying.
/// Three full records of TLS.
pub const COPY_BYTES: usize = 48 * 1024;

/// With `MAX_POOLED_BYTES`, limits the memory that a worker holds after a burst.
/// With `INITIAL_BYTES` each, half a megabyte.
const MAX_POOLED: usize = 256;
/// A buffer larger than this is freed.
const MAX_POOLED_BYTES: usize = 64 * 1024;
/// Initial size of a buffer: enough for most heads.
const INITIAL_BYTES: usize = 2048;
/// Limits the descriptors that a worker holds after a burst: two for each pipe.
/// 128 descriptors for each worker.
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
    /// An empty pipe; `None` if none is available.
    pub fn take(&self, net: &N) -> Option<N::Pipe> {
        self.0.borrow_mut().pop().or_else(|| net.pipe())
    }

    /// Returns an empty pipe to the pool.
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
    /// A buffer of `size` bytes for reading.
    pub fn new(size: usize) -> Self {
        Scratch { input: vec![0; size].into_boxed_slice(), output: Vec::with_capacity(size) }
    }
}
