//! The health check of a real mail server (Exim): up, late, corrupted, full, hanging, resumed, and dead.

use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::chown;
use std::process::Command;

use rustix::process::geteuid;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::tools::program;
use tests::skip::skip;

use super::fake_servers::{balancer, wait_until_down, wait_until_up};
use super::faulty_proxy::is_heard_by_its_words;
use super::real::{NOBODY, lives, port};

/// Sessions at a time.
const SESSIONS: usize = 4;

#[test]
fn exim() {
    if !geteuid().is_root() {
        return skip("exim starts as root");
    }
    let dir = TestDir::new();
    let port = port();
    let at = dir.path().display();
    std::fs::create_dir(dir.join("spool")).unwrap();
    chown(dir.join("spool"), Some(NOBODY), Some(NOBODY)).unwrap();
    dir.write(
        "exim.conf",
        format!(
            "exim_user = nobody\nexim_group = nogroup\ntls_advertise_hosts =\nspool_directory = {at}/spool\nlog_file_path = {at}/spool/%slog\npid_file_path = {at}/spool/pid\n\
             primary_hostname = mail.example\nlocal_interfaces = 127.0.0.1\ndaemon_smtp_ports = {port}\n\
             smtp_accept_max = {SESSIONS}\nrfc1413_query_timeout = 0s\nkeep_environment =\n\
             acl_smtp_rcpt = accept\n"
        ),
    );
    let mut command = Command::new(program("exim4"));
    command.arg("-bdf").arg("-C").arg(dir.join("exim.conf"));
    let mut process = ChildProcess::start(command);
    is_heard_by_its_words(port, "smtp = true", "mail.example", "is not smtp");
    let full = balancer(format!("127.0.0.1:{port}"), "smtp = true");
    wait_until_up(&full, "mail.example");
    let sessions: Vec<TcpStream> =
        (0..SESSIONS).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap()).collect();
    wait_until_down(&full, "421 Too many concurrent SMTP connections");
    drop(sessions);
    wait_until_up(&full, "mail.example");
    drop(full);
    lives(&mut process, port, "smtp = true", "mail.example", "refused");
}
