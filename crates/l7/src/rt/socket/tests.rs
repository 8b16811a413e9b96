//! Reads socket options back from the kernel, on the loopback interface.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use model::config::{KeepAlive, ServerEndpoint, UnixSocketPath};
use rustix::net::sockopt;

use super::*;

const ANY: &str = "127.0.0.1:0";

fn open(options: &SocketOptions) -> OwnedFd {
    listeners(ANY.parse().unwrap(), options, 1, AddressClaim::Alone).unwrap().remove(0)
}

/// A connection accepted from the listener, and its client.
fn accepted(listener: &OwnedFd) -> (TcpStream, TcpStream) {
    let address = listening_address(listener.as_fd()).unwrap();
    let client = TcpStream::connect(address).unwrap();
    let listener = TcpListener::from(listener.try_clone().unwrap());
    // A connected client is already in the accept queue, so accept does not block.
    (listener.accept().unwrap().0, client)
}

fn number_of(socket: impl AsFd, name: i32) -> i32 {
    sys::option(socket, libc::IPPROTO_TCP, name).unwrap()
}

// Rows: C06
#[test]
fn accepted_sockets_inherit_every_setting() {
    let options = SocketOptions {
        keep_alive: Some(KeepAlive {
            idle: Duration::from_secs(71),
            interval: Duration::from_secs(7),
            count: 5,
        }),
        user_timeout: Some(Duration::from_millis(1234)),
        syn_retries: Some(3),
        congestion: Some("reno".to_owned()),
        send_buffer: Some(40_000),
        receive_buffer: Some(50_000),
        ..SocketOptions::default()
    };
    let listener = open(&options);
    assert_eq!(number_of(&listener, libc::TCP_SYNCNT), 3, "for answers to SYN");
    let (socket, _client) = accepted(&listener);
    assert!(sockopt::tcp_nodelay(&socket).unwrap());
    assert!(sockopt::socket_keepalive(&socket).unwrap());
    assert_eq!(sockopt::tcp_keepidle(&socket).unwrap(), Duration::from_secs(71));
    assert_eq!(sockopt::tcp_keepintvl(&socket).unwrap(), Duration::from_secs(7));
    assert_eq!(sockopt::tcp_keepcnt(&socket).unwrap(), 5);
    assert_eq!(sockopt::tcp_user_timeout(&socket).unwrap(), 1234);
    assert_eq!(sockopt::tcp_congestion(&socket).unwrap(), "reno");
    assert_eq!(sockopt::socket_send_buffer_size(&socket).unwrap(), 80_000);
    assert_eq!(sockopt::socket_recv_buffer_size(&socket).unwrap(), 100_000);
}

// Rows: C06
#[test]
fn syn_retries_are_set_changed_and_taken_back_by_another_socket() {
    let set = SocketOptions { syn_retries: Some(2), ..SocketOptions::default() };
    let to = "127.0.0.1:9".parse().unwrap();
    let socket = outgoing(to, None, &set).unwrap();
    assert_eq!(number_of(&socket, libc::TCP_SYNCNT), 2);
    let listener = open(&set);
    let more = SocketOptions { syn_retries: Some(5), ..set.clone() };
    assert!(!needs_reopening(&set, &more));
    change_options(listener.as_fd(), &more).unwrap();
    assert_eq!(number_of(&listener, libc::TCP_SYNCNT), 5);
    assert!(needs_reopening(&set, &SocketOptions::default()));
    assert!(!needs_reopening(&SocketOptions::default(), &set));
}

#[test]
fn listeners_have_what_only_they_need() {
    let options = SocketOptions {
        mss: Some(1000),
        defer_accept: Some(Duration::from_secs(1)),
        fast_open: Some(17),
        ..SocketOptions::default()
    };
    let socket = open(&options);
    assert_eq!(number_of(&socket, libc::TCP_MAXSEG), 1000);
    assert_eq!(number_of(&socket, libc::TCP_DEFER_ACCEPT), 1);
    assert_eq!(number_of(&socket, libc::TCP_FASTOPEN), 17);
    assert!(sockopt::socket_reuseport(&socket).unwrap());
    let flags = rustix::fs::fcntl_getfl(&socket).unwrap();
    assert!(flags.contains(rustix::fs::OFlags::NONBLOCK));
    let inherited = rustix::io::fcntl_getfd(&socket).unwrap();
    assert!(inherited.contains(rustix::io::FdFlags::CLOEXEC));
}

#[test]
fn settings_can_be_taken_back_while_listening() {
    let all = SocketOptions {
        user_timeout: Some(Duration::from_secs(9)),
        mss: Some(900),
        congestion: Some("reno".to_owned()),
        defer_accept: Some(Duration::from_secs(1)),
        fast_open: Some(5),
        ..SocketOptions::default()
    };
    let none = SocketOptions { nodelay: false, keep_alive: None, ..SocketOptions::default() };
    let socket = open(&all);
    let fresh = open(&none);
    assert!(!needs_reopening(&all, &none));
    change_options(socket.as_fd(), &none).unwrap();
    for name in
        [libc::TCP_USER_TIMEOUT, libc::TCP_MAXSEG, libc::TCP_DEFER_ACCEPT, libc::TCP_NODELAY]
    {
        assert_eq!(number_of(&socket, name), number_of(&fresh, name), "{name}");
    }
    assert_eq!(number_of(&socket, libc::TCP_FASTOPEN), 0);
    assert!(!sockopt::socket_keepalive(&socket).unwrap());
    assert_eq!(sockopt::tcp_congestion(&socket).unwrap(), sockopt::tcp_congestion(&fresh).unwrap());
    accepted(&socket);
}

#[test]
fn what_an_open_listener_cannot_lose_asks_for_another_one() {
    let plain = SocketOptions::default();
    for set in [
        SocketOptions { mptcp: true, ..plain.clone() },
        SocketOptions { interface: Some("lo".to_owned()), ..plain.clone() },
        SocketOptions { send_buffer: Some(1), ..plain.clone() },
        SocketOptions { receive_buffer: Some(1), ..plain.clone() },
    ] {
        assert!(needs_reopening(&set, &plain), "{set:?}");
    }
    let sized = SocketOptions { send_buffer: Some(1), ..plain.clone() };
    assert!(!needs_reopening(&plain, &sized));
}

#[test]
fn a_group_shares_one_port_and_each_socket_takes_connections() {
    let group =
        listeners("[::1]:0".parse().unwrap(), &SocketOptions::default(), 3, AddressClaim::Alone);
    let group = group.unwrap();
    let address = listening_address(group[0].as_fd()).unwrap();
    assert!(group.iter().all(|socket| listening_address(socket.as_fd()) == Some(address)));
    assert_ne!(address.port(), 0);
}

#[test]
fn a_taken_port_names_who_has_it_even_where_sharing_would_work() {
    let first = open(&SocketOptions::default());
    let address = listening_address(first.as_fd()).unwrap();
    let error = listeners(address, &SocketOptions::default(), 1, AddressClaim::Alone).unwrap_err();
    let ListenError::Taken { holders, .. } = &error else { panic!("{error}") };
    assert!(holders.iter().any(|holder| holder.pid == std::process::id()), "{error}");
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    listeners(address, &SocketOptions::default(), 1, AddressClaim::Shared).unwrap();
}

#[test]
fn refusals_say_what_to_do() {
    let options =
        SocketOptions { congestion: Some("nosuch".to_owned()), ..SocketOptions::default() };
    let error = listener(ANY.parse().unwrap(), &options).unwrap_err().to_string();
    assert!(error.contains("socket.congestion = nosuch") && error.contains("reno"), "{error}");
    let options =
        SocketOptions { interface: Some("nosuch0".to_owned()), ..SocketOptions::default() };
    let error = listener(ANY.parse().unwrap(), &options).unwrap_err().to_string();
    assert!(error.contains("socket.interface") && error.contains("ip link"), "{error}");
    let away = listener("192.0.2.77:1".parse().unwrap(), &SocketOptions::default()).unwrap_err();
    assert!(matches!(away, ListenError::NotLocal { .. }), "{away}");
    assert!(away.to_string().contains("192.0.2.77:1"), "{away}");
}

#[test]
fn a_socket_that_does_not_listen_is_not_adopted() {
    let (stream, _client) = accepted(&open(&SocketOptions::default()));
    let error = adopt(stream.into(), &SocketOptions::default()).unwrap_err();
    assert!(matches!(error, ListenError::NotListening));
    let file = std::fs::File::open("/dev/null").unwrap();
    assert!(adopt(file.into(), &SocketOptions::default()).is_err());
}

#[test]
fn an_adopted_socket_is_ours() {
    let foreign = TcpListener::bind(ANY).unwrap();
    let address = foreign.local_addr().unwrap();
    let options = SocketOptions { mss: Some(777), ..SocketOptions::default() };
    let ours = adopt(foreign.into(), &options).unwrap();
    assert_eq!(listening_address(ours.as_fd()), Some(address));
    assert_eq!(number_of(&ours, libc::TCP_MAXSEG), 777);
    assert!(sockopt::tcp_nodelay(&ours).unwrap());
    assert!(has_fixed_options(ours.as_fd(), &options));
    assert!(!has_fixed_options(ours.as_fd(), &SocketOptions { mptcp: true, ..options }));
}

#[test]
fn outgoing_sockets_are_bound_but_choose_their_port_late() {
    let listener = TcpListener::bind(ANY).unwrap();
    let to = listener.local_addr().unwrap();
    let from = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
    let options = SocketOptions { mss: Some(800), ..SocketOptions::default() };
    let socket = outgoing(to, Some(from), &options).unwrap();
    assert_eq!(sys::option(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT).unwrap(), 1);
    assert_eq!(local_address(socket.as_fd()).unwrap(), SocketAddr::new(from, 0));
    assert!(rustix::fs::fcntl_getfl(&socket).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
    assert!(sockopt::tcp_nodelay(&socket).unwrap());
    let connect = SockRef::from(&socket).connect(&to.into());
    assert!(connect.is_ok() || connect.unwrap_err().raw_os_error() == Some(libc::EINPROGRESS));
    let (_, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), from);
    assert_ne!(peer.port(), 0);
}

#[test]
fn fast_open_towards_servers_is_set_only_when_not_zero() {
    let to = ANY.parse().unwrap();
    for (queue, set) in [(Some(0), 0), (Some(1), 1), (None, 0)] {
        let options = SocketOptions { fast_open: queue, ..SocketOptions::default() };
        let socket = outgoing(to, None, &options).unwrap();
        assert_eq!(number_of(&socket, libc::TCP_FASTOPEN_CONNECT), set);
    }
}

#[test]
fn a_rehearsal_finds_what_connections_would_meet() {
    let plain = SocketOptions::default();
    check_outgoing(None, &plain).unwrap();
    check_outgoing(Some("127.0.0.3".parse().unwrap()), &plain).unwrap();
    let away = check_outgoing(Some("192.0.2.77".parse().unwrap()), &plain).unwrap_err().to_string();
    assert!(away.contains("192.0.2.77"), "{away}");
    let odd = SocketOptions { congestion: Some("nosuch".to_owned()), ..plain };
    assert!(check_outgoing(None, &odd).unwrap_err().to_string().contains("congestion"));
}

#[test]
fn what_takes_a_capability_is_set_or_says_which() {
    let options = SocketOptions { mark: Some(7), transparent: true, ..SocketOptions::default() };
    match listener(ANY.parse().unwrap(), &options) {
        Ok(socket) => {
            assert_eq!(SockRef::from(&socket).mark().unwrap(), 7);
            assert!(SockRef::from(&socket).ip_transparent_v4().unwrap());
        }
        Err(error) => assert!(error.to_string().contains("CAP_NET_ADMIN"), "{error}"),
    }
}

#[test]
fn multipath_is_had_or_says_how_to_have_it() {
    let options = SocketOptions { mptcp: true, ..SocketOptions::default() };
    match listener(ANY.parse().unwrap(), &options) {
        Ok(socket) => {
            assert!(has_fixed_options(socket.as_fd(), &options));
            assert!(socket.as_raw_fd() > 2);
            accepted(&socket);
        }
        Err(error) => assert!(error.to_string().contains("net.mptcp.enabled"), "{error}"),
    }
}

fn unix(path: &str) -> ServerEndpoint {
    ServerEndpoint::Unix(UnixSocketPath::parse(path).unwrap())
}

#[test]
fn unix_sockets_are_connected_at_once() {
    let name = format!("steelyard-l7-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let options = SocketOptions { send_buffer: Some(65_536), ..SocketOptions::default() };
    let socket = outgoing_unix(&options).unwrap();
    begin_connect(&socket, &unix(&format!("@{name}"))).unwrap();
    assert!(rustix::net::getpeername(&socket).is_ok());
    assert_eq!(sockopt::socket_send_buffer_size(&socket).unwrap(), 131_072, "doubled (socket(7))");
    drop(listener);
}

#[test]
fn a_unix_socket_that_cannot_be_used_says_why() {
    let missing = unix("/nonexistent/app.sock");
    let socket = outgoing_unix(&SocketOptions::default()).unwrap();
    let error = begin_connect(&socket, &missing).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    for (code, says) in [
        (libc::ENOENT, "has not created the socket"),
        (libc::ECONNREFUSED, "no program listens on it"),
        (libc::EACCES, "needs write permission for the socket"),
        (libc::EAGAIN, "the queue of the socket is full"),
    ] {
        let error = io::Error::from_raw_os_error(code);
        let text = describe_connect_error(&missing, &error);
        assert!(text.contains(says), "{text}");
        let tcp = ServerEndpoint::Socket(([127, 0, 0, 1], 1).into());
        assert_eq!(describe_connect_error(&tcp, &error), error.to_string());
    }
}
