//! Special files in place of a configured or watched file: pipes without a writer, devices, and endless files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, Mode, mkfifoat};
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{self, addresses};
use tests::e2e::wait;

use crate::authority::TlsAuthority;

const NAME: &str = "shop.example";
/// The size of a sparse file, larger than any file that the daemon reads.
const ENDLESS: u64 = 1 << 40;

/// Creates a pipe without a writer.
fn pipe(at: &Path) {
    // The file is replaced atomically, as tools do.
    let new = at.with_extension("new");
    mkfifoat(CWD, &new, Mode::from_raw_mode(0o600)).unwrap();
    fs::rename(&new, at).unwrap();
}

/// The daemon keeps working after a watched file has changed.
fn goes_on(ours: &TlsAuthority, balancer: &TestBalancer) {
    assert_eq!(balancer.status().services.len(), 1);
    assert!(balancer.metrics().contains("steelyard_"));
    let more = ["-o", "/dev/null", "-w", "%{http_code}"];
    assert_eq!(ours.curl(balancer.front(), NAME, &more), "200");
}

#[test]
fn a_pipe_in_place_of_a_watched_file_is_an_event_and_all_else_goes_on() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a"), servers::origin("b")];
    let certificates = ours.dir.join("certificates");
    fs::create_dir(&certificates).unwrap();
    ours.pair("certificates/shop.pem", &[NAME]);
    let clients = ours.authority.write(ours.dir.join("clients.pem"));
    let list = ours.authority.revoke(ours.dir.join("revoked.pem"), &[], 2100);
    let found = ours.dir.write("servers", format!("{}\n", addresses(&origins)[1]));
    let tls = format!(
        "tls = {{ certificates = {certificates:?}, client = {{ ca = {clients:?}, crl = {list:?}, verify = \"optional\" }} }}\n"
    );
    let setup = BalancerConfig::http(&addresses(&origins)[..1])
        .service(&tls)
        .pool(&format!("servers-from = {{ file = {found:?} }}\n"));
    let balancer = TestBalancer::start(&setup);
    wait::until("found", || balancer.status().pools[0].servers.len() == 2);
    goes_on(&ours, &balancer);
    for name in
        ["servers", "certificates/x.pem", "certificates/shop.ocsp", "revoked.pem", "clients.pem"]
    {
        let path = ours.dir.join(name);
        pipe(&path);
        let says = format!("{}", path.display());
        wait::until(name, || {
            balancer.process().output().lines().any(|line| {
                line.contains(&says) && line.contains("it is a named pipe: expected a regular file")
            })
        });
        goes_on(&ours, &balancer);
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(balancer.status().pools[0].servers.len(), 2, "the last good list stands");
    balancer.sigterm();
    let ended = balancer.wait_for_exit();
    assert!(ended.code == Some(0), "{}", ended.output);
}

#[test]
fn what_is_no_file_or_too_large_is_refused_by_check_and_over_the_api() {
    let ours = TlsAuthority::new();
    let origins = [servers::origin("a")];
    let pair = ours.pair("shop.pem", &[NAME]);
    let ca = &ours.ca;
    let setup = BalancerConfig::http(&addresses(&origins));
    let balancer = TestBalancer::start(&setup.clone().service(&format!("tls = {pair:?}\n")));
    let fifo = ours.dir.join("fifo");
    pipe(&fifo);
    let endless = ours.dir.join("endless");
    fs::File::create(&endless).unwrap().set_len(ENDLESS).unwrap();
    fs::set_permissions(&endless, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let run = |words: &[&str], service: &str, pool: &str| {
        let text = setup.clone().service(service).pool(pool).text(balancer.dir().path());
        let file = ours.dir.write("other.toml", text);
        let output = Command::new(program()).args(words).arg(&file).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let socket = balancer.dir().join("sock");
    let apply = ["apply", "--socket", socket.to_str().unwrap()];
    let rows: [(PathBuf, &str); 3] = [
        (fifo, "a named pipe"),
        ("/dev/zero".into(), "a device"),
        (endless, "bytes: expected at most"),
    ];
    for (path, says) in &rows {
        let client =
            |more: &str| format!("tls = {{ certificates = {pair:?}, client = {{ {more} }} }}\n");
        for (service, pool) in [
            (format!("tls = {path:?}\n"), String::new()),
            (client(&format!("ca = {path:?}")), String::new()),
            (client(&format!("ca = {ca:?}, crl = {path:?}")), String::new()),
            (String::new(), format!("tls = {{ ca = {path:?} }}\n")),
        ] {
            for words in [&["check", "-c"][..], &apply] {
                let (code, said) = run(words, &service, &pool);
                assert!(code != Some(0) && said.contains(says), "{words:?} {said}");
                assert!(said.contains(path.to_str().unwrap()), "{words:?} {said}");
            }
        }
    }
    goes_on(&ours, &balancer);
    let resident = balancer.process().resident_bytes();
    assert!(resident < 1 << 30, "{resident}");
}
