//! The configuration of an endpoint: keys, and the limits of a service.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::{hkdf, hmac};
use model::snapshot::ServiceView;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};

use super::congestion_control::ClosableControllers;
use super::connection_id::ConnectionIds;
use crate::rt::random;
use crate::tls::downstream::DownstreamTls;
use crate::worker::endpoint_tag::EndpointTag;

/// The ALPN identifier of HTTP/3 (RFC 9114 §3.1).
const ALPN: &[u8] = b"h3";

/// Unidirectional streams that a client may open: the three of HTTP/3, and some of unknown types.
const ONE_WAY: u32 = 8;

/// QUIC's idle timeout exceeds the configured one by this, so that the balancer closes idle connections itself. QUIC
/// would also close a connection whose client waits for a response.
const SILENCE: Duration = Duration::from_secs(5);

/// Connections that are not accepted yet; each is accepted immediately.
const INCOMING: usize = 64;

/// The keys of an endpoint.
pub struct EndpointKeys {
    token: Arc<hkdf::Prk>,
    reset: Arc<hmac::Key>,
}

impl EndpointKeys {
    pub fn draw() -> EndpointKeys {
        let mut token = [0; 64];
        let mut reset = [0; 64];
        random::fill(&mut token);
        random::fill(&mut reset);
        EndpointKeys {
            token: Arc::new(hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&token)),
            reset: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &reset)),
        }
    }
}

pub fn endpoint(keys: &EndpointKeys, tag: EndpointTag) -> EndpointConfig {
    let mut config = EndpointConfig::new(keys.reset.clone());
    config.cid_generator(move || Box::new(ConnectionIds(tag)));
    config
}

/// The configuration of a service's new connections. `None`: the service's TLS settings do not work with QUIC.
pub fn server(keys: &EndpointKeys, view: &ServiceView) -> Option<Arc<ServerConfig>> {
    let tls = view.tls.as_ref().and_then(|material| material.downcast::<DownstreamTls>())?;
    let mut rustls = (*tls.config).clone();
    rustls.alpn_protocols = vec![ALPN.to_vec()];
    // No early data (0-RTT): an attacker could replay it.
    rustls.max_early_data_size = 0;
    let crypto = QuicServerConfig::try_from(rustls).ok()?;
    let mut config = ServerConfig::new(Arc::new(crypto), keys.token.clone());
    config.transport_config(Arc::new(transport(view))).max_incoming(INCOMING);
    Some(Arc::new(config))
}

fn transport(view: &ServiceView) -> TransportConfig {
    let http3 = &view.config.http3;
    let mut transport = TransportConfig::default();
    let silence = view.config.timeout.idle.saturating_add(SILENCE);
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(http3.streams))
        .max_concurrent_uni_streams(VarInt::from_u32(ONE_WAY))
        .max_idle_timeout(IdleTimeout::try_from(silence).ok())
        .stream_receive_window(VarInt::from_u32(http3.window))
        .receive_window(VarInt::from_u32(http3.window_most))
        .send_window(u64::from(http3.send_buffer))
        .datagram_receive_buffer_size(None)
        .congestion_controller_factory(Arc::new(ClosableControllers::default()));
    transport
}
