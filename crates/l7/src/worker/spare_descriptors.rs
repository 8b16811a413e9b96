//! File descriptors that a worker reserves, so that it can still accept and answer a client when the process has no
//! others.
//!
//! Anything in the process may use a descriptor that a worker has released. Until it is reserved again, the other
//! workers must admit no client, or no client could get a response.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use model::stats::SharedGauge;

use crate::rt::NetDriver;

pub struct SpareDescriptors<N: NetDriver> {
    reserved: RefCell<Option<N::Pipe>>,
    is_released: Cell<bool>,
    missing: Arc<SharedGauge>,
}

impl<N: NetDriver> SpareDescriptors<N> {
    /// Reserves descriptors; `missing` counts the workers that have released theirs.
    pub fn new(net: &N, missing: Arc<SharedGauge>) -> SpareDescriptors<N> {
        SpareDescriptors {
            reserved: RefCell::new(net.pipe()),
            is_released: Cell::new(false),
            missing,
        }
    }

    /// Whether some worker has released its own: an accepted connection has used the reserve.
    pub fn is_missing(&self) -> bool {
        self.missing.get() > 0
    }

    /// Whether this worker has released its own.
    pub fn is_released(&self) -> bool {
        self.is_released.get()
    }

    pub fn release(&self) {
        if self.reserved.borrow().is_some() && !self.is_released.replace(true) {
            self.missing.increment();
        }
        *self.reserved.borrow_mut() = None;
    }

    /// Reserves descriptors again if they were released and some are free.
    pub fn regain(&self, net: &N) {
        if !self.is_released.get() {
            return;
        }
        if let Some(pipe) = net.pipe() {
            *self.reserved.borrow_mut() = Some(pipe);
            self.is_released.set(false);
            self.missing.decrement();
        }
    }
}
