//! How long a port stays in TIME-WAIT after a local close. Measures the kernel's value that forecasts assume.

use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use lab::net::{NetworkNamespace, SysctlSetting};
use model::capacity::ports::{LINUX_TIME_WAIT, TimeWaitPolicy, is_loopback};
use tests::e2e::wait;
use tests::skip::skip;

/// Opens a connection that the client closes first, so that its port is in TIME-WAIT.
fn once(listener: &TcpListener) -> io::Result<()> {
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.shutdown(Shutdown::Write)?;
    server.read_to_end(&mut Vec::new())?;
    drop(server);
    client.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Uses up every port towards a listener.
fn use_up(listener: &TcpListener) {
    let error = (0..1_000).find_map(|_| once(listener).err());
    assert_eq!(error.unwrap().kind(), ErrorKind::AddrNotAvailable);
}

#[test]
fn ports_come_again_where_forecasts_say_so() {
    if !rustix::process::geteuid().is_root() {
        return skip("a namespace needs root");
    }
    for (reuse, stamps) in [(2, 1), (1, 1), (1, 0), (0, 1)] {
        let host = NetworkNamespace::new("ports").unwrap();
        host.ip("addr add 192.0.2.1/32 dev lo\n").unwrap();
        let mode = reuse.to_string();
        let on = stamps.to_string();
        host.write_sysctls(&[
            SysctlSetting { path: "net/ipv4/ip_local_port_range", value: "40000 40003" },
            SysctlSetting { path: "net/ipv4/tcp_tw_reuse", value: &mode },
            SysctlSetting { path: "net/ipv4/tcp_timestamps", value: &on },
        ])
        .unwrap();
        let rule = TimeWaitPolicy::from_sysctls(Some(reuse), Some(stamps), None);
        host.run_inside(|| {
            let listen = |ip: [u8; 4]| TcpListener::bind(SocketAddr::from((ip, 7_000))).unwrap();
            let both = [listen([127, 0, 0, 1]), listen([192, 0, 2, 1])];
            both.iter().for_each(use_up);
            let soon = |one: &&TcpListener| {
                rule.port_rest_time(is_loopback(one.local_addr().unwrap().ip())) < LINUX_TIME_WAIT
            };
            for one in both.iter().filter(soon) {
                wait::until("a port is taken again", || once(one).is_ok());
            }
            for one in both.iter().filter(|one| !soon(one)) {
                let error = once(one).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{rule:?}");
            }
        })
        .unwrap();
    }
}
