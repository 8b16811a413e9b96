//! Descriptors that a worker keeps back, so that a client can be told when there are no others.
//!
//! While a worker has given its own up, or waits to have them again, they are free for anybody in the process: the
//! others must then admit nobody, or nobody could be told any more. It refuses no client itself.

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
    /// Keeps some back; `missing` counts the workers that have given theirs up.
    pub fn new(net: &N, missing: Arc<SharedGauge>) -> SpareDescriptors<N> {
        SpareDescriptors {
            reserved: RefCell::new(net.pipe()),
            is_released: Cell::new(false),
            missing,
        }
    }

    /// Whether some worker has given its own up: whoever came in took what is to be kept back.
    pub fn is_missing(&self) -> bool {
        self.missing.get() > 0
    }

    pub fn release(&self) {
        if self.reserved.borrow().is_some() && !self.is_released.replace(true) {
            self.missing.increment();
        }
        *self.reserved.borrow_mut() = None;
    }

    /// Keeps some back again, if there are any and they were given up.
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
