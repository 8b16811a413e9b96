//! Opens a listener on a worker: the task that accepts connections, or the packets of QUIC.

use std::cell::Cell;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use model::id::{ListenerId, ServiceId};

use super::command_queue::WorkerListeners;
use crate::downstream::accept::{self, ListenerHandle, ListenerMode};
use crate::downstream::http3::serve;
use crate::downstream::quic::endpoint;
use crate::rt::NetDriver;
use crate::rt::epoll::Epoll;
use crate::rt::socket;
use crate::worker::Worker;

pub(super) fn open_listener(
    worker: &Rc<Worker<Epoll>>,
    listeners: &mut WorkerListeners,
    id: ListenerId,
    service: ServiceId,
    socket: Arc<OwnedFd>,
) {
    let Some(service) = worker.local.borrow().services.get(&service).cloned() else { return };
    let local = rustix::net::getsockname(&socket).ok();
    let local = local.and_then(|name| SocketAddr::try_from(name).ok());
    let local = local.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)));
    let packets = socket::takes_packets(socket.as_fd());
    let Ok(socket) = worker.rt.net.adopt(socket) else { return };
    let wanted = Rc::new(Cell::new(ListenerMode::Accept));
    let to = wanted.clone();
    let worker_ = worker.clone();
    let task = if packets {
        worker.rt.spawn(endpoint::listen(worker_, socket, local, service, to, serve::start))
    } else {
        worker.rt.spawn(accept::listen(worker_, socket, local, service, to))
    };
    listeners.entry(id).or_default().push(ListenerHandle { mode: wanted, task });
}
