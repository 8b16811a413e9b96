//! Advice for each cause, in a sentence. It contains no figures, which are in the evidence.

use crate::limit::{Limit, TimeOwner};

/// The advice; `owner` is the owner of the time.
pub fn advice(owner: Option<TimeOwner>, limit: Limit) -> &'static str {
    match (limit, owner) {
        (Limit::Rwnd | Limit::ZeroWindow | Limit::SillyWindow, Some(TimeOwner::Client)) => {
            "The client takes the answer more slowly than it comes: let its program read faster, or give it a larger receive buffer."
        }
        (Limit::Rwnd | Limit::ZeroWindow | Limit::SillyWindow, _) => {
            "The server takes the request more slowly than it comes: let its program read faster, or give it a larger receive buffer."
        }
        (Limit::StreamWindow, Some(TimeOwner::Server)) => {
            "The server grants too little window of HTTP/2: let its program read faster, or raise its initial windows of stream and connection."
        }
        (Limit::StreamWindow, _) => {
            "The client grants its stream too little window: let it read faster, or raise its initial windows of HTTP/2."
        }
        (Limit::SendBuffer, _) => {
            "The balancer's send buffer is smaller than the path holds: raise or remove `socket.send-buffer`."
        }
        (Limit::Queue, _) => {
            "Every server was at its cap: add servers, raise `connections` of the servers, or make them answer sooner."
        }
        (Limit::Connect, _) => {
            "Opening connections takes long: look at the path and at the server's accept queue, and keep more connections idle with `limit.idle`."
        }
        (Limit::ServerThink, _) => {
            "The server works long before it answers: look at the server, or let another policy avoid slow ones."
        }
        (Limit::AppSender, Some(TimeOwner::Client)) => {
            "The client sends its request slowly: look at the client, or bound it with `timeout.between-bytes`."
        }
        (Limit::AppSender, _) => {
            "The server sends its answer slowly: look at what it waits for, and at its own send buffer."
        }
        (Limit::ClientThink, _) => "The client says nothing: nothing is to be changed here.",
        (Limit::Loss | Limit::LossSuspected, _) => {
            "Segments are lost on the path: look for a full queue, a bad cable or a policer."
        }
        (Limit::LinkRate, _) => "The link is full: give it more rate, or send less.",
        (Limit::SlowStart | Limit::Cwnd | Limit::Send, _) => {
            "The path's round trips bound a young connection: keep connections open, bring content nearer, or try another congestion control."
        }
        (Limit::Latency, _) => {
            "The path is long: bring the server nearer, or ask it less often for one answer."
        }
        (Limit::Tls, Some(TimeOwner::Client)) => {
            "The client is slow in its handshake: let it resume sessions and keep connections open."
        }
        (Limit::Tls, Some(TimeOwner::Server)) => {
            "The server is slow in its handshake: let it resume sessions, and keep more connections idle with `limit.idle`."
        }
        (Limit::Tls, _) => {
            "Handshakes cost round trips: let clients keep connections open and resume sessions."
        }
        (Limit::DelayedAck | Limit::NagleDelayedAck | Limit::Nagle, _) => {
            "Small segments wait for acknowledgements: let the sender write at once what belongs together."
        }
        (Limit::BalancerCpu, _) => {
            "The balancer was ready and did not run: raise the CPU quota of its cgroup or container, give it processors of its own, or move other load away."
        }
        (Limit::AuthAnswer, _) => {
            "The service that `[auth]` asks takes long: look at its servers and their pool, or remember answers with `cache`."
        }
        (Limit::BalancerHold, _) => {
            "The balancer itself was busy: give it more workers, or look at the process's CPU."
        }
        (Limit::Unknown, _) => {
            "It cannot be told apart from here: capture the connection and look with `steelyard explain trace`."
        }
    }
}
