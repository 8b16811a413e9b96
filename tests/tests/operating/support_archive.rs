//! The archive of `steelyard support`, which is meant for other people.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output};

use flate2::read::GzDecoder;
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::servers::origin;

const SECRET: &str = "hunter2";

fn support(socket: &Path, config: &Path, output: &Path) -> Output {
    let mut command = Command::new(program());
    command.args(["support", "--json", "--socket"]).arg(socket).arg("-c").arg(config);
    command.arg("-o").arg(output).output().unwrap()
}

fn unpacked(file: &Path) -> String {
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

// Rows: Z08
#[test]
fn the_archive_has_what_helps_and_no_secret() {
    let web = origin("web");
    let planted = format!(
        "[[service.shop.rule]]\nname = \"inside\"\nwhen = {{ path = \"/x\", header = [\"authorization: {SECRET}\", \"x\"] }}\n\
         redirect = \"https://me:{SECRET}@host.example/?token={SECRET}\"\n\
         [[service.shop.rule]]\nname = \"told\"\nwhen = {{ cookie = \"sid={SECRET}\" }}\npool = \"web\"\n\
         rewrite = {{ set = [\n  \"Authorization: Bearer {SECRET}\",\n  \"x-api-key: {SECRET}\",\n] }}\n\
         [[service.shop.rule]]\nname = \"keyed\"\nwhen = {{ header = \"x-key: {SECRET}\", query = \"k={SECRET}\" }}\n\
         answer = {{ status = 200, body = \"\"\"\n{SECRET}\n\"\"\" }}\n\
         [pool.other]\nservers = [\"{}\"]\nprobe = {{ tcp = true, send = \"AUTH {SECRET}\\r\\n\", expect = \"OK {SECRET}\" }}\n",
        web.address()
    );
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[web.address()]).with_tables(&planted));
    balancer.client().get("/");
    let socket = balancer.dir().join("sock");
    let config = balancer.dir().join("steelyard.toml");
    let output = balancer.dir().join("case.tar.gz");
    let written = support(&socket, &config, &output);
    let text = unpacked(&output);
    assert!(
        !text.contains(SECRET),
        "{}",
        text.lines().filter(|l| l.contains(SECRET)).collect::<String>()
    );
    for wanted in [
        "status.json",
        "report.json",
        "events.json",
        "config/in-force.toml",
        "config/file.toml",
        "machine/sysctl.txt",
    ] {
        assert!(text.contains(wanted), "{wanted}: {}", String::from_utf8_lossy(&written.stdout));
    }
    assert!(text.contains("[service.shop]") && text.contains("net.core.somaxconn"), "{text}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&output.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // An existing file is not overwritten.
    assert_eq!(support(&socket, &config, &output).status.code(), Some(2));
}

#[test]
fn a_dead_daemon_leaves_an_archive_that_says_so() {
    let dir = TestDir::new();
    let config = dir.write("steelyard.toml", format!("token = \"{SECRET}\"\n"));
    let output = dir.join("case.tar.gz");
    let written = support(&dir.join("absent"), &config, &output);
    assert_eq!(written.status.code(), Some(3), "{written:?}");
    let text = unpacked(&output);
    assert!(text.contains("missing.txt") && text.contains("the daemon: "), "{text}");
    assert!(text.contains("machine/sysctl.txt") && !text.contains(SECRET));
}
